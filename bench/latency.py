"""How much later an answer comes with Moot than with a bare bot: `python -m bench.latency`.

One question after the other, in blocks that alternate between the two, each asked as soon as the
one before is answered. A time is from the event sent to chat.postMessage received.
"""

from __future__ import annotations

import argparse
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
    TimedSlack,
    arguments,
    bare,
    cpu_s,
    moot,
    run,
    share,
    spread_ms,
)

WARM_UP = 10
STEPS = ("agent ready", "brief", "compose", "agent", "record", "post")


@dataclass(slots=True)
class Steps:
    """Where Moot's time goes: milliseconds of each turn, by step."""

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
    slack: TimedSlack, text: str, first: int, size: int
) -> list[tuple[float, float, Arrival]]:
    """Seconds, time.time() at the event, and arrival of each."""
    results = []
    for number in range(first, first + size):
        wall, begin = time.time(), time.perf_counter()
        arrival = await slack.ask("C0GENERAL", text, number)
        results.append((arrival.at - begin, wall, arrival))
    return results


async def records(url: str, turns: Sequence[str]) -> list[dict[str, Any]]:
    """What Moot has on record of these turns."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as http:
        found = []
        for turn in turns:
            async with http.get(f"{url.rstrip('/')}/api/turns/{turn}") as answer:
                found.append(json.loads(await answer.read()))
        return found


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """Blocks of both, then the ratio."""
    ours: list[float] = []
    theirs: list[float] = []
    steps = Steps()
    our_cpu_s = their_cpu_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        async with moot(Path(folder), asked) as (slack, running), bare() as (bare_slack, bot):
            await block(slack, asked.text, 0, WARM_UP)
            await block(bare_slack, ECHO, 0, WARM_UP)
            for number in range(given.blocks):
                first = WARM_UP + number * given.size
                our_cpu_s -= cpu_s(running.pid)
                taken = await block(slack, asked.text, first, given.size)
                our_cpu_s += cpu_s(running.pid)
                ours += [seconds for seconds, _, _ in taken]
                told = await records(running.url, [arrival.turn for _, _, arrival in taken])
                for record, (_, wall, arrival) in zip(told, taken, strict=True):
                    steps.add(record, wall, arrival)
                their_cpu_s -= cpu_s(bot.pid)
                taken = await block(bare_slack, ECHO, first, given.size)
                their_cpu_s += cpu_s(bot.pid)
                theirs += [seconds for seconds, _, _ in taken]
    print(f"latency of {len(ours)} answers one after the other")
    print(f"  Moot      {spread_ms(ours)}")
    print(f"  bare bot  {spread_ms(theirs)}")
    print("  ratio     " + "  ".join(f"p{p} {ratio(ours, theirs, p):7.2f}" for p in (50, 90, 99)))
    ours_ms, theirs_ms = (cpu * 1e3 / len(ours) for cpu in (our_cpu_s, their_cpu_s))
    print(f"  CPU of the bot's process for an answer: {ours_ms:.2f} and {theirs_ms:.2f} ms")
    print("  where Moot's time goes:")
    steps.print()
    if asked == Asked():
        agent = await alone(steps.header, len(ours))
        print(f"    the demo agent alone, same prompt p50 {statistics.median(agent) * 1e3:6.2f} ms")


def ratio(ours: Sequence[float], theirs: Sequence[float], percent: int) -> float:
    return share(ours, percent / 100) / share(theirs, percent / 100)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--size", type=int, default=50, help="answers in a block")


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
