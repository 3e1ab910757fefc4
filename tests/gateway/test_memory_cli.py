"""`moot memory` from its command line, over a real database and an index of words."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from contract.errors import ConfigError, MootError
from gateway.cli.memory.command import add_memory
from gateway.cli.memory.commands import look_after
from gateway.core.lock import InUse, hold
from gateway.sessions.sessions import scope_folder
from gateway.settings.config import Config
from memory.recall.facts import NewFact, add_facts, facts_in, replace_facts
from memory.recall.index import Index
from memory.recall.recall import Recall
from store.database import Store
from store.schema import episodes, messages
from tests.doubles.index import WordIndex
from tests.doubles.model import ScriptedModel
from tests.doubles.planted import plant

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ROOM, DM = "room:fake:r", "dm:fake:andi:demo"


@dataclass
class Desk:
    """An installation in a folder, and its commands."""

    folder: Path
    index: WordIndex = field(default_factory=WordIndex)
    model: ScriptedModel | None = None
    has_index: bool = True

    def __post_init__(self) -> None:
        (self.folder / "moot.toml").write_text("")

    async def moot(self, *words: str) -> tuple[int, str]:
        """Run `moot memory ...`; return the exit code and what it printed."""
        parser = argparse.ArgumentParser()
        add_memory(parser.add_subparsers())
        given = parser.parse_args(["memory", *words, "--config", str(self.folder / "moot.toml")])
        raw = io.BytesIO()
        with io.TextIOWrapper(raw, encoding="utf-8", write_through=True) as out:
            code = await look_after(
                given, environment={}, open_index=self._open_index, model=self.model, out=out
            )
            return code, raw.getvalue().decode()

    async def lines(self, *words: str) -> list[dict[str, Any]]:
        """The objects that it printed."""
        _, text = await self.moot(*words)
        return [json.loads(line) for line in text.splitlines()]

    @asynccontextmanager
    async def _open_index(self, _: Config) -> AsyncIterator[Index | None]:
        yield self.index if self.has_index else None

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        """The database, while no command runs."""
        async with Store.open(f"sqlite:///{self.folder}/data/moot.db") as store:
            yield store

    async def know(self, *texts: str, **more: Any) -> None:
        """Store facts, indexed."""
        given: dict[str, Any] = {"scope": ROOM, "kind": "fact", "source": "s", **more}
        new = [NewFact(text=text, said_at=NOW, **given) for text in texts]
        async with self.store() as store:
            await store.write(lambda c: add_facts(c, new, NOW))
            await Recall(store, self.index).index_pending()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_facts_are_listed_by_scope_person_and_kind(desk: Desk) -> None:
    await desk.know("tea", person="fake:andi", person_name="Andi", origin="#r")
    await desk.know("cake", kind="decision", speakers=("fake:budi",))
    await desk.know("secret", scope=DM)
    assert [fact["text"] for fact in await desk.lines("list", "--json")] == [
        "tea",
        "cake",
        "secret",
    ]
    for words, texts in (
        (("--scope", ROOM), ["tea", "cake"]),
        (("--person", "fake:andi"), ["tea"]),
        (("--person", "Andi"), ["tea"]),
        (("--person", "fake:budi"), ["cake"]),
        (("--kind", "decision"), ["cake"]),
        (("--scope", "room:fake:none"), []),
    ):
        found = await desk.lines("list", "--json", *words)
        assert [fact["text"] for fact in found] == texts
    code, text = await desk.moot("list", "--scope", ROOM)
    assert code == 0
    assert text.splitlines()[0] == f"#1 {ROOM} tea (fact, 2026-05-01, Andi, #r)"


async def test_a_scope_that_is_none_is_a_mistake_and_no_empty_list(desk: Desk) -> None:
    with pytest.raises(MootError, match="not a scope"):
        await desk.moot("list", "--scope", "room:*")


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
async def test_a_limit_is_a_number_from_one_on(
    desk: Desk, limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        await desk.moot("search", "tea", "--scope", ROOM, f"--limit={limit}")
    assert f"not a number from 1 on: '{limit}'" in capsys.readouterr().err


async def test_replaced_facts_are_listed_when_asked_for(desk: Desk) -> None:
    await desk.know("old", "new")
    async with desk.store() as store:
        old, new = await store.read(lambda c: facts_in(c, [ROOM]))
        await store.write(lambda c: replace_facts(c, [old.id], new.id))
    assert len(await desk.lines("list", "--json")) == 1
    found = await desk.lines("list", "--json", "--replaced")
    assert [fact["replaced_by"] for fact in found] == [new.id, None]


async def test_a_long_list_is_whole(desk: Desk) -> None:
    await desk.know(*(f"fact {n}" for n in range(1201)))
    assert len(await desk.lines("list", "--json")) == 1201


async def test_what_people_wrote_cannot_move_the_cursor(desk: Desk) -> None:
    await desk.know("a\x1b[2Jb\nc\u202ed")
    _, text = await desk.moot("list")
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert "\u202e" not in text


async def test_scopes_are_counted(desk: Desk) -> None:
    await desk.know("tea", "cake")
    async with desk.store() as store:
        await store.write(lambda c: plant(c, "landmarks", scope=DM))
    assert await desk.lines("scopes", "--json") == [
        {"scope": DM, "landmarks": 1, "replaced": 0},
        {"scope": ROOM, "facts": 2, "replaced": 0},
    ]


async def test_a_search_stays_within_the_scopes_that_were_named(desk: Desk) -> None:
    await desk.know("Andi likes green tea", person="fake:andi", origin="#r")
    await desk.know("Andi likes black tea", scope=DM)
    [hit] = await desk.lines("search", "green tea", "--scope", ROOM, "--json")
    assert set(hit) >= {"id", "seq", "scope", "text", "kind", "date", "person", "origin", "score"}
    assert (hit["text"], hit["person"], hit["scope"]) == ("Andi likes green tea", "fake:andi", ROOM)
    both = await desk.lines("search", "tea", "--scope", ROOM, "--scope", DM, "--json")
    assert len(both) == 2
    assert len(await desk.lines("search", "tea", "--scope", ROOM, "--limit", "1", "--json")) == 1
    assert await desk.moot("search", "nothing", "--scope", ROOM) == (1, "")
    with pytest.raises(MootError, match="not a scope"):
        await desk.moot("search", "tea", "--scope", "*")


async def test_many_queries_are_answered_in_their_order(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.know("green tea", "black coffee")
    monkeypatch.setattr(sys, "stdin", io.StringIO("coffee\n\nnothing\r\ntea"))
    answers = await desk.lines("search", "-", "--scope", ROOM)
    assert [answer["query"] for answer in answers] == ["coffee", "", "nothing", "tea"]
    assert [[hit["text"] for hit in answer["hits"]] for answer in answers] == [
        ["black coffee"], [], [], ["green tea"],
    ]  # fmt: skip


async def test_without_an_index_there_is_nothing_to_search(desk: Desk) -> None:
    desk.has_index = False
    for words in (("search", "tea", "--scope", ROOM), ("rebuild",), ("check",)):
        with pytest.raises(ConfigError, match="no index"):
            await desk.moot(*words)


async def test_export_wipe_import_export(desk: Desk) -> None:
    await desk.know("tea", "cake")
    file = desk.folder / "memory.jsonl"
    assert await desk.moot("export", str(file)) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    _, printed = await desk.moot("export")
    assert printed.encode() == file.read_bytes()
    with pytest.raises(MootError, match="2 memories of 1 scopes would be deleted; say --yes"):
        await desk.moot("wipe")
    code, text = await desk.moot("wipe", "--yes")
    assert (code, text.split(";")[0]) == (0, "deleted 2 rows")
    assert await desk.index.ids() == set()
    assert await desk.lines("list", "--json") == []
    code, text = await desk.moot("import", str(file))
    assert (code, text) == (0, "imported 2 fact\n")
    assert (await desk.moot("export"))[1] == printed
    assert len(await desk.index.ids()) == 2
    assert (await desk.moot("import", str(file)))[1] == ("imported nothing; 2 were there already\n")


async def test_a_wiped_word_is_in_no_file(desk: Desk) -> None:
    await desk.know("unguessable-4711")
    await desk.moot("wipe", "--yes")
    found = [p for p in desk.folder.rglob("*") if p.is_file() and b"unguess" in p.read_bytes()]
    assert found == []


async def test_words_are_forgotten_in_their_scope_once_that_is_confirmed(desk: Desk) -> None:
    said = "the safe opens with kestrel4711"
    await desk.know(said, person="fake:andi", person_name="Andi")
    await desk.know("Budi heard: KESTREL4711 it was", "cake", person="fake:budi")
    await desk.know(said, scope=DM)
    async with desk.store() as store:
        rows = {"scope": ROOM, "room_id": "fake:r", "include_in_memory": True, "persona": None}
        texts = {"messages": {**rows, "content": said}, "episodes": {"scope": ROOM, "text": said}}
        for table, given in texts.items():
            await store.write(lambda c, t=table, g=given: plant(c, t, seq=1, **g))  # type: ignore[misc]
    words = ("forget", "kestrel4711", "--scope", ROOM)
    before = await desk.moot("export")
    code, told = await desk.moot(*words)
    assert code == 0
    assert told.splitlines()[0] == f"#1 {ROOM} {said} (fact, 2026-05-01, Andi)"
    assert "2 facts and copies, its words in 1 rows of summaries" in told
    assert "1 messages to learn from: would be forgotten; say --yes to do it" in told
    assert await desk.moot("export") == before
    *_, told_values = await desk.lines(*words, "--yes", "--json")
    assert told_values == {
        "forgotten": True, "facts": 2, "reworded": 1, "messages": 1, "pins": [],
    }  # fmt: skip
    assert [fact["text"] for fact in await desk.lines("list", "--json")] == ["cake", said]
    assert {entry.text for entry in desk.index.entries.values()} == {"cake", said}
    async with desk.store() as store:
        kept = select(messages.c.content, messages.c.include_in_memory)
        assert await store.read(lambda c: [tuple(row) for row in c.execute(kept)]) == [
            (said, False)
        ]
        assert "kestrel" not in str(
            await store.read(lambda c: c.execute(select(episodes.c.text)).all())
        )
    assert (await desk.moot("forget", "#3", "--scope", ROOM, "--yes"))[0] == 0
    assert [fact["text"] for fact in await desk.lines("list", "--json")] == [said]
    assert (await desk.moot(*words))[0] == 1
    for wrong, why in (("#4", "holds no fact 4"), ("tea", "too short")):
        with pytest.raises(MootError, match=why):
            await desk.moot("forget", wrong, "--scope", ROOM, "--yes")


async def test_one_scope_is_wiped_with_what_was_shared_of_it(desk: Desk) -> None:
    await desk.know("tea", scope=DM)
    await desk.know("cake")
    async with desk.store() as store:
        [tea] = await store.read(lambda c: facts_in(c, [DM]))
        copy = NewFact("profile:fake:andi", "fact", "tea", NOW, "!share", shared_from=tea.id)
        await store.write(lambda c: add_facts(c, [copy], NOW))
        for scope in (DM, ROOM):
            await store.write(lambda c, s=scope: plant(c, "landmarks", seq=None, scope=s))  # type: ignore[misc]
    with pytest.raises(MootError, match=f"2 memories of {DM} would be deleted; say --yes"):
        await desk.moot("wipe", "--scope", DM)
    code, text = await desk.moot("wipe", "--scope", DM, "--yes")
    assert (code, text.split(";")[0]) == (0, "deleted 3 rows")
    assert {entry.text for entry in desk.index.entries.values()} == {"cake"}
    assert [one["scope"] for one in await desk.lines("scopes", "--json")] == [ROOM]


async def test_plain_lines_from_standard_input(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"scope": ROOM, "text": "Caroline paints", "date": "2023-05-07"})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode())))
    [result] = await desk.lines("import", "-", "--json")
    assert result == {"added": {"fact": 1}, "known": 0, "strange": 0}
    [hit] = await desk.lines("search", "paints", "--scope", ROOM, "--json")
    assert hit["date"] == "2023-05-07"


async def test_dates_are_those_of_the_configured_zone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.folder / "moot.toml").write_text('[gateway]\ntimezone = "America/New_York"\n')
    async with desk.store() as store:
        new = NewFact(ROOM, "fact", "late tea", datetime(2026, 5, 1, 2, tzinfo=UTC), "s")
        await store.write(lambda c: add_facts(c, [new], NOW))
    line = json.dumps({"scope": ROOM, "text": "Caroline paints", "date": "2023-05-07"})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode())))
    await desk.moot("import", "-")
    told = [fact["date"] for fact in await desk.lines("list", "--json")]
    assert told == ["2026-04-30", "2023-05-07"]
    _, text = await desk.moot("list")
    assert "(fact, 2026-04-30)" in text


async def test_files_that_cannot_be_used_are_a_sentence(desk: Desk) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.jsonl: can't be read"):
        await desk.moot("import", str(desk.folder / "nowhere.jsonl"))
    with pytest.raises(ConfigError, match="can't be written"):
        await desk.moot("export", str(desk.folder / "no" / "where.jsonl"))
    wrong = desk.folder / "wrong.jsonl"
    wrong.write_text('{"scope": "room:r", "text": "x"}\n{"scope": "room:r"}\n')
    with pytest.raises(MootError, match="line 2: text: Field required; nothing was imported"):
        await desk.moot("import", str(wrong))
    assert await desk.lines("list", "--json") == []


async def test_check_tells_what_differs_and_rebuild_mends_it(desk: Desk) -> None:
    await desk.know("tea", "cake")
    assert await desk.moot("check") == (0, "2 facts, 2 entries in the index words: sound\n")
    [first, _] = sorted(await desk.index.ids())
    entry = desk.index.entries.pop(first)
    desk.index.entries["stranger"] = replace(entry, id="stranger")
    code, text = await desk.moot("check", "--json")
    found = json.loads(text)
    assert (code, found["missing"], found["orphaned"]) == (1, [first], ["stranger"])
    assert await desk.moot("rebuild") == (0, "indexed 2 facts\n")
    assert (await desk.moot("check"))[0] == 0


async def test_consolidate_one_scope_or_all(desk: Desk) -> None:
    await desk.know("Tea.", "tea")
    await desk.know("Tea.", "tea", scope=DM)
    [outcome] = await desk.lines("consolidate", "--scope", DM, "--json")
    assert (outcome["scope"], outcome["duplicates"]) == (DM, 1)
    outcomes = await desk.lines("consolidate", "--json")
    assert [outcome["duplicates"] for outcome in outcomes] == [0, 1]
    assert len(await desk.index.ids()) == 2


# ── A person ────────────────────────────────────────────────────────────────────────────


def settle(desk: Desk) -> dict[str, Path]:
    """What lies on disk of Andi and of Budi; each file holds its own unguessable word."""
    data = desk.folder / "data"
    work = desk.folder / "repository"
    paths = {
        "upload": data / "files" / ("a" * 32) / "plan.txt",
        "shared": data / "files" / "C1" / "F1" / "both.txt",
        "elsewhere": desk.folder / "elsewhere.txt",
        "dm": data / "scopes" / scope_folder(DM) / "demo" / "home" / "session.jsonl",
        "room": data / "scopes" / scope_folder(ROOM) / "demo" / "home" / "session.jsonl",
        "other": data / "scopes" / scope_folder("room:fake:x") / "demo" / "home" / "session.jsonl",
        "configured": data / "scopes" / scope_folder(DM) / "demo" / "work" / "kept.txt",
        "repository": work / "code.py",
    }
    for name, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"word-of-{name}")
    link = data / "scopes" / scope_folder(ROOM) / "demo" / "link"
    link.symlink_to(work)
    (desk.folder / "moot.toml").write_text(
        f'[agents.demo]\nworkspace = "data/scopes/{scope_folder(DM)}/demo/work"\n'
    )
    return paths


async def leave(desk: Desk) -> dict[str, Path]:
    """Andi wrote in a room and in a DM, with files; Budi in the room."""
    paths = settle(desk)

    def file(name: str) -> dict[str, Any]:
        path = paths[name]
        return {"name": path.name, "mime": "text/plain", "size_bytes": 1, "path": str(path)}

    async with desk.store() as store:
        for seq, sender, scope, files in (
            (1, "fake:andi", ROOM, ["upload", "shared", "elsewhere"]),
            (2, "fake:andi", DM, []),
            (3, "fake:budi", ROOM, ["shared"]),
        ):
            await store.write(
                lambda c, seq=seq, sender=sender, scope=scope, files=files: plant(  # type: ignore[misc]
                    c, "messages", seq=seq, sender_id=sender, scope=scope, room_id="fake:r",
                    content=f"said-by-{sender}", attachments=[file(name) for name in files],
                    sender_name=sender, mention=None, turn_id=None,
                )
            )  # fmt: skip
    await desk.know("Andi likes tea", person="fake:andi")
    await desk.know("Budi likes cake", person="fake:budi")
    return paths


async def test_a_person_is_deleted_with_everything_that_lies_on_disk(desk: Desk) -> None:
    paths = await leave(desk)
    code, _ = await desk.moot("delete-person", "fake:andi", "--yes")
    assert code == 0
    assert {name for name, path in paths.items() if path.exists()} == {
        "shared", "elsewhere", "other", "configured", "repository",
    }  # fmt: skip
    assert not paths["upload"].parent.exists()
    every = b"".join(p.read_bytes() for p in (desk.folder / "data").rglob("*") if p.is_file())
    assert b"said-by-fake:andi" not in every
    assert b"said-by-fake:budi" in every
    assert {entry.text for entry in desk.index.entries.values()} == {"Budi likes cake"}
    assert (await desk.moot("delete-person", "fake:andi", "--yes"))[0] in (0, 1)


async def test_nothing_is_deleted_before_somebody_says_yes(desk: Desk) -> None:
    paths = await leave(desk)
    for words in ((), ("--dry-run",), ("--yes", "--dry-run")):
        code, text = await desk.moot("delete-person", "fake:andi", *words)
        assert (code, text.splitlines()[0]) == (
            0,
            "of fake:andi would go; say --yes to delete it:",
        )
        assert f"left, since it is not Moot's: {paths['elsewhere']}" in text
        assert f"the agents' sessions in {ROOM}" in text
    assert all(path.exists() for path in paths.values())
    [told] = await desk.lines("delete-person", "fake:andi", "--json")
    assert told["rows"] == {"facts": 1, "messages": 2}
    assert told["deleted"] is False


async def test_a_stranger_is_nobody(desk: Desk) -> None:
    assert await desk.moot("delete-person", "fake:nobody", "--yes") == (
        1,
        "there is nothing of fake:nobody\n",
    )
    with pytest.raises(MootError, match="'Andi' is not a sender id"):
        await desk.moot("delete-person", "Andi")


async def test_a_person_is_not_deleted_while_moot_runs(desk: Desk) -> None:
    paths = await leave(desk)
    with hold(desk.folder / "data"):
        assert (await desk.moot("delete-person", "fake:andi"))[0] == 0
        with pytest.raises(InUse, match="stop it first"):
            await desk.moot("delete-person", "fake:andi", "--yes")
    assert all(path.exists() for path in paths.values())
    async with desk.store() as store:
        assert len(await store.read(lambda c: c.execute(select(messages.c.seq)).all())) == 3


async def test_what_was_broken_off_is_finished_by_the_next_call(desk: Desk) -> None:
    paths = await leave(desk)

    class Failing(WordIndex):
        failures = 1

        async def remove(self, ids: Any) -> None:
            if self.failures:
                self.failures -= 1
                raise MootError("the index is away")
            await super().remove(ids)

    desk.index = Failing(entries=desk.index.entries)
    with pytest.raises(MootError, match="away"):
        await desk.moot("delete-person", "fake:andi", "--yes")
    await desk.moot("delete-person", "fake:andi", "--yes")
    assert not paths["upload"].exists()
    assert len(await desk.index.ids()) == 1


async def test_commands_work_while_another_process_has_the_database_open(desk: Desk) -> None:
    await desk.know("tea")
    async with desk.store() as store:
        line = json.dumps({"scope": ROOM, "text": "cake"})
        (desk.folder / "more.jsonl").write_text(line)
        await asyncio.gather(
            desk.moot("import", str(desk.folder / "more.jsonl")),
            store.write(lambda c: plant(c, "landmarks")),
        )
        assert len(await store.read(lambda c: facts_in(c, [ROOM]))) == 2
