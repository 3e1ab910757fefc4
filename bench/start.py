"""The time until it is there: `python -m bench.start`. Medians, from the start of the process.

The mention waits at Slack before the process is started. The first start makes the database; the
others find it.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp

from bench.rig import ANSWER_S, ECHO, Asked, TimedSlack, arguments, bare_bot, run, tokens
from tests.doubles.service import Service


async def by_page(folder: Path, asked: Asked, number: int) -> tuple[float, float]:
    """Seconds to the page, and to the first answer of POST /api/submit with `wait`."""
    folder.mkdir(exist_ok=True)
    (folder / "moot.toml").write_text(asked.config(None), encoding="utf-8")
    running = Service(folder)
    begin = time.perf_counter()
    await running.start()
    try:
        up_s = time.perf_counter() - begin
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
        return up_s, time.perf_counter() - begin
    finally:
        await running.stop()


async def by_slack(folder: Path, asked: Asked, number: int) -> float:
    """Seconds to the first answer at Slack."""
    async with TimedSlack.open() as slack:
        assert isinstance(slack, TimedSlack)
        folder.mkdir(exist_ok=True)
        (folder / "moot.toml").write_text(asked.config(slack.api_url), encoding="utf-8")
        running = Service(folder, tokens(slack))
        answer = asyncio.create_task(slack.ask("C0GENERAL", asked.text, number), name="first")
        begin = time.perf_counter()
        await running.start()
        try:
            return (await answer).at - begin
        finally:
            await running.stop()


async def by_bare_bot(number: int) -> float:
    """Seconds to the bare bot's first answer."""
    async with TimedSlack.open() as slack:
        assert isinstance(slack, TimedSlack)
        answer = asyncio.create_task(slack.ask("C0GENERAL", ECHO, number), name="first")
        begin = time.perf_counter()
        bot = bare_bot(slack)
        await bot.start()
        try:
            return (await answer).at - begin
        finally:
            await bot.stop()


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """A first start of each kind, then several more."""
    pages, slacks, bares = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.times + 1):
            pages.append(await by_page(Path(folder) / "page", asked, number))
            slacks.append(await by_slack(Path(folder) / "slack", asked, number))
            bares.append(await by_bare_bot(number))
    print("seconds from the start of the process (the very first start; median of the next)")
    rows = {
        "page up": [up_s for up_s, _ in pages],
        "first answer by /api/submit": [answered_s for _, answered_s in pages],
        "first answer by Slack": slacks,
        "bare bot's first answer": bares,
    }
    for name, values in rows.items():
        print(f"  {name:28} {values[0]:5.2f}   {statistics.median(values[1:]):5.2f}")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5)


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
