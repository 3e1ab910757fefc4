"""Forgetting reaches the broker and the workers' disks, at once or when a worker is back."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from pathlib import Path

from gateway.workers.credentials import FOLDER, GATEWAY, Key
from gateway.workers.link import HOMES, Link
from tests.doubles.obedience import furnish, say
from tests.doubles.service import service
from tests.test_commands import moot as command
from tests.test_workers_whole import House, house, until

WORD = "kestrel4711"


def holding(folder: Path, worker: str) -> list[Path]:
    """The files below a worker's scopes that hold the word."""
    files = [path for path in (folder / worker).rglob("*") if path.is_file()]
    return [path for path in files if "scopes" in path.parts and WORD.encode() in path.read_bytes()]


def noted(folder: Path) -> set[str]:
    """The places that still have something to delete."""
    with sqlite3.connect(folder / "data" / "moot.db") as base:
        return {place for (place,) in base.execute("SELECT place FROM worker_erasures")}


async def records(moot: House) -> list[str]:
    """The sessions of which the broker has a record."""
    key = Key.read(moot.folder / "data" / FOLDER / f"{GATEWAY}.nk")
    async with Link.open(moot.broker.url, key, GATEWAY) as link:
        return await link.names(HOMES)


async def test_what_is_forgotten_goes_from_the_broker_and_from_a_worker(tmp_path: Path) -> None:
    async with house(tmp_path, "demo") as moot:
        await moot.ask(f"echo {WORD}")
        there = moot.busy().name
        assert holding(tmp_path, there)
        assert len(await records(moot)) == 1
        await moot.ask("echo stays", who="ben")
        told = await moot.ask("!forget all")
        assert told.endswith("Its own record of it is gone, too.")
        assert holding(tmp_path, there) == []
        assert len(await records(moot)) == 1  # ben's
        assert noted(tmp_path) == set()
        assert WORD not in await moot.ask("history")
        assert "stays" in await moot.ask("history", who="ben")


async def test_a_worker_that_is_away_deletes_it_when_it_is_back(tmp_path: Path) -> None:
    async with house(tmp_path, "demo") as moot:
        await moot.ask(f"echo {WORD}")
        there = moot.busy()
        there.end(signal.SIGKILL)
        await until(lambda: "worker.lost" in moot.moot.log())
        told = await moot.ask("!forget all")
        assert told.endswith(f"not gone yet from {there.name}: it goes there later.")
        assert WORD not in await moot.ask("history")  # the other one was told nothing
        assert holding(tmp_path, there.name)
        await moot.moot.kill()
        await moot.moot.start()
        assert noted(tmp_path) == {there.name}
        there.start(MOOT_DEMO_PACE="0")
        await until(lambda: noted(tmp_path) == set())
        assert holding(tmp_path, there.name) == []


async def test_a_person_who_is_deleted_while_moot_is_stopped_goes_from_workers_at_its_next_start(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, "demo") as moot:
        await moot.ask(f"echo {WORD}")
        there = moot.busy()
        [other] = [name for name in moot.workers if name != there.name]
        await moot.moot.stop()
        words = ("memory", "delete-person", "web:ana", "--yes")
        done = await asyncio.to_thread(command, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "not yet deleted" in done.stdout
        assert holding(tmp_path, there.name)
        moot.workers[other].end(signal.SIGKILL)
        assert noted(tmp_path) == {"", "w1", "w2"}
        await moot.moot.start()
        await until(lambda: noted(tmp_path) == {other})
        assert holding(tmp_path, there.name) == []
        assert await records(moot) == []
        assert not list((tmp_path / there.name).rglob("scopes/*ana*"))
        gone = await asyncio.to_thread(command, "worker", "remove", other, cwd=tmp_path)
        assert gone.returncode == 0, gone.stderr
        await until(lambda: noted(tmp_path) == set())  # it is let in no more


async def test_on_the_gateways_own_machine_a_record_goes_and_what_was_worked_on_stays(
    tmp_path: Path,
) -> None:
    config = furnish(tmp_path)
    (tmp_path / "personas" / "ash.md").write_text("---\nagent: demo\n---\nYou are ash.\n")
    async with service(tmp_path, config, MOOT_DEMO_PACE="0") as moot:
        await say(moot.url, "ana", f"echo {WORD}")
        [work] = (tmp_path / "data" / "scopes").glob("*ana*/ash/work")
        (work / "report.md").touch()
        assert holding(tmp_path, "data")
        told = await say(moot.url, "ana", "!forget all")
        assert told["replies"][0]["text"].endswith("Its own record of it is gone, too.")
        assert holding(tmp_path, "data") == []
        assert (work / "report.md").exists()
        told = await say(moot.url, "ana", "history")
        assert WORD not in told["replies"][0]["text"]
