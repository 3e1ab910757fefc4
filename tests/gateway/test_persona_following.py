"""Which form of a persona's file holds: this machine's, or the one that the database names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog.testing

from gateway.app.sessions import make_persona_follower
from gateway.personas.following import PersonaFollower
from gateway.personas.versions import Versions
from gateway.settings.config import Config
from gateway.settings.editing.agreeing import Holds, judge
from gateway.settings.personas.personas import Personas
from gateway.settings.personas.shipped import AGREED, bring_shipped
from store.database import Store
from tests.conftest import NewUrl
from tests.gateway.test_shipped import release

NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)
A, B, C, GONE = "a", "b", "c", ""


@pytest.mark.parametrize(
    ("ours", "agreed", "theirs", "holds"),
    [
        (A, A, A, "both"),
        (A, None, A, "both"),  # the same came to both machines
        (B, A, B, "both"),
        (GONE, A, GONE, "both"),
        (B, A, A, "ours"),  # edited here
        (GONE, A, A, "ours"),  # removed here
        (A, None, None, "ours"),  # added here
        (A, GONE, GONE, "ours"),  # added again
        (B, A, None, "ours"),  # the database is another one
        (A, A, B, "theirs"),  # edited there
        (A, A, GONE, "theirs"),  # removed there
        (GONE, None, A, "theirs"),  # added there
        (GONE, GONE, A, "theirs"),
        (C, A, B, "theirs"),  # edited on both
        (GONE, A, B, "theirs"),
        (B, A, GONE, "theirs"),
        (A, None, B, "theirs"),  # a new machine
        (A, None, GONE, "theirs"),
    ],
)
def test_an_edit_holds_as_long_as_the_database_has_what_was_agreed_on(
    ours: str, agreed: str | None, theirs: str | None, holds: Holds
) -> None:
    assert judge(ours, agreed, theirs) == holds


def text(body: str) -> str:
    return f"---\nagent: demo\n---\n{body}\n"


class Machine:
    """Its folders, and it at the database: it leads, or another one does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "personas"
        self.data = folder / "data"
        for one in (self.folder, self.data):
            one.mkdir(parents=True)

    def write(self, name: str, body: str) -> None:
        (self.folder / f"{name}.md").write_text(text(body))

    async def follow(self, store: Store) -> bool:
        follower = PersonaFollower(
            Personas(self.folder),
            store,
            folder=self.folder,
            data_dir=self.data,
            clock=lambda: NOW,
            settled_s=0,
        )
        return await follower.follow()

    def texts(self) -> dict[str, str]:
        """By the names of files, without what comes with Moot."""
        return {
            path.name.partition("-")[0]: path.read_text().split("---\n")[-1].strip()
            for path in sorted(self.folder.iterdir())
            if not path.name.startswith(".")
        }


class House:
    """Two machines; the first leads."""

    def __init__(self, folder: Path, leads: Store, reads: Store) -> None:
        self.first, self.second = Machine(folder / "first"), Machine(folder / "second")
        self.leads, self.reads = leads, reads

    async def follow(self) -> None:
        await self.first.follow(self.leads)
        await self.second.follow(self.reads)


@pytest.fixture
async def house(tmp_path: Path, new_url: NewUrl) -> AsyncIterator[House]:
    url = await new_url("postgresql")
    async with Store.open(url) as leads, Store.open(url, read_only=True) as reads:
        yield House(tmp_path, leads, reads)


