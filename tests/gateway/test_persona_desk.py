"""Persona files that are edited, kept, rolled back; nothing leaves their folder."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from contract.chat import Room, Speaker
from contract.errors import ConfigError
from gateway.audit.audit import Audit
from gateway.personas.service import PersonaService
from gateway.personas.versions import Versions
from gateway.settings.personas.faults import Conflict, Unknown, Unsound
from gateway.settings.personas.files import MOST_BYTES, digest, read_text, write_text
from gateway.settings.personas.personas import Personas
from store.database import Store

ANA = Speaker("web:ana", "Ana")
ROOM = Room("web:general", "general")


def text(body: str) -> str:
    return f"---\nagent: demo\n---\n{body}\n"


class Notes(list[tuple[str, str, str | None, dict[str, object]]]):
    """An audit log that lies in memory."""

    async def note(
        self,
        act: str,
        by: Speaker,
        *,
        persona: str | None = None,
        room: Room | None = None,
        turn_id: str | None = None,
        **detail: str | int | bool | None,
    ) -> None:
        self.append((act, by.id, persona, dict(detail)))


class Stand:
    """A folder, its desk, and what was told of it."""

    def __init__(self, tmp_path: Path, store: Store, shipped: Path | None = None) -> None:
        self.folder = tmp_path / "personas"
        if shipped is None:
            self.folder.mkdir()
        self.personas = Personas(shipped or self.folder)
        self.notes = Notes()
        self.changes = 0
        self.desk = PersonaService(
            self.personas,
            Versions(store, lambda: datetime(2026, 4, 21, tzinfo=UTC)),
            own_folder=self.folder,
            audit=cast(Audit, self.notes),
            changed=self.change,
        )

    def change(self) -> None:
        self.changes += 1

    async def base(self, name: str) -> str:
        return (await self.desk.sheet(name)).base

    async def history(self, name: str) -> list[tuple[int, str, str | None]]:
        versions = await self.desk.versions.of(name)
        return [(v.number, v.why, v.by.name if v.by else None) for v in versions]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as opened:
        yield opened


@pytest.fixture
def stand(tmp_path: Path, store: Store) -> Stand:
    return Stand(tmp_path, store)


# ── Saving ──────────────────────────────────────────────────────────────────────────────────


async def test_an_edit_is_written_used_kept_and_on_record(stand: Stand) -> None:
    await stand.desk.save("ada", text("first"), "", ANA)
    (stand.folder / "ada.md").chmod(0o600)
    await stand.desk.save("ada", text("second"), await stand.base("ada"), ANA, room=ROOM)
    assert stand.personas.good["ada"].body == "second"
    assert (stand.folder / "ada.md").stat().st_mode & 0o777 == 0o600
    assert await stand.history("ada") == [(2, "page", "Ana"), (1, "page", "Ana")]
    assert stand.notes[-1] == ("persona", "web:ana", "ada", {"how": "page", "version": 2})
    assert stand.changes == 2
    assert [p.name for p in stand.folder.iterdir()] == ["ada.md"]


async def test_the_same_text_again_is_no_new_version(stand: Stand) -> None:
    await stand.desk.save("ada", text("first"), "", ANA)
    version = await stand.desk.save("ada", text("first"), await stand.base("ada"), ANA)
    assert version.number == 1


async def test_what_was_edited_outside_is_a_version_of_nobody(stand: Stand) -> None:
    (stand.folder / "ada.md").write_text(text("by hand"))
    await stand.desk.catch_up()
    (stand.folder / "ada.md").write_text("broken")
    await stand.desk.catch_up()
    assert await stand.history("ada") == [(1, "file", None)]
    sheet = await stand.desk.sheet("ada")
    assert (sheet.state, sheet.text) == ("broken", "broken")
    assert stand.personas.good["ada"].body == "by hand"


async def test_a_text_with_errors_is_not_saved_and_all_of_them_are_told(stand: Stand) -> None:
    with pytest.raises(Unsound) as caught:
        await stand.desk.save("ada", "---\nmodle: x\ndriver: y\n---\nHi", "", ANA)
    assert len(caught.value.findings) == 3
    assert list(stand.folder.iterdir()) == []


async def test_an_edit_of_an_older_form_is_a_conflict_that_shows_both(stand: Stand) -> None:
    await stand.desk.save("ada", text("first"), "", ANA)
    base = await stand.base("ada")
    (stand.folder / "ada.md").write_text(text("theirs"))
    with pytest.raises(Conflict) as caught:
        await stand.desk.save("ada", text("mine"), base, ANA)
    assert caught.value.theirs == text("theirs")
    assert "-theirs\n+mine" in caught.value.diff
    assert (stand.folder / "ada.md").read_text() == text("theirs")
    await stand.desk.save("ada", text("mine"), caught.value.base, ANA)
    assert [number for number, *_ in await stand.history("ada")] == [3, 2, 1]


async def test_a_new_persona_does_not_take_the_place_of_one_that_is_there(stand: Stand) -> None:
    await stand.desk.save("ada", text("first"), "", ANA)
    with pytest.raises(Conflict):
        await stand.desk.save("ada", text("mine"), "", ANA)


async def test_a_folder_that_cannot_be_written_to_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "none" / "there"
    with pytest.raises(ConfigError, match="can't be written to: No such file"):
        write_text(folder, "ada", text("first"))


async def test_the_first_edit_copies_the_personas_that_came_with_moot(
    tmp_path: Path, store: Store
) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    for name in ("ada", "bob"):
        (shipped / f"{name}.md").write_text(text(name))
    stand = Stand(tmp_path, store, shipped)
    assert stand.desk.moves_to == stand.folder
    await stand.desk.save("ada", text("mine"), await stand.base("ada"), ANA)
    assert (shipped / "ada.md").read_text() == text("ada")
    assert (stand.folder / "bob.md").read_text() == text("bob")
    assert stand.personas.good["ada"].body == "mine"
    assert stand.desk.moves_to is None


# ── Going back ──────────────────────────────────────────────────────────────────────────────


async def test_going_back_writes_the_file_and_is_a_version_too(stand: Stand) -> None:
    for body in ("first", "second", "third"):
        base = await stand.base("ada") if body != "first" else ""
        await stand.desk.save("ada", text(body), base, ANA)
    await stand.desk.roll_back("ada", 1, ANA)
    assert (stand.folder / "ada.md").read_text() == text("first")
    assert (await stand.history("ada"))[0] == (4, "rollback", "Ana")
    await stand.desk.roll_back("ada", None, ANA)
    assert stand.personas.good["ada"].body == "third"


@pytest.mark.parametrize("by_hand", [True, False])
async def test_a_deleted_persona_comes_back_from_its_history(stand: Stand, by_hand: bool) -> None:
    await stand.desk.save("ada", text("first"), "", ANA)
    if by_hand:
        (stand.folder / "ada.md").unlink()
    else:
        await stand.desk.delete("ada", await stand.base("ada"), ANA)
    sheet = await stand.desk.sheet("ada")
    assert (sheet.state, sheet.text) == ("deleted", text("first"))
    assert await stand.history("ada") == [
        (2, "delete", None if by_hand else "Ana"), (1, "page", "Ana"),
    ]  # fmt: skip
    with pytest.raises(Unknown, match="is its deletion"):
        await stand.desk.roll_back("ada", 2, ANA)
    await stand.desk.roll_back("ada", None, ANA)
    assert stand.personas.good["ada"].body == "first"


async def test_there_is_nothing_to_go_back_to_at_first(stand: Stand) -> None:
    await stand.desk.save("ada", text("first"), "", ANA)
    with pytest.raises(Unknown, match="only one version"):
        await stand.desk.roll_back("ada", None, ANA)
    with pytest.raises(Unknown, match="no version 7"):
        await stand.desk.roll_back("ada", 7, ANA)
    with pytest.raises(Unknown, match="no persona 'bob'"):
        await stand.desk.roll_back("bob", None, ANA)


# ── Tricks with paths ───────────────────────────────────────────────────────────────────────

TRICKS = ["../ada", "/etc/passwd", "a/b", "..", ".", "", "Ada", "README", "a\x00b", "a" * 33, "~a"]


@pytest.mark.parametrize("name", TRICKS)
async def test_no_other_name_becomes_a_path(stand: Stand, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    for work in (
        stand.desk.save(name, text("x"), "", ANA),
        stand.desk.delete(name, "", ANA),
        stand.desk.roll_back(name, None, ANA),
        stand.desk.sheet(name),
    ):
        with pytest.raises(ConfigError, match="a persona's name"):
            await work
    assert sorted(tmp_path.rglob("*")) == before


async def test_a_link_out_of_the_folder_is_neither_read_nor_written(
    stand: Stand, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(text("secret"))
    (stand.folder / "ada.md").symlink_to(outside)
    stand.personas.refresh()
    assert "leads out of" in stand.personas.problems["ada"]
    assert "ada" not in stand.personas.good
    sheet = await stand.desk.sheet("ada")
    assert (sheet.state, sheet.text) == ("broken", "")
    for base in ("", digest(outside.read_bytes())):
        with pytest.raises(ConfigError, match="leads out of"):
            await stand.desk.save("ada", text("mine"), base, ANA)
    assert outside.read_text() == text("secret")


async def test_a_link_within_the_folder_is_followed_and_stays_one(stand: Stand) -> None:
    (stand.folder / "data").mkdir()
    (stand.folder / "data" / "real.md").write_text(text("first"))
    (stand.folder / "ada.md").symlink_to("data/real.md")
    await stand.desk.save("ada", text("second"), await stand.base("ada"), ANA)
    assert (stand.folder / "ada.md").is_symlink()
    assert (stand.folder / "data" / "real.md").read_text() == text("second")


async def test_a_pipe_is_no_file_to_wait_for(stand: Stand) -> None:
    os.mkfifo(stand.folder / "ada.md")
    stand.personas.refresh()
    assert "it is no file" in stand.personas.problems["ada"]


async def test_a_file_has_its_size(stand: Stand) -> None:
    with pytest.raises(ConfigError, match="more than 256 KB"):
        await stand.desk.save("ada", text("x" * MOST_BYTES), "", ANA)
    (stand.folder / "ada.md").write_text(text("x" * MOST_BYTES))
    with pytest.raises(ConfigError, match="more than 256 KB"):
        read_text(stand.folder, "ada")


async def test_bytes_that_are_no_text_are_told(stand: Stand) -> None:
    (stand.folder / "ada.md").write_bytes(b"---\nagent: demo\n---\n\xff")
    stand.personas.refresh()
    assert "is not UTF-8: byte 20" in stand.personas.problems["ada"]
