"""The cost of one event and one post, beside a bare slack-bolt bot against the same double.

    python -m bench.slack [rounds]

An event: from the frame on the socket until it is in the hands of the receiver. A post: the call
as a whole. Both bots and the double share one process, so the double's own share is in both.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bots.slack.bot import SlackApp, SlackBot
from contract.chat import Destination, Event, Room
from tests.doubles.bot_setup import bot_setup
from tests.doubles.slack import GENERAL, SlackDouble

TEXT = "Why is the **token** expiry only `15 minutes`?\n\n- one\n- two"


class Stopwatch:
    """Times of the events, from the socket to here."""

    def __init__(self, slack: SlackDouble) -> None:
        self.slack, self.times, self.came = slack, list[float](), asyncio.Event()

    async def receive(self, _: Event | None = None) -> None:
        self.times.append(time.perf_counter() - self.slack.delivery.envelopes[-1].sent_at)
        self.came.set()

    async def events(self, rounds: int) -> list[float]:
        for _ in range(rounds + 20):
            self.came.clear()
            await self.slack.say(TEXT)
            await self.came.wait()
            await self.slack.delivery.settled()
        return self.times[20:]


async def bare(rounds: int) -> tuple[list[float], list[float]]:
    async with SlackDouble.open(echo_own=False) as slack:
        watch = Stopwatch(slack)
        app = AsyncApp(client=AsyncWebClient(token=slack.bot_token, base_url=slack.api_url))

        @app.event("message")
        async def said(event: dict[str, Any]) -> None:
            await watch.receive()

        web_client = AsyncWebClient(token=slack.app_token, base_url=slack.api_url)
        handler = AsyncSocketModeHandler(app, slack.app_token, web_client=web_client)
        await handler.connect_async()  # type: ignore[no-untyped-call]
        await slack.delivery.connected()
        events, posts = await watch.events(rounds), list[float]()
        for _ in range(rounds):
            start = time.perf_counter()
            await app.client.chat_postMessage(channel=GENERAL, text=TEXT)
            posts.append(time.perf_counter() - start)
        await handler.close_async()  # type: ignore[no-untyped-call]
    return events, posts


async def ours(rounds: int) -> tuple[list[float], list[float]]:
    async with SlackDouble.open(echo_own=False) as slack:
        watch = Stopwatch(slack)
        folder = Path(tempfile.mkdtemp())
        bot = SlackBot(
            bot_setup("slack", folder),
            SlackApp(slack.bot_token, slack.app_token, api_url=slack.api_url),
        )
        task = asyncio.create_task(bot.run(watch.receive), name="run")
        await slack.delivery.connected()
        events, posts = await watch.events(rounds), list[float]()
        place = Destination(Room(f"slack:{GENERAL}", "general"))
        for number in range(rounds):
            start = time.perf_counter()
            await bot.post(place, TEXT, f"key-{number}")
            posts.append(time.perf_counter() - start)
        task.cancel()
        await asyncio.wait({task})
    return events, posts


async def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for name, measured in (
        ("bare slack-bolt", await bare(rounds)),
        ("SlackBot", await ours(rounds)),
    ):
        event, post = (statistics.median(times) * 1000 for times in measured)
        print(f"{name:16} event {event:6.2f} ms   post {post:6.2f} ms   (medians of {rounds})")


if __name__ == "__main__":
    asyncio.run(main())
