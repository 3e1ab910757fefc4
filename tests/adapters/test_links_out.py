"""Links by which a program could have Moot read or write another one's files for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.profiles.profile import HomeFile, Record, Said, Setting, TurnEvent
from adapters.record import follow
from adapters.startup import write_home_file


def read(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
    return (Said(row["line"]),)


RECORD = Record("log.md", read, format="text")


async def test_a_record_that_leads_out_of_its_home_is_not_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    follower = follow(RECORD, home, "log.md")
    await follower.skip()
    (tmp_path / "secret").write_text("xylophone\n")
    (home / "log.md").symlink_to(tmp_path / "secret")
    assert list(await follower.read()) == []
    (home / "log.md").unlink()
    (home / "log.md").write_text("mine\n")
    assert list(await follower.read()) == [Said("mine")]


async def test_a_record_that_becomes_a_link_while_it_is_followed_is_not_read(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "log.md").write_text("first\n")
    follower = follow(RECORD, home, "log.md")
    assert list(await follower.read()) == [Said("first")]
    (tmp_path / "secret").write_text("first\nxylophone\n")
    (home / "log.md").unlink()
    (home / "log.md").symlink_to(tmp_path / "secret")
    assert list(await follower.read()) == []


def test_what_a_link_in_the_place_of_a_settings_file_leads_to_is_not_taken_over(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret").write_text("xylophone")
    (home / "settings").symlink_to(tmp_path / "secret")
    setting = Setting(home, tmp_path / "work", "")
    write_home_file(setting, HomeFile("settings", lambda _, present: f"kept: {present}"))
    assert (home / "settings").read_text() == "kept: "
    assert not (home / "settings").is_symlink()
    assert (tmp_path / "secret").read_text() == "xylophone"
