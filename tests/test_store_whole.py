"""The whole way: a database that takes nothing is seen from outside, and so is its recovery."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import aiohttp
import pytest

from tests.doubles import postgres
from tests.doubles.service import HOUSE, Service, service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'
TOKEN = "a-token-of-the-owner-0123456789"
_NUMBERS = count(1)


async def health(moot: Service, *, signed: bool = True) -> tuple[int, dict[str, object]]:
    headers = {"Authorization": f"Bearer {TOKEN}"} if signed else {}
    async with (
        aiohttp.ClientSession(headers=headers) as client,
        client.get(f"{moot.url}healthz") as answer,
    ):
        return answer.status, await answer.json()


async def becomes(moot: Service, state: str) -> None:
    """Wait until /healthz says so of the database, and compare all who say it."""
    status = 200 if state == "ok" else 503
    async with asyncio.timeout(40):
        while (await health(moot))[1]["detail"]["store"] != state:  # type: ignore[index]
            await asyncio.sleep(0.1)
    told = await health(moot)
    assert (told[0], told[1]["ok"]) == (status, state == "ok")
    status, plain = await health(moot, signed=False)
    assert (status, plain["ok"]) == (told[0], state == "ok")
    if state == "ok":
        assert "store" not in plain
    else:
        assert re.fullmatch(rf"{state} since \d{{4}}-\d\d-\d\dT[\d:]{{8}}Z", str(plain["store"]))


async def get(moot: Service, path: str) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession(headers=headers) as client,
        client.get(f"{moot.url}{path}") as answer,
    ):
        assert answer.status == 200
        return await answer.text()


async def say(moot: Service, words: str = "hello") -> tuple[int, str]:
    body = {
        "content": words,
        "room": "web:general",
        "message_id": f"m{next(_NUMBERS)}",
        "metadata": {
            "source": "web",
            "sender_id": "web:ana",
            "sender_display_name": "Ana",
            "sender_type": "human",
        },
    }
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as client,
        client.post(f"{moot.url}api/submit", json=body) as answer,
    ):
        return answer.status, await answer.text()


async def check(moot: Service) -> str:
    """The words of `moot check`."""
    result = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", "from gateway.main import main; main()", "check", "--offline"],
        cwd=moot.folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(moot.folder),
            "MOOT_HOME": str(moot.folder),
            "PYTHONPATH": str(HOUSE),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return result.stdout + result.stderr


async def refused(moot: Service, state: str, why: str, remedy: str) -> None:
    """A message is refused with a sentence, and everybody who asks is told so."""
    status, text = await say(moot)
    assert status == 503
    assert why in text
    await becomes(moot, state)
    assert why in (told := await check(moot))
    assert remedy in told
    assert "moot_store_up 0.0" in (figures := await get(moot, "metrics"))
    assert re.search(rf'moot_store_refusals_total{{why="{state}"}} [1-9]', figures)
    overview = await get(moot, "api/admin/overview")
    assert why[1:] in overview
    assert remedy[1:] in overview


async def taken(moot: Service) -> None:
    """It takes messages again, and nobody says anything else."""
    await becomes(moot, "ok")
    assert (await say(moot))[0] in (200, 201, 202)
    assert "moot_store_up 1.0" in await get(moot, "metrics")
    assert "othing can be stored" not in await check(moot)
    assert "othing can be stored" not in await get(moot, "api/admin/overview")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


FULL = ("the disk of the database is full", "make room on the disk of the database")
AWAY = ("the database takes no writes", "put its file back")


async def test_a_full_disk_is_seen_and_so_is_room(tmp_path: Path, small_disk: Path) -> None:
    config = f'{CONFIG}data_dir = "{small_disk}/data"\n'
    async with service(tmp_path, config, MOOT_TOKEN=TOKEN) as moot:
        await taken(moot)
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):  # there is no room left
            while True:
                file.write(bytes(4096))
        await becomes_full(moot)
        await refused(moot, "full", *FULL)
        ballast.unlink()
        await taken(moot)
        assert moot.log().count("store.refused") == moot.log().count("store.well") >= 1
        assert "Traceback" not in moot.log()


async def becomes_full(moot: Service) -> None:
    """Say something until the log of SQLite has no room left in itself either."""
    async with asyncio.timeout(60):
        while (await say(moot, "x" * 20_000))[0] != 503:
            pass


async def test_a_quota_is_a_full_disk(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG, MOOT_TOKEN=TOKEN) as moot:
        await taken(moot)
        log = tmp_path / "data" / "moot.db-wal"
        _, hard = resource.prlimit(moot.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(moot.pid, resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
        await becomes_full(moot)
        await refused(moot, "full", *FULL)
        resource.prlimit(moot.pid, resource.RLIMIT_FSIZE, (hard, hard))
        await taken(moot)


async def test_a_locked_database_is_away_until_it_is_let_go(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG, MOOT_TOKEN=TOKEN) as moot:
        with closing(sqlite3.connect(tmp_path / "data" / "moot.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            await refused(moot, "away", *AWAY)
            other.rollback()
            await taken(moot)


async def test_a_database_that_was_moved_away_takes_nothing_until_it_is_back(
    tmp_path: Path,
) -> None:
    async with service(tmp_path, CONFIG, MOOT_TOKEN=TOKEN) as moot:
        await taken(moot)
        data = tmp_path / "data"
        (data / "moot.db").rename(tmp_path / "moved")
        await refused(moot, "away", *AWAY)
        (data / "moot.db").write_bytes(b"")
        await refused(moot, "away", *AWAY)
        (tmp_path / "moved").rename(data / "moot.db")
        await taken(moot)


async def test_a_stopped_database_is_seen_without_moot_and_by_it(tmp_path: Path) -> None:
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    with postgres.stopped_server() as folder:
        with postgres.running(folder):
            url = await postgres.new_database(folder)
            config = f'{CONFIG}[store]\nurl = "{url}"\n'
            async with service(tmp_path, config, MOOT_TOKEN=TOKEN) as moot:
                await taken(moot)
        assert "the database takes no writes" in await check(moot)


async def test_a_server_that_is_stopped_and_started_is_away_in_between(tmp_path: Path) -> None:
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    with postgres.stopped_server() as folder:
        first = postgres.running(folder)
        first.__enter__()
        try:
            url = await postgres.new_database(folder)
            config = f'{CONFIG}[store]\nurl = "{url}"\n'
            async with service(tmp_path, config, MOOT_TOKEN=TOKEN) as moot:
                await taken(moot)
                first.__exit__(None, None, None)
                await refused(moot, "away", *AWAY)
                with postgres.running(folder):
                    await taken(moot)
                    await moot.stop()
                assert "Traceback" not in moot.log()
        finally:
            first.__exit__(None, None, None)
