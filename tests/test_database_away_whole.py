"""The whole way with a PostgreSQL that goes away: every question is answered, and answered once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.doubles import postgres
from tests.doubles.postgres_proxy import proxy
from tests.doubles.service import Service, service

TOKEN = "a-token-of-the-owner-0123456789"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def _there_is_one() -> None:
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")


def config(url: str, patience_s: float = 60) -> str:
    return f'[gateway]\nlisten = "127.0.0.1:0"\n[store]\nurl = "{url}"\npatience_s = {patience_s}\n'


async def submit(moot: Service, number: str, words: str, room: str = "web:general") -> int:
    body = {
        "content": words,
        "room": room,
        "message_id": number,
        "metadata": {
            "source": "web",
            "sender_id": "web:ana",
            "sender_display_name": "Ana",
            "sender_type": "human",
        },
    }
    async with (
        aiohttp.ClientSession(headers=HEADERS) as client,
        client.post(f"{moot.url}api/submit", json=body) as answer,
    ):
        return answer.status


async def get(moot: Service, path: str) -> object:
    async with (
        aiohttp.ClientSession(headers=HEADERS) as client,
        client.get(f"{moot.url}{path}") as answer,
    ):
        return json.loads(await answer.text())


async def deliver(moot: Service, number: str, words: str, room: str = "web:general") -> None:
    """Say something as a platform does: again, until it is taken."""
    async with asyncio.timeout(40):
        while (status := await submit(moot, number, words, room)) != 200:
            assert status == 503
            await asyncio.sleep(0.2)


async def answered(moot: Service, *begins: str, room: str = "web:general") -> None:
    """Wait until a room's answers begin so, each once, and nothing else is said."""
    async with asyncio.timeout(60):
        while True:
            told = await get(moot, f"api/rooms/{room}/messages")
            if isinstance(told, dict) and "messages" in told and not told["turns"]:
                found = [one["text"] for one in told["messages"] if one["turn_id"]]
                if len(found) >= len(begins):
                    break
            await asyncio.sleep(0.2)
    assert sorted(text[:8] for text in found) == sorted(text[:8] for text in begins)


@asynccontextmanager
async def over_postgresql(
    tmp_path: Path, patience_s: float = 60
) -> AsyncIterator[tuple[Service, postgres.Server]]:
    """Moot, and the server that it keeps everything in."""
    async with (
        postgres.own_server() as (server, url),
        service(tmp_path, config(url, patience_s), MOOT_TOKEN=TOKEN) as moot,
    ):
        yield moot, server


async def test_turns_under_way_and_behind_them_wait_for_a_database_that_was_killed(
    tmp_path: Path,
) -> None:
    async with over_postgresql(tmp_path) as (moot, server):
        await deliver(moot, "m1", "@demo slow")
        for n in (2, 3):
            await deliver(moot, f"m{n}", f"@demo echo queued {n}")
        async with asyncio.timeout(20):
            while "agent.asked" not in moot.log():
                await asyncio.sleep(0.05)
        server.kill()
        assert await submit(moot, "m4", "@demo echo refused") == 503
        told = await get(moot, "healthz")
        assert isinstance(told, dict)
        assert told["ok"] is False
        assert told["store"].startswith("away since 20")
        async with asyncio.timeout(20):
            while "agent.answered" not in moot.log():  # it is kept
                await asyncio.sleep(0.1)
        server.start()
        await deliver(moot, "m4", "@demo echo refused")
        await answered(moot, "I take m", "queued 2", "queued 3", "refused")
        assert moot.log().count("agent.asked") == 4
        assert "Traceback" not in moot.log()


async def test_a_turn_that_waited_too_long_is_taken_up_by_itself(tmp_path: Path) -> None:
    async with over_postgresql(tmp_path, patience_s=0.5) as (moot, server):
        await deliver(moot, "m1", "@demo echo first")
        await deliver(moot, "m2", "@demo echo second")
        server.kill()
        async with asyncio.timeout(20):
            while "turn.put_aside" not in moot.log():
                await asyncio.sleep(0.1)
        server.start()
        await answered(moot, "first", "second")
        assert "Traceback" not in moot.log()


async def test_a_commit_whose_outcome_nobody_knows_is_there_once(tmp_path: Path) -> None:
    with postgres.server() as folder:
        url = await postgres.new_database(folder)
        async with proxy(folder) as between:
            url = url.partition("?")[0].replace("moot@", f"moot@127.0.0.1:{between.port}")
            async with service(tmp_path, config(url), MOOT_TOKEN=TOKEN) as moot:
                between.cut_every = 3
                words = [f"{n} is said" for n in range(8)]
                for n, text in enumerate(words):
                    await deliver(moot, f"m{n}", f"@demo echo {text}", f"web:{n % 2}")
                for room in (0, 1):
                    await answered(moot, *words[room::2], room=f"web:{room}")
                assert between.cuts > 5
                between.cut_every = 0
                assert moot.log().count("agent.asked") == len(words)
                assert "Traceback" not in moot.log()
