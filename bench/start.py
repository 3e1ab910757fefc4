"""The time until it is there: `python -m bench.start`. Medians, from the start of the process.

The mention waits at Slack before the process is started. The first start makes the database; the
others find it. The processor's time is that of the process until then: other work on the machine
makes seconds by the clock long, and changes it by a fifth.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import aiohttp

from bench.rig import ANSWER_S, ECHO, Asked, TimedSlack, arguments, bare_bot, cpu_s, run, tokens
from bench.slack_api import ASK, EchoModel, install
from tests.doubles.service import Service

Took = tuple[float, float]
"""Seconds by the clock, and of the processor."""


async def by_page(folder: Path, asked: Asked, number: int) -> tuple[Took, Took]:
    """To the page, and to the first answer of POST /api/submit with `wait`."""
    folder.mkdir(exist_ok=True)
    (folder / "moot.toml").write_text(asked.config(None), encoding="utf-8")
    running = Service(folder)
    begin = time.perf_counter()
    await running.start()
    try:
        up = time.perf_counter() - begin, cpu_s(running.pid)
        body = {
            "content": f"@{asked.persona} {asked.text.format(n=number)}",
            "room": "web:general",
            "source": "web",
            "sender_id": "web:ann",
            "sender_display_name": "Ann",
            "sender_type": "human",
            "wait": ANSWER_S,
        }
        timeout = aiohttp.ClientTimeout(ANSWER_S)
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=running.headers) as http,
            http.post(f"{running.url.rstrip('/')}/api/submit", json=body) as answer,
        ):
            told = await answer.json()
        assert f"word {number}" in told["replies"][0]["text"], told
        return up, (time.perf_counter() - begin, cpu_s(running.pid))
    finally:
        await running.stop()


async def by_slack(folder: Path, asked: Asked, number: int) -> tuple[Took, Took]:
    """To the first answer at Slack, and to the page."""
    async with TimedSlack.open() as slack:
        assert isinstance(slack, TimedSlack)
        folder.mkdir(exist_ok=True)
        (folder / "moot.toml").write_text(asked.config(slack.api_url), encoding="utf-8")
        return await _first(slack, Service(folder, tokens(slack)), asked.text, number)


async def by_slack_api(folder: Path, number: int) -> tuple[Took, Took]:
    """The same with an agent by API."""
    async with TimedSlack.open() as slack, EchoModel().served() as url:
        assert isinstance(slack, TimedSlack)
        return await _first(slack, Service(folder, install(folder, slack, url)), ASK, number)


async def _first(slack: TimedSlack, moot: Service, text: str, number: int) -> tuple[Took, Took]:
    answer = asyncio.create_task(slack.ask("C0GENERAL", text, number), name="first")
    begin = time.perf_counter()
    await moot.begin()
    up = asyncio.create_task(_up(moot, begin), name="page")
    try:
        answered = (await answer).at - begin, cpu_s(moot.pid)
        return answered, await up
    finally:
        await moot.stop()


async def _up(moot: Service, begin: float) -> Took:
    await moot.serving()
    return time.perf_counter() - begin, cpu_s(moot.pid)


async def by_bare_bot(number: int) -> Took:
    """To the bare bot's first answer."""
    async with TimedSlack.open() as slack:
        assert isinstance(slack, TimedSlack)
        answer = asyncio.create_task(slack.ask("C0GENERAL", ECHO, number), name="first")
        begin = time.perf_counter()
        bot = bare_bot(slack)
        await bot.start()
        try:
            return (await answer).at - begin, cpu_s(bot.pid)
        finally:
            await bot.stop()


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """A first start of each kind, then several more."""
    pages, slacks, apis, bares = [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(given.times + 1):
            pages.append(await by_page(folder / "page", asked, number))
            slacks.append(await by_slack(folder / "slack", asked, number))
            apis.append(await by_slack_api(folder / "api", number))
            bares.append(await by_bare_bot(number))
    rows = {
        "page up": [up for up, _ in pages],
        "first answer by /api/submit": [answered for _, answered in pages],
        "first answer by Slack": [answered for answered, _ in slacks],
        "page up, with Slack": [up for _, up in slacks],
        "first answer by Slack, agent by API": [answered for answered, _ in apis],
        "page up, with Slack, agent by API": [up for _, up in apis],
        "bare bot's first answer": bares,
    }
    tell(rows)


def tell(rows: Mapping[str, Sequence[Took]]) -> None:
    """One line each."""
    print("seconds from the start of the process, and of the processor until then")
    print(f"  {'':36} the very first   median of the next")
    for name, took in rows.items():
        first, later = took[0], zip(*took[1:], strict=True)
        next_ = [statistics.median(column) for column in later]
        print(f"  {name:36} {first[0]:6.2f} {first[1]:6.2f}    {next_[0]:6.2f} {next_[1]:6.2f}")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5)


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
