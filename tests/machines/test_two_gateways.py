"""Two gateways that are started at once on one database: one leads, and one answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tests.conftest import NewUrl
from tests.doubles.matrix import sampled
from tests.doubles.ports import free_port
from tests.doubles.service import Service
from tests.doubles.slack import BOT_USER, SlackDouble
from tests.doubles.two import made
from tests.machines.house import logged, until

CONFIG = """
[access]
rooms = "open"
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{slack}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
TIMES = [str(number) for number in range(100)]


@dataclass
class Two:
    """Gateways of one database, and the ports of their pages."""

    slack: SlackDouble
    ports: dict[int, Service]

    def leading(self) -> list[Service]:
        return [one for one in self.ports.values() if logged(one, "lead.ours")]

    def waiting(self) -> list[Service]:
        return [one for one in self.ports.values() if logged(one, "gateway.stands_by")]


@asynccontextmanager
async def two_at_once(folder: Path, url: str) -> AsyncIterator[Two]:
    """Both are starting."""
    async with SlackDouble.open() as slack:
        two, config = Two(slack, {}), CONFIG.format(slack=slack.api_url)
        for name in ("first", "second"):
            port = free_port()
            two.ports[port] = made(folder / name, config, url, port, slack.secrets)
        try:
            await asyncio.gather(*(one.begin() for one in two.ports.values()))
            yield two
        finally:
            for one in two.ports.values():
                with suppress(ProcessLookupError):
                    await one.kill()


async def status(port: int, path: str) -> int:
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status


@pytest.mark.parametrize("time", sampled(TIMES, *TIMES[:2]))
async def test_one_leads_and_one_answers(tmp_path: Path, new_url: NewUrl, time: str) -> None:
    async with two_at_once(tmp_path, await new_url("postgresql")) as two:
        await until(lambda: two.leading() and two.waiting(), "one leads, and one stands by")
        assert len(two.leading()) == len(two.waiting()) == 1
        await two.slack.delivery.connected()
        asked = await two.slack.say(f"<@{BOT_USER}> echo word")
        await until(lambda: "word" in two.slack.texts(), "it is answered")
        await two.slack.delivery.settled()
        ports = {logged(one, "lead.ours") != []: port for port, one in two.ports.items()}
        await two.ports[ports[True]].serving()  # its bots may be there before its page
        assert await status(ports[True], "/healthz") == 200
        assert await status(ports[False], "/healthz") == 503
        posts = two.slack.messages["C0GENERAL"].values()
        assert [one["text"] for one in posts if one.get("thread_ts") == asked] == ["word"]
        assert two.slack.delivery.connections == 1
