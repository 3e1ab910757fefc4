"""The whole way: rows are cut off the audit log between two runs of Moot."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from contract.chat import MOOT
from gateway.audit.audit import Audit, AuditFilter
from gateway.audit.chain import ANCHOR
from store.database import Store
from tests.doubles.matrix import sampled
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


@pytest.mark.parametrize("what", sampled(CHANGES))
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
        none = await asyncio.to_thread(moot, "audit", "show", "--act", "erase", cwd=tmp_path)
        assert (none.stdout, none.stderr.strip()) == ("", "no entry fits that")

        tampered(tmp_path, CHANGES["the end"])  # with it goes the acknowledgement
        assert (await verify(tmp_path))[0] == 1
        await started_again(running)
        assert (await verify(tmp_path))[0] == 1


def copied(folder: Path, to: Path, *names: str) -> None:
    to.mkdir(exist_ok=True)
    for name in names:
        if (folder / name).exists():
            shutil.copyfile(folder / name, to / name)


def deleted(data: Path, *names: str) -> None:
    for name in names:
        (data / name).unlink(missing_ok=True)


def cut(data: Path) -> None:
    tampered(data.parent, CHANGES["the end"])


DATABASE = ("moot.db", "moot.db-wal", "moot.db-shm")


def without_its_log(data: Path, old: Path) -> None:
    """A copy of moot.db alone, without what lies in the write-ahead log yet."""
    deleted(data, "moot.db-wal", "moot.db-shm")


def with_an_older_database(data: Path, old: Path) -> None:
    deleted(data, *DATABASE)
    copied(old, data, "moot.db")


def without_the_anchor(data: Path, old: Path) -> None:
    deleted(data, "moot.db-wal", "moot.db-shm", "audit.head")


def with_an_older_anchor(data: Path, old: Path) -> None:
    cut(data)
    copied(old, data, "audit.head")


WAYS = (without_its_log, with_an_older_database, without_the_anchor, with_an_older_anchor)


@pytest.mark.parametrize("way", WAYS)
async def test_however_the_end_was_cut_while_moot_was_down_it_is_reported_until_acknowledged(
    tmp_path: Path, way: Callable[[Path, Path], None]
) -> None:
    data, old = tmp_path / "data", tmp_path / "old"
    async with service(tmp_path, CONFIG) as running:
        await running.stop()
        copied(data, old, "moot.db", "audit.head")
        await running.start()
        await running.kill()  # its row lies in the write-ahead log alone
        assert (await verify(tmp_path))[0] == 0
        way(data, old)
        assert (await verify(tmp_path))[0] == 1
        await running.start()  # which anchors its own row
        code, told = await verify(tmp_path)
        assert (code, "moot audit acknowledge" in told) == (1, True), told
        async with aiohttp.ClientSession(running.url, headers=running.headers) as page:
            shown = await (await page.get("/api/audit/verify")).json()
        assert shown["ok"] is False
        assert "missing" in shown["broken"]
        words = ("audit", "acknowledge", "--why", "a test")
        assert (await asyncio.to_thread(moot, *words, cwd=tmp_path)).returncode == 0
        assert (await verify(tmp_path))[0] == 0


async def test_a_note_of_a_cut_is_never_erased(tmp_path: Path) -> None:
    """Somebody who has the database empties it, as if a person had been deleted, and notes that."""
    data = tmp_path / "data"
    async with service(tmp_path, CONFIG) as running:
        await running.stop()
        cut(data)
        await started_again(running)
    emptied = "UPDATE audit SET what_salt = '', room_id = NULL, detail = '{}' WHERE act = 'cut'"
    tampered(tmp_path, emptied)
    async with Store.open(f"sqlite:///{data / 'moot.db'}") as store:
        log = Audit(store, lambda: datetime.now(UTC), data / ANCHOR)
        [row] = await log.page(AuditFilter(act="cut"), before=None, limit=1)
        await log.note("erase", MOOT, half="what", rows=str(row.seq))
    code, told = await verify(tmp_path)
    assert (code, "rows before it were missing" in told) == (1, True)


async def test_a_restore_is_said_as_what_it_is_and_breaks_nothing(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as running:
        made = await asyncio.to_thread(moot, "backup", str(tmp_path / "b.tar.gz"), cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        await running.stop()
        newest = (tmp_path / "data" / "audit.head").read_text().strip()
        restored = await asyncio.to_thread(moot, "restore", "b.tar.gz", "--force", cwd=tmp_path)
        assert "moot audit show --act restore" in restored.stdout, restored.stderr
        words = ("audit", "show", "--act", "restore", "--json")
        shown = await asyncio.to_thread(moot, *words, cwd=tmp_path)
        [row] = [json.loads(line) for line in shown.stdout.splitlines()]
        assert row["by"]["id"] == "moot:shell"
        assert row["detail"].keys() == {"backup", "made_at", "account", "replaced"}
        assert (row["detail"]["backup"], row["detail"]["replaced"]) == ("b.tar.gz", newest)
        assert (await verify(tmp_path))[0] == 0
        await started_again(running)
        assert (await verify(tmp_path))[0] == 0
        assert "audit.broken" not in running.log()


async def test_the_doctor_finds_an_older_database_by_the_newest_backup(tmp_path: Path) -> None:
    """An older database with the `audit.head` that belongs to it: the log itself holds."""
    data, old = tmp_path / "data", tmp_path / "old"
    async with service(tmp_path, CONFIG) as running:
        await running.stop()
        copied(data, old, "moot.db", "audit.head")
        await started_again(running)
        await asyncio.to_thread(moot, "backup", cwd=tmp_path)
        doctor = ("doctor", "--offline")
        assert "lacks" not in (await asyncio.to_thread(moot, *doctor, cwd=tmp_path)).stdout
        deleted(data, *DATABASE)
        copied(old, data, "moot.db", "audit.head")
        told = (await asyncio.to_thread(moot, *doctor, cwd=tmp_path)).stdout
        assert "it knows rows that the audit log lacks" in told, told


async def test_a_cut_is_acknowledged_before_the_next_start(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as running:
        await running.stop()
        await started_again(running, 3)
    tampered(tmp_path, CHANGES["the end"])
    words: tuple[str, ...] = ("audit", "acknowledge", "--why", "a restore")
    noted = await asyncio.to_thread(moot, *words, cwd=tmp_path)
    assert noted.returncode == 0, noted.stderr
    assert (await verify(tmp_path))[0] == 0
    again = await asyncio.to_thread(moot, *words, cwd=tmp_path)
    assert "nothing to acknowledge" in again.stdout
