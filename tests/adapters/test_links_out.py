"""Links by which a program could have Moot read or write another one's files for it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.cli.record import follow
from adapters.cli_profile import HomeFile, Setting
from adapters.session.startup import write_home_file
from adapters.turn_events import ReplyBlock, TurnEvent
from adapters.turn_signs import RecordFormat


def read(row: Mapping[str, Any]) -> Sequence[TurnEvent]:
    return (ReplyBlock(row["line"]),)


RECORD = RecordFormat("log.md", read, format="text")


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
    assert list(await follower.read()) == [ReplyBlock("mine")]


async def test_a_record_that_becomes_a_link_while_it_is_followed_is_not_read(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "log.md").write_text("first\n")
    follower = follow(RECORD, home, "log.md")
    assert list(await follower.read()) == [ReplyBlock("first")]
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


SWAP = """
import itertools, os, sys
home, other = sys.argv[1:]
print(flush=True)
for target in itertools.cycle(("own", other)):
    os.symlink(target, f"{home}/next")
    os.replace(f"{home}/next", f"{home}/store")
"""
LOOKS = 400  # without the check one in twenty read the other


async def test_a_database_whose_folder_changes_while_it_is_opened_is_read_in_its_home_alone(
    tmp_path: Path,
) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    for folder, said in ((home / "own", "mine"), (other, "xylophone")):
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / "log.db")) as database:
            database.execute("CREATE TABLE log (id INTEGER, line TEXT)")
            database.execute("INSERT INTO log VALUES (1, ?)", (said,))
            database.commit()
    record = RecordFormat("", read, format="sqlite", query=QUERY)
    swapping = subprocess.Popen(
        [sys.executable, "-c", SWAP, str(home), str(other)], stdout=subprocess.PIPE
    )
    try:
        assert swapping.stdout
        swapping.stdout.readline()
        found = [event for _ in range(LOOKS) for event in await _looked(record, home)]
    finally:
        swapping.kill()
        swapping.communicate()
    assert set(found) == {ReplyBlock("mine")}


async def _looked(record: RecordFormat, home: Path) -> Sequence[TurnEvent]:
    return await follow(record, home, "store/log.db").read()


@pytest.mark.parametrize("glob", ["log.md", "*.md"])
async def test_nobody_waits_for_a_record_that_becomes_a_fifo(tmp_path: Path, glob: str) -> None:
    follower = follow(RECORD, tmp_path, glob)
    (tmp_path / "log.md").write_text("first\n")
    assert list(await follower.read()) == [ReplyBlock("first")]
    (tmp_path / "log.md").unlink()
    os.mkfifo(tmp_path / "log.md")
    assert list(await follower.read()) == []


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: os.truncate(_made(path), 1 << 40)])
def test_a_settings_file_that_has_no_end_is_replaced(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    put(tmp_path / "settings")
    setting = Setting(tmp_path, tmp_path / "work", "")
    write_home_file(setting, HomeFile("settings", lambda _, present: f"kept: {present}"))
    assert (tmp_path / "settings").read_text() == "kept: "


def _made(path: Path) -> Path:
    path.touch()
    return path


QUERY = "SELECT * FROM log WHERE id > ? ORDER BY id"
DATABASE = RecordFormat("", read, format="sqlite", query=QUERY)


@pytest.mark.parametrize("end", ["-wal", "-journal"])
async def test_nobody_waits_for_a_journal_that_is_a_fifo(tmp_path: Path, end: str) -> None:
    with closing(sqlite3.connect(tmp_path / "log.db")) as database:
        database.execute("PRAGMA journal_mode=WAL" if end == "-wal" else "SELECT 1")
        database.execute("CREATE TABLE log (id INTEGER, line TEXT)")
    os.mkfifo(tmp_path / f"log.db{end}")
    assert list(await follow(DATABASE, tmp_path, "log.db").read()) == []


async def test_a_table_without_end_is_read_for_a_moment_only(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "log.db")) as database:
        database.execute(
            "CREATE VIEW log AS WITH RECURSIVE many(id) AS (SELECT 1 UNION ALL SELECT id + 1 "
            "FROM many) SELECT id, 'line' AS line FROM many WHERE id < 0"
        )
    assert list(await follow(DATABASE, tmp_path, "log.db").read()) == []
