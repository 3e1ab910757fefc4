"""The whole way: `moot run`, a schedule, and a kill -9 around the moment that it is due."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.service import Service, service
from tests.test_signin_whole import printed
from tests.test_upkeep_whole import say

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[scheduling]
grace_s = 60
[[schedules]]
room = "web:general"
persona = "demo"
when = "day 0:00"
text = "one from the file"
missed = "skip"
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
AHEAD_S = 2.0


async def api(running: Service, path: str, **body: Any) -> Any:
    async with aiohttp.ClientSession(running.url, headers=running.headers) as client:
        method = "POST" if body else "GET"
        async with client.request(method, path, json=body or None) as got:
            assert got.status == 200, await got.text()
            return await got.json()


def bring_forward(database: Path, seq: int) -> float:
    """Let it be due in a moment; when."""
    due = time.time() + AHEAD_S
    with sqlite3.connect(database) as connection:
        change = "update schedules set due_at = ? where seq = ?"
        connection.execute(change, (round(due * 1e6), seq))
    connection.close()
    return due


async def test_a_kill_around_its_moment_runs_it_once(tmp_path: Path) -> None:
    """Five times; before, in, and after the moment."""
    database = tmp_path / "data" / "moot.db"
    async with service(tmp_path, CONFIG) as running:
        await say(running.url, "andi", "!status")
        wish = {"room_id": "web:general", "persona": "demo", "text": "tell me the time"}
        made = await api(running, "/api/schedules", **wish, when="month 0:00", by="web:andi")
        assert [one["configured"] for one in (await api(running, "/api/schedules"))["schedules"]]
        await running.stop()
        for number in range(1, 6):
            due = bring_forward(database, made["id"])
            await running.start()
            await asyncio.sleep(max(due - time.time() + random.uniform(-0.1, 0.4), 0.0))
            await running.kill()
            await running.start()
            async with asyncio.timeout(60):
                while await answered(running) < number:
                    await asyncio.sleep(0.2)
            await running.stop()
        await running.start()
        await asyncio.sleep(1.0)  # for whatever would come twice
        assert await answered(running) == 5
        assert await asked(running) == 5


async def test_what_a_schedule_of_a_token_asks_is_the_tokens_act(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as running:
        await say(running.url, "andi", "!status")
        token = await printed(running, "token", "--name", "ci")
        wish = {"room_id": "web:general", "persona": "demo", "when": "month 0:00", "text": "hello"}
        by = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(running.url, headers=by) as ci,
            ci.post("/api/schedules", json={**wish, "by": "web:andi"}) as response,
        ):
            made = await response.json()
        assert made["by"]["id"] == "web:andi"
        await running.stop()
        bring_forward(tmp_path / "data" / "moot.db", made["id"])
        await running.start()
        async with asyncio.timeout(60):
            while not (rows := (await api(running, "/api/audit?act=invoke"))["items"]):
                await asyncio.sleep(0.2)
        assert rows[0]["by"]["id"] == "moot:token-ci"
        assert rows[0]["detail"]["in_name_of"] == "web:andi"


async def asked(running: Service) -> int:
    told = (await api(running, "/api/rooms/web:general/messages"))["messages"]
    return sum(one["text"] == "tell me the time" for one in told)


async def answered(running: Service) -> int:
    """How many answers of the persona's stand in the room."""
    told = (await api(running, "/api/rooms/web:general/messages"))["messages"]
    return sum(one["by"]["name"] == "demo" for one in told)
