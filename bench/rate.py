"""The rate of answers: `python -m bench.rate`. Both bots, 50 channels.

First so many mentions a second whether they are answered or not, then as many as it takes: in
every channel the next mention as soon as the last is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from itertools import count
from pathlib import Path

from bench.rig import ANSWER_S, ECHO, Asked, TimedSlack, arguments, bare, moot, run, share, warm


async def offered(
    slack: TimedSlack, rooms: list[str], text: str, numbers: count[int], rate: float, for_s: float
) -> str:
    """Mentions at a fixed rate; what became of them."""
    begin = time.perf_counter()
    asked = []
    for number in range(int(rate * for_s)):
        await asyncio.sleep(max(begin + number / rate - time.perf_counter(), 0))
        work = slack.seconds(rooms[number % len(rooms)], text, next(numbers))
        asked.append(asyncio.create_task(work, name=f"ask {number}"))
    await asyncio.sleep(max(begin + for_s - time.perf_counter(), 0))
    backlog = sum(not task.done() for task in asked)
    sent_s = time.perf_counter() - begin
    await asyncio.wait(asked, timeout=ANSWER_S)
    taken = [task.result() for task in asked if task.done() and not task.exception()]
    return (
        f"offered {len(asked) / sent_s:6.1f}/s, answered {(len(asked) - backlog) / sent_s:6.1f}/s,"
        f" p50 {share(taken, 0.5) * 1e3:7.1f} p99 {share(taken, 0.99) * 1e3:7.1f} ms,"
        f" backlog at the end {backlog}, never answered {len(asked) - len(taken)}"
    )


async def most(
    slack: TimedSlack, rooms: list[str], text: str, numbers: count[int], for_s: float
) -> str:
    """One mention under way in every room, all the time."""
    end = time.perf_counter() + for_s
    taken: list[float] = []

    async def keep_asking(room: str) -> None:
        while time.perf_counter() < end:
            taken.append(await slack.seconds(room, text, next(numbers)))

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for room in rooms:
            group.create_task(keep_asking(room), name=f"ask in {room}")
    rate = len(taken) / (time.perf_counter() - begin)
    p50, p99 = (share(taken, part) * 1e3 for part in (0.5, 0.99))
    return f"at most {rate:6.1f}/s, p50 {p50:7.1f} p99 {p99:7.1f} ms"


async def both(name: str, slack: TimedSlack, given: argparse.Namespace, text: str) -> None:
    """The two figures of one bot."""
    rooms, numbers = slack.rooms(given.rooms), count(10_000)
    await warm(slack, rooms, text, 0)
    steady = await offered(slack, rooms, text, numbers, given.rate, given.seconds)
    print(f"  {name:9} {steady}")
    print(f"  {name:9} {await most(slack, rooms, text, numbers, given.seconds)}")


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """Moot, then the bare bot."""
    print(f"rate over {given.rooms} channels, {given.seconds:g} s each")
    with tempfile.TemporaryDirectory() as folder:
        async with moot(Path(folder), asked) as (slack, _):
            await both("Moot", slack, given, asked.text)
    async with bare() as (slack, _):
        await both("bare bot", slack, given, ECHO)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--rate", type=float, default=100.0, help="mentions a second")
    parser.add_argument("--seconds", type=float, default=10.0)


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
