"""The delay of an answer with Moot beside a bare bot's: `python -m bench.latency`.

One question after the other, in blocks that alternate between the two: each asked as soon as the
one before is answered, then again with a rest between them. A time is from the event sent to
chat.postMessage received.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp

from bench.agent_alone import alone
from bench.rig import (
    ECHO,
    Arrival,
    Asked,
    Bare,
    TimedSlack,
    arguments,
    bare,
    cpu_s,
    moot,
    run,
    share,
    spread_ms,
)
from tests.doubles.credentials import headers_of
from tests.doubles.service import Service

WARM_UP = 10
STEPS = ("agent ready", "brief", "compose", "agent", "record", "post")


@dataclass(slots=True)
class Steps:
    """The parts of Moot's time: milliseconds of each turn, by step."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    header: str = ""

    def add(self, record: dict[str, Any], sent: float, arrival: Arrival) -> None:
        """One turn's record, with the times at Slack (time.time())."""
        at = {s["state"]: datetime.fromisoformat(s["at"]).timestamp() for s in record["states"]}
        parts = {
            "event in → on disk and queued": at["queued"] - sent,
            "queued → prompt typed": at["running"] - at["queued"],
            "prompt typed → answer known": at["answered"] - at["running"],
            "answer known → at Slack": arrival.wall - at["answered"],
        }
        for name, seconds in parts.items():
            self.ms.setdefault(name, []).append(seconds * 1e3)
        for timing in record["timings"]:
            if timing["name"] in STEPS:
                self.ms.setdefault(f"  step: {timing['name']}", []).append(timing["ms"])
        self.header = record["header"]

    def print(self) -> None:
        for name, values in self.ms.items():
            print(f"    {name:32} p50 {statistics.median(values):6.2f} ms")


async def block(
    slack: TimedSlack, text: str, first: int, size: int, rest_s: float
) -> list[tuple[float, float, Arrival]]:
    """Seconds, time.time() at the event, and arrival of each."""
    results = []
    for number in range(first, first + size):
        wall, begin = time.time(), time.perf_counter()
        arrival = await slack.ask("C0GENERAL", text, number)
        results.append((arrival.at - begin, wall, arrival))
        await asyncio.sleep(rest_s)
    return results


async def records(url: str, turns: Sequence[str]) -> list[dict[str, Any]]:
    """What Moot has on record of these turns."""
    timeout = aiohttp.ClientTimeout(10)
    async with aiohttp.ClientSession(timeout=timeout, headers=headers_of(url)) as http:
        found = []
        for turn in turns:
            async with http.get(f"{url.rstrip('/')}/api/turns/{turn}") as answer:
                found.append(json.loads(await answer.read()))
        return found


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """Blocks of both without a rest, then with one."""
    with tempfile.TemporaryDirectory() as folder:
        async with moot(Path(folder), asked) as ours, bare() as theirs:
            await block(ours[0], asked.text, 0, WARM_UP, 0)
            await block(theirs[0], ECHO, 0, WARM_UP, 0)
            for first, rest_s in ((WARM_UP, 0.0), (1_000_000, given.rest)):
                await compare(ours, theirs, given, asked, first, rest_s)


async def compare(
    ours: tuple[TimedSlack, Service],
    theirs: tuple[TimedSlack, Bare],
    given: argparse.Namespace,
    asked: Asked,
    first: int,
    rest_s: float,
) -> None:
    """Alternating blocks, and their ratio."""
    (slack, running), (bare_slack, bot) = ours, theirs
    mine: list[float] = []
    other: list[float] = []
    my_cpu_s = other_cpu_s = 0.0
    steps = Steps()
    for number in range(first, first + given.blocks * given.size, given.size):
        my_cpu_s -= cpu_s(running.pid)
        taken = await block(slack, asked.text, number, given.size, rest_s)
        my_cpu_s += cpu_s(running.pid)
        mine += [seconds for seconds, _, _ in taken]
        told = await records(running.url, [arrival.turn for _, _, arrival in taken])
        for record, (_, wall, arrival) in zip(told, taken, strict=True):
            steps.add(record, wall, arrival)
        other_cpu_s -= cpu_s(bot.pid)
        taken = await block(bare_slack, ECHO, number, given.size, rest_s)
        other_cpu_s += cpu_s(bot.pid)
        other += [seconds for seconds, _, _ in taken]
    print(f"latency of {len(mine)} answers one after the other, {rest_s * 1e3:g} ms apart")
    print(f"  Moot      {spread_ms(mine)}   CPU {my_cpu_s * 1e3 / len(mine):5.2f} ms an answer")
    print(f"  bare bot  {spread_ms(other)}   CPU {other_cpu_s * 1e3 / len(mine):5.2f} ms an answer")
    print("  ratio     " + "  ".join(f"p{p} {ratio(mine, other, p):7.2f}" for p in (50, 90, 99)))
    steps.print()
    if asked == Asked():
        agent = await alone(steps.header, len(mine))
        print(f"    the demo agent alone, same prompt p50 {statistics.median(agent) * 1e3:6.2f} ms")


def ratio(ours: Sequence[float], theirs: Sequence[float], percent: int) -> float:
    return share(ours, percent / 100) / share(theirs, percent / 100)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--size", type=int, default=50, help="answers in a block")
    parser.add_argument("--rest", type=float, default=0.02, help="seconds, the second time")


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
