"""The whole way: rows are cut off the audit log between two runs of Moot."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.doubles.service import Service, service
from tests.test_commands import moot

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'


def tampered(folder: Path, change: str) -> None:
    """Somebody who owns the database changes the log."""
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        wanted = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'"
        triggers = database.execute(wanted).fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        database.execute(change)
        for _, sql in triggers:
            database.execute(sql)
        database.commit()


async def verify(folder: Path) -> tuple[int, str]:
    ran = await asyncio.to_thread(moot, "audit", "verify", cwd=folder)
    return ran.returncode, ran.stdout


async def started_again(running: Service, times: int = 1) -> None:
    for _ in range(times):
        await running.start()
        await running.stop()


CHANGES = {
    "the end": "DELETE FROM audit WHERE seq > (SELECT max(seq) - 2 FROM audit)",
    "a word": "UPDATE audit SET act = 'nothing' WHERE seq = 2",
    "a half": "UPDATE audit SET who_salt = '', by_id = '', by_name = '' WHERE seq = 2",
}


@pytest.mark.parametrize("what", CHANGES)
async def test_a_broken_log_is_reported_until_somebody_acknowledges_it(
    tmp_path: Path, what: str
) -> None:
    async with service(tmp_path, CONFIG) as running:
        await running.stop()
        await started_again(running, 2)
        assert (await verify(tmp_path))[0] == 0
        assert "audit.broken" not in running.log()

        tampered(tmp_path, CHANGES[what])
        assert (await verify(tmp_path))[0] == 1
        await started_again(running)
        await running.start()
        code, told = await verify(tmp_path)
        assert (code, "moot audit acknowledge" in told) == (1, True)
        async with asyncio.timeout(20):
            while "audit.broken" not in running.log():
                await asyncio.sleep(0.05)
        checked = await asyncio.to_thread(moot, "check", "--offline", cwd=tmp_path)
        assert "the audit log is broken: " in checked.stdout

        words = ("audit", "acknowledge", "--why", "the disk was full")
        noted = await asyncio.to_thread(moot, *words, cwd=tmp_path)  # while Moot runs
        assert noted.returncode == 0, noted.stderr
        await running.stop()
        code, told = await verify(tmp_path)
        assert (code, "broken and acknowledged" in told) == (0, True)
        shown = await asyncio.to_thread(
            moot, "audit", "show", "--act", "acknowledge", "--json", cwd=tmp_path
        )
        [row] = [json.loads(line) for line in shown.stdout.splitlines()]
        assert (row["by"]["id"], row["detail"]["why"]) == ("moot:shell", "the disk was full")
        assert row["detail"]["account"]

        tampered(tmp_path, CHANGES["the end"])  # with it goes the acknowledgement
        assert (await verify(tmp_path))[0] == 1
        await started_again(running)
        assert (await verify(tmp_path))[0] == 1


async def test_a_cut_is_acknowledged_before_the_next_start(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as running:
        await running.stop()
        await started_again(running, 3)
    tampered(tmp_path, CHANGES["the end"])
    words = ("audit", "acknowledge", "--why", "a restore")
    noted = await asyncio.to_thread(moot, *words, cwd=tmp_path)
    assert noted.returncode == 0, noted.stderr
    assert (await verify(tmp_path))[0] == 0
    again = await asyncio.to_thread(moot, *words, cwd=tmp_path)
    assert "nothing to acknowledge" in again.stdout