async def test_nothing_follows_where_the_database_is_a_file(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        assert make_persona_follower(Config(), Personas(tmp_path), store) is None


async def test_edits_additions_and_removals_come_to_the_second(house: House) -> None:
    for name in ("ada", "bob"):
        house.first.write(name, "1")
    await house.follow()
    assert house.second.texts() == {"ada.md": "1", "bob.md": "1"}
    house.first.write("ada", "2")
    house.first.write("cai", "1")
    (house.first.folder / "bob.md").unlink()
    await house.follow()
    assert house.second.texts() == {"ada.md": "2", "cai.md": "1"}
    assert await house.second.follow(house.reads) is False


async def test_a_broken_form_does_not_follow(house: House) -> None:
    house.first.write("ada", "1")
    await house.follow()
    (house.first.folder / "ada.md").write_text("---\nagent: [\n---\n")
    await house.follow()
    assert house.second.texts() == {"ada.md": "1"}
    house.first.write("ada", "2")
    await house.follow()
    assert house.second.texts() == {"ada.md": "2"}


async def test_a_broken_edit_beside_the_second_is_no_edit_yet(house: House) -> None:
    house.first.write("ada", "1")
    await house.follow()
    (house.second.folder / "ada.md").write_text("---\nagent: [\n---\n")
    with structlog.testing.capture_logs() as logs:
        await house.follow()
    assert "personas.edited_here" not in str(logs)
    assert "agent: [" in (house.second.folder / "ada.md").read_text()


async def test_what_is_kept_aside_is_for_whom_the_file_was(house: House) -> None:
    house.second.write("ada", "mine")
    (house.second.folder / "ada.md").chmod(0o600)
    house.first.write("ada", "1")
    await house.follow()
    (aside,) = house.second.folder.glob("*.kept-*")
    assert aside.stat().st_mode & 0o777 == 0o600


async def test_an_edit_beside_the_second_is_told_of_and_counts_when_it_leads(house: House) -> None:
    house.first.write("ada", "1")
    await house.follow()
    house.second.write("ada", "2")
    with structlog.testing.capture_logs() as logs:
        await house.follow()
    assert [one["event"] for one in logs if one["log_level"] == "warning"] == [
        "personas.edited_here"
    ]
    assert house.first.texts() == {"ada.md": "1"}
    await house.second.follow(house.leads)
    await house.first.follow(house.reads)
    assert house.first.texts() == house.second.texts() == {"ada.md": "2"}


async def test_an_edit_that_is_not_taken_is_kept_aside_where_nothing_loads_it(
    house: House,
) -> None:
    house.first.write("ada", "1")
    await house.follow()
    house.first.write("ada", "2")
    house.second.write("ada", "mine")
    await house.follow()
    assert house.second.texts() == {"ada.md": "2", "ada.md.kept": "mine"}
    assert list(Personas(house.second.folder).good) == ["ada"]


async def test_a_removal_beside_the_second_holds_unless_the_file_was_edited(
    house: House,
) -> None:
    for name in ("ada", "bob", "cai"):
        house.first.write(name, "1")
    await house.follow()
    house.first.write("ada", "2")
    for name in ("ada", "bob"):
        (house.second.folder / f"{name}.md").unlink()
    await house.follow()
    assert house.second.texts() == {"ada.md": "2", "cai.md": "1"}
    await house.second.follow(house.leads)
    await house.first.follow(house.reads)
    assert house.first.texts() == {"ada.md": "2", "cai.md": "1"}


async def test_what_the_database_knows_is_not_kept_aside(house: House) -> None:
    house.first.write("ada", "1")
    await house.first.follow(house.leads)
    house.first.write("ada", "2")
    await house.first.follow(house.leads)
    house.second.write("ada", "1")  # copied by hand, long ago
    await house.follow()
    assert house.second.texts() == {"ada.md": "2"}


async def test_an_update_begins_with_the_newest_that_the_history_knows(house: House) -> None:
    versions = Versions(house.leads, lambda: NOW)
    for name in ("ada", "bob", "cai", "dan"):
        await versions.note(name, text("1"), "file")
    for name in ("ada", "cai", "eve"):
        await versions.note(name, text("2"), "page")
    await versions.note("dan", "", "delete")
    for name, body in (("ada", "1"), ("bob", "1"), ("cai", "by hand"), ("dan", "1"), ("fay", "1")):
        house.second.write(name, body)
    await house.second.follow(house.leads)
    wanted = {"ada.md": "2", "bob.md": "1", "cai.md": "by hand", "eve.md": "2", "fay.md": "1"}
    assert house.second.texts() == wanted
    await house.first.follow(house.reads)
    assert house.first.texts() == wanted
    assert [one.text for one in await versions.of("cai")] == [
        text(body) for body in ("by hand", "2", "1")
    ]


async def test_a_folder_that_was_lost_is_filled_again_and_removes_nothing(house: House) -> None:
    house.first.write("ada", "1")
    await house.follow()
    (house.first.folder / "ada.md").unlink()
    await house.follow()
    assert house.first.texts() == house.second.texts() == {"ada.md": "1"}


async def test_an_update_of_a_persona_that_comes_with_moot_follows_too(
    house: House, tmp_path: Path
) -> None:
    old, new = release(tmp_path / "old", ada=text("1")), release(tmp_path / "new", ada=text("2"))
    for machine in (house.first, house.second):
        bring_shipped(machine.folder, old)
    await house.follow()
    bring_shipped(house.second.folder, new)
    with structlog.testing.capture_logs() as logs:
        await house.follow()
    assert [one for one in logs if one["log_level"] == "warning"] == []
    assert house.second.texts() == {"ada.md": "2"}
    await house.second.follow(house.leads)
    await house.first.follow(house.reads)
    assert house.first.texts() == {"ada.md": "2"}
    newer = release(tmp_path / "newer", ada=text("3"))
    assert bring_shipped(house.first.folder, new) == []
    assert bring_shipped(house.first.folder, newer) == ["ada.md"]


async def test_a_persona_that_comes_with_moot_stays_removed_on_a_new_machine(
    house: House, tmp_path: Path
) -> None:
    source = release(tmp_path / "shipped", ada=text("1"), bob=text("1"))
    bring_shipped(house.first.folder, source)
    await house.first.follow(house.leads)
    (house.first.folder / "ada.md").unlink()
    await house.first.follow(house.leads)
    bring_shipped(house.second.folder, source)
    await house.follow()
    assert house.second.texts() == {"bob.md": "1"}


async def test_what_was_agreed_on_with_another_database_is_kept_aside(
    house: House, new_url: NewUrl
) -> None:
    house.first.write("ada", "1")
    await house.first.follow(house.leads)
    async with Store.open(await new_url("postgresql")) as other:
        await Versions(other, lambda: NOW).put("ada", text("other"))
        await house.first.follow(other)
    assert house.first.texts() == {"ada.md": "other", "ada.md.kept": "1"}


async def test_a_file_of_what_was_agreed_on_that_is_broken_is_as_none(house: House) -> None:
    house.first.write("ada", "1")
    await house.follow()
    (house.second.data / AGREED).write_text("{")
    await house.follow()
    house.first.write("ada", "2")
    await house.follow()
    assert house.second.texts() == {"ada.md": "2"}
