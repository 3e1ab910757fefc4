"""What was erased goes from each machine once, also from one that was not there at the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.sessions.machine_erasures import DONE, MachineErasures, note
from gateway.sessions.sessions import scope_folder
from memory.recall.facts import NewFact, add_facts, remove_facts
from memory.recall.index_file import IndexFile, IndexRow
from store.database import Store
from tests.conftest import NewUrl

NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)
FILES = ("F1/plan.txt", "F1/more.txt", "C1/F2/plan.txt")


def furnished(data: Path) -> Path:
    """A machine on which a gateway led."""
    for name in FILES:
        (data / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (data / "files" / name).write_text("the plan")
    for scope in ("slack:D1", "slack:D2"):
        for part in ("home", "work"):
            folder = data / "scopes" / scope_folder(scope) / "ash" / part
            folder.mkdir(parents=True)
            (folder / "words").write_text("what was said")
    return data


def left(data: Path) -> list[str]:
    found = [path for path in data.rglob("*") if path.is_file() and path.name != DONE]
    return sorted(path.relative_to(data).as_posix() for path in found)


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, new_url: NewUrl) -> str:
    return await new_url(request.param)


async def test_files_and_folders_go_from_every_machine_and_others_stay(
    url: str, tmp_path: Path
) -> None:
    one, other = furnished(tmp_path / "one"), furnished(tmp_path / "other")
    async with Store.open(url) as store:
        await store.write(lambda c: note(c, "file", FILES[:1], NOW))
        await store.write(lambda c: note(c, "scope", ["slack:D1"], NOW))
        for data in (one, other):
            await MachineErasures(store, data).carry_out()
            second = scope_folder("slack:D2")
            assert left(data) == [
                *("files/C1/F2/plan.txt", "files/F1/more.txt"),
                *(f"scopes/{second}/ash/{part}/words" for part in ("home", "work")),
            ]


async def test_what_came_after_an_erasure_is_not_touched_by_it(url: str, tmp_path: Path) -> None:
    data = furnished(tmp_path / "one")
    async with Store.open(url) as store:
        machine = MachineErasures(store, data)
        await store.write(lambda c: note(c, "scope", ["slack:D1"], NOW))
        await machine.carry_out()
        again = data / "scopes" / scope_folder("slack:D1") / "ash" / "home"
        again.mkdir(parents=True)
        (again / "words").write_text("of a new conversation")
        await MachineErasures(store, data).carry_out()
        assert (again / "words").exists()


async def test_what_is_forgotten_where_it_runs_goes_elsewhere_and_stays_new_here(
    url: str, tmp_path: Path
) -> None:
    here, other = furnished(tmp_path / "one"), furnished(tmp_path / "other")
    home = Path("scopes", scope_folder("slack:D1"), "ash", "home", "words")
    async with Store.open(url) as store:
        machine = MachineErasures(store, here)
        async with machine.forgetting("slack:D1", NOW):
            (here / home).unlink()
        (here / home).write_text("of a new conversation")
        await machine.carry_out()
        assert (here / home).exists()
        await MachineErasures(store, other).carry_out()
        assert not (other / home).exists()
        assert (other / home.parents[1] / "work" / "words").exists()


async def test_a_disk_that_comes_back_from_a_backup_is_cleaned_again(
    url: str, tmp_path: Path
) -> None:
    data = furnished(tmp_path / "one")
    async with Store.open(url) as store:
        await store.write(lambda c: note(c, "file", FILES, NOW))
        await MachineErasures(store, data).carry_out()
        assert list((data / "files").iterdir()) == []
        (data / DONE).unlink()
        furnished(tmp_path / "backup")
        (tmp_path / "backup" / "files").replace(data / "files")
        await MachineErasures(store, data).carry_out()
        assert list((data / "files").iterdir()) == []


async def test_a_configured_workspace_stays(url: str, tmp_path: Path) -> None:
    data = furnished(tmp_path / "one")
    kept = data / "scopes" / scope_folder("slack:D1") / "ash" / "work"
    async with Store.open(url) as store:
        await store.write(lambda c: note(c, "scope", ["slack:D1"], NOW))
        await MachineErasures(store, data, lambda: [kept.resolve()]).carry_out()
    assert (kept / "words").exists()
    assert not (kept.parent / "home").exists()


# ── The index of recall ─────────────────────────────────────────────────────────────────


def indexed(data: Path, ids: Sequence[str]) -> Path:
    """The index of a machine, with these entries."""
    path = data / "memory" / "index.db"
    file = IndexFile(path)
    rows = [
        IndexRow(one, "slack:C1", 0, "", 0, 1, "plan", b"", None, '{"data": "the plan"}')
        for one in ids
    ]
    file.put(rows, sent=[[1.0]] * len(rows))
    file.close()
    return path


def held(path: Path) -> set[str]:
    file = IndexFile(path)
    try:
        return file.ids(None)
    finally:
        file.close()


def fact(id_: str) -> NewFact:
    return NewFact("room:slack:C1", "fact", f"the plan of {id_}", NOW, "slack:C1", id=id_)


async def test_an_index_that_nobody_has_open_forgets_what_is_gone_and_what_lost_a_part(
    new_url: NewUrl, tmp_path: Path
) -> None:
    ids = [digit * 32 for digit in "abc"]
    path = indexed(tmp_path, ids)
    async with Store.open(await new_url("postgresql")) as store:
        await store.write(lambda c: add_facts(c, [fact(one) for one in ids], NOW))
        machine = MachineErasures(store, tmp_path, index=path)
        await machine.carry_out(sweeps=True)
        assert held(path) == set(ids)
        await store.write(lambda c: note(c, "fact", [ids[0]], NOW))
        await machine.carry_out()
        assert held(path) == set(ids[1:])
        await store.write(lambda c: remove_facts(c, [ids[1]]))
        await store.write(lambda c: add_facts(c, [fact("d" * 32)], NOW))
        await machine.carry_out(sweeps=True)
        assert held(path) == {ids[2]}
        assert indexed(tmp_path, [ids[0]])  # with the words that it has now
        await MachineErasures(store, tmp_path, index=path).carry_out()
        assert held(path) == {ids[0], ids[2]}
        await store.write(lambda c: remove_facts(c, [*ids, "d" * 32]))
        await MachineErasures(store, tmp_path, index=path).carry_out()
        assert held(path) == set()
        left = b"".join(one.read_bytes() for one in path.parent.iterdir())
        assert b"the plan" not in left
        assert not any(one.encode() in left for one in ids)


async def test_a_machine_that_has_no_index_is_given_none(new_url: NewUrl, tmp_path: Path) -> None:
    path = tmp_path / "memory" / "index.db"
    async with Store.open(await new_url("postgresql")) as store:
        await store.write(lambda c: note(c, "fact", ["a" * 32], NOW))
        await MachineErasures(store, tmp_path, index=path).carry_out(sweeps=True)
    assert not path.parent.exists()


async def test_the_index_of_the_only_machine_is_left_alone(new_url: NewUrl, tmp_path: Path) -> None:
    path = indexed(tmp_path, ["a" * 32])
    async with Store.open(await new_url("sqlite")) as store:
        await MachineErasures(store, tmp_path, index=path).carry_out(sweeps=True)
    assert held(path) == {"a" * 32}
