"""The whole way with two gateways on one database: one leads, and nothing is said twice."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tests.doubles import postgres
from tests.doubles.running import until
from tests.doubles.service import Service
from tests.doubles.slack import BOT_USER, GENERAL, SlackDouble
from tests.doubles.two import logged, made, two

CONFIG = """
[access]
rooms = "open"
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
[agents.demo]
profile = "demo"
"""


@dataclass
class Pair:
    """Two gateways: the first leads, the second stands by. second_port: where it listens."""

    slack: SlackDouble
    first: Service
    second: Service
    second_port: int

    async def ask(self, text: str) -> str:
        return await self.slack.say(f"<@{BOT_USER}> {text}")

    def answers(self) -> Counter[str]:
        """The number of answers to each question; a draft is one."""
        posts = self.slack.messages[GENERAL].values()
        return Counter(
            one["thread_ts"]
            for one in posts
            if one.get("user") == BOT_USER and one["text"].startswith(("word", "I take "))
        )

    async def answered(self, asked: list[str]) -> None:
        """Wait until each question has its answer and nothing more is posted."""
        async with asyncio.timeout(60):
            while not self.answers().keys() >= set(asked):
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.5)
        assert self.answers() == Counter(asked)


@asynccontextmanager
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(api_url=slack.api_url)
        async with two(tmp_path, config, **slack.secrets) as both:
            await slack.delivery.connected()
            yield Pair(slack, both.first, both.second, both.port)


async def get(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def test_who_stands_by_says_who_leads_and_takes_over_from_one_that_was_killed(
    tmp_path: Path,
) -> None:
    async with pair(tmp_path) as house:
        status, told = await get(house.second_port, "/healthz")
        assert status == 503
        assert f":{house.first.pid}:" in told
        assert (await get(house.second_port, "/healthz?standby=ok"))[0] == 200
        assert (await get(house.second_port, "/api/rooms"))[0] == 401
        status, told = await get(house.second_port, "/api/events")
        assert status == 503
        assert "another one leads" in told
        assert house.slack.delivery.connections == 1
        asked = [await house.ask("slow"), await house.ask("echo word 1")]
        await logged(house.first, "agent.asked")
        await house.first.kill()
        began = time.perf_counter()
        asked += [await house.ask(f"echo word {n}") for n in (2, 3)]
        await house.second.serving()
        await until(lambda: bool(set(house.answers()) & set(asked)))
        print("first post after", round(time.perf_counter() - began, 2))
        await house.answered(asked)
        assert "audit.broken" not in house.second.log()
        assert "Traceback" not in house.second.log()


async def test_a_leader_that_was_stopped_says_nothing_when_it_wakes(tmp_path: Path) -> None:
    async with pair(tmp_path) as house:
        asked = [await house.ask("slow"), await house.ask("echo word 1")]
        await logged(house.first, "agent.asked")
        os.kill(house.first.pid, signal.SIGSTOP)
        try:
            await house.second.serving()
            asked.append(await house.ask("echo word 2"))
            await house.answered(asked)
        finally:
            os.kill(house.first.pid, signal.SIGCONT)
        assert await house.first.ended() == 2
        assert "turn.crashed" not in house.first.log()
        assert "another gateway leads" in house.first.log()
        asked.append(await house.ask("echo word 3"))
        await house.answered(asked)


async def test_a_leader_that_ends_is_followed_at_once(tmp_path: Path) -> None:
    async with pair(tmp_path) as house:
        asked = [await house.ask("echo word 1")]
        await house.answered(asked)
        await house.first.stop()
        await house.second.serving()
        asked.append(await house.ask("echo word 2"))
        await house.answered(asked)
        assert "Traceback" not in house.first.log() + house.second.log()


async def test_one_alone_answers_what_was_said_while_its_database_was_away(tmp_path: Path) -> None:
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    async with postgres.own_server() as (server, url), SlackDouble.open() as slack:
        config = CONFIG.format(api_url=slack.api_url)
        moot = made(tmp_path / "only", config, url, 0, slack.secrets)
        try:
            await moot.start()
            await slack.delivery.connected()
            house = Pair(slack, moot, moot, 0)
            asked = [await house.ask("slow"), await house.ask("echo word 0")]
            await logged(moot, "agent.asked")
            server.kill()
            asked += [await house.ask(f"echo word {n}") for n in (1, 2)]
            await slack.delivery.settled()  # Slack has given up
            server.start()
            await logged(moot, "bot.reads_again")
            asked.append(await house.ask("echo word 3"))
            await house.answered(asked)
            assert moot.log().count('"agent.asked"') == len(asked)
            assert "Traceback" not in moot.log()
        finally:
            await moot.stop()
