"""The cost of a turn to the driver: the demo agent without pauses, one session and many.

    python -m bench.turns [--sessions 50] [--turns 40] [--rate 2] [--pace 0]

Prints milliseconds of this process' CPU and of wall time for a turn, from the prompt to the
answer over a warm terminal. With a rate, each session begins that many turns a second.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from adapters.agent import Launch, TurnContext
from adapters.cli.session import CliAgent
from adapters.profiles.demo import DEMO
from contract.agent import Question
from contract.work import Work

HEADER = """\
[SESSION CONTEXT]
Room: #bench
You are: @demo (demo agent)
Time: 2026-04-21 14:02 UTC

[RAW TRANSCRIPT — most recent 40 messages]
{lines}
[14:02 | Andi] @demo what do you know?

[CURRENT INVOCATION]
Respond to Andi in room #bench.
"""


class Silent:
    """A room that nobody looks at."""

    occasion = TurnContext()

    def draft(self, text: str) -> None:
        """Not shown."""

    def work(self, work: Work) -> None:
        """Nobody watches."""

    async def choose(self, question: Question) -> int:
        """Refuses."""
        return len(question.options) - 1


async def turns(agent: CliAgent, prompt: str, count: int, interval_s: float) -> list[float]:
    """Wall times of so many turns, in seconds."""
    loop = asyncio.get_running_loop()
    times = []
    due = loop.time()
    for _ in range(count):
        begin = loop.time()
        await agent.ask(prompt, Silent())
        times.append(loop.time() - begin)
        due += interval_s
        await asyncio.sleep(max(due - loop.time(), 0.0))
    return times


async def measure(sessions: int, count: int, rate: float, pace: str, folder: Path) -> None:
    """One row of the table."""
    prompt = HEADER.format(lines="\n".join(f"[14:00 | Budi] line {n}" for n in range(40)))
    env = (("MOOT_DEMO_PACE", pace),)
    agents = [
        CliAgent(DEMO, Launch(folder / str(n), folder / str(n) / "work", env=env))
        for n in range(sessions)
    ]
    begin = time.perf_counter()
    await asyncio.gather(*(agent.start() for agent in agents))
    started = time.perf_counter() - begin
    await asyncio.gather(*(turns(agent, prompt, 2, 0.0) for agent in agents))
    cpu, wall = time.process_time(), time.perf_counter()
    lists = await asyncio.gather(
        *(turns(agent, prompt, count, 1 / rate if rate else 0.0) for agent in agents)
    )
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    idle = time.process_time()
    await asyncio.sleep(1)
    idle = time.process_time() - idle
    for agent in agents:
        await agent.close()
    times = sorted(seconds * 1e3 for each in lists for seconds in each)
    print(
        f"{sessions:4} sessions, {len(times) / wall:7.1f} turns/s:"
        f" CPU {cpu * 1e3 / len(times):5.2f} ms/turn ({cpu / wall:4.0%} of a core),"
        f" wall p50 {statistics.median(times):6.2f} p95 {times[int(len(times) * 0.95)]:6.2f}"
        f" max {times[-1]:6.2f} ms; start {started * 1e3 / sessions:5.1f} ms each;"
        f" idle {idle:6.2%} of a core"
    )


async def main() -> None:
    """One session as fast as it goes, then many at a rate."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--rate", type=float, default=2.0)
    parser.add_argument("--pace", default="0", help="1: each answer streams for 0.2 s")
    given = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    for sessions, count, rate in (
        (1, given.turns * 5, 0.0),
        (given.sessions, given.turns, given.rate),
    ):
        with tempfile.TemporaryDirectory() as folder:
            await measure(sessions, count, rate, given.pace, Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
