"""A hundred terminals that are drawn ten times a second: the loop's lag, and ends noticed.

    python -m bench.terminals [--terminals 100] [--kinds record,screen] [--quiet 0]

Each terminal is a program of its own (`bench.redrawing`) behind a `CliAgent`, all in the middle of
a turn at once: half with a record and a state like the demo agent's, half described in a few lines
of TOML, whose reply is read from the screen. This process is kept to one core, the programs to the
others. Lag is how late a timer of 5 ms comes. Delay is from the end that a program itself wrote to
the answer of `ask`; beside it stands when agentapi's rule would have seen the same ends
(`bench.stillness`), and how often it would have seen one in mid-turn, since one program in ten
shows nothing new for 2.6 s.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from adapters.agent import Launch
from adapters.cli.session import CliAgent
from adapters.cli_profile import Profile
from adapters.profiles.demo import DEMO
from adapters.profiles.generic import GenericSettings, generic_profile
from bench.rig import share
from bench.stillness import stable_after
from bench.turns import Silent
from contract.errors import AgentError

PROGRAM = Path(__file__).parent / "redrawing.py"
TICK_S = 0.005
JUDGED = 40  # terminals whose output is judged by agentapi's rule as well: each takes 0.2 s
STILL_EACH = 10
END = re.compile(r"The end was at ([\d.]+) exactly")


@dataclass
class Lag:
    """The delay of a timer, in seconds, and this process' CPU time meanwhile."""

    late: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    _task: asyncio.Task[None] | None = None

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)
            self.late.append(loop.time() - due)

    async def __aenter__(self) -> Lag:
        self._task = asyncio.create_task(self._tick(), name="lag")
        self.cpu_s, self.wall_s = time.process_time(), time.perf_counter()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task
        self.cpu_s = time.process_time() - self.cpu_s
        self.wall_s = time.perf_counter() - self.wall_s
        self._task.cancel()

    def row(self) -> str:
        """The percentiles that people compare."""
        lags = "  ".join(f"p{p} {share(self.late, p / 100) * 1e3:5.1f}" for p in (50, 99))
        return (
            f"lag {lags}  max {max(self.late) * 1e3:5.1f} ms, CPU {self.cpu_s / self.wall_s:4.0%}"
        )


@dataclass(frozen=True)
class Asked:
    """One turn. end: what the program wrote; answered: when `ask` returned, both on one clock."""

    number: int
    begin: float
    end: float | None
    answered: float


def profile_of(kind: str, quiet_s: float) -> Profile:
    """The program with a record, or the same one described in TOML."""
    command = [sys.executable, "-I", "-S", str(PROGRAM), kind]
    if kind == "record":
        return replace(DEMO, program=replace(DEMO.program, begin=(*command, "{session_id}")))
    settings = {
        "command": command,
        "ready": r"^❯ ?$",
        "busy": "esc to interrupt",
        "reply": "● ",
        "margin": 2,
        "echo": r"❯ (work .+)",
        "box": r"❯(?: \w*)?$",
    }
    settings |= {"quiet_s": quiet_s} if quiet_s else {}
    return generic_profile("screen", GenericSettings.model_validate(settings))


async def turn(agent: CliAgent, number: int, prompt: str) -> Asked:
    """One ask, with what the program says of its end."""
    begin = time.monotonic()
    answer = await agent.ask(prompt, Silent())
    answered = time.monotonic()
    end = END.search(answer.text)
    return Asked(number, begin, float(end[1]) if end else None, answered)


async def all_turns(agents: Sequence[CliAgent], seed: int, still_each: int) -> list[Asked]:
    """One turn in each, of 5 to 9 s, begun within a second."""
    random = Random(seed)

    async def one(number: int, agent: CliAgent) -> Asked:
        await asyncio.sleep(random.random())
        still = 1.5 if still_each and number // 2 % still_each == 0 else 0
        return await turn(
            agent, number, f"work {5 + 4 * random.random():.2f} still {still} redraw 0"
        )

    return await asyncio.gather(*(one(n, agent) for n, agent in enumerate(agents)))


def spread(seconds: Sequence[float]) -> str:
    return "  ".join(f"p{p} {share(seconds, p / 100) * 1e3:6.0f}" for p in (50, 99)) + " ms"


def size(folder: Path) -> int:
    """Bytes that the programs have written."""
    return sum(path.stat().st_size for path in folder.glob("*/output"))


def report(kind: str, asked: Sequence[Asked], folder: Path) -> None:
    """The delays of one kind of program, and those of agentapi's rule for the same ends."""
    ends = [(each.answered - each.end) for each in asked if each.end is not None]
    early = len(asked) - len(ends)
    judged = [each for each in asked if each.end is not None][: JUDGED // 2]
    rule, ruled_early = [], 0
    for each in judged:
        assert each.end is not None
        seen = stable_after(folder / str(each.number) / "output", each.begin + 0.5, 120, 40)
        ruled_early += seen < each.end
        rule += [seen - each.end] if seen >= each.end else []
    ratio = share(rule, 0.5) / share(ends, 0.5)
    print(f"{kind:7} {len(ends):4} ends noticed after {spread(ends)}, {early} early")
    ruled = f"{len(rule):4} by agentapi's rule {spread(rule)}, {ruled_early} early"
    print(f"        {ruled}; p50 ratio {ratio:.1f}")


async def measure(
    count: int, kinds: Sequence[str], quiet_s: float, folder: Path, cpus: list[int]
) -> None:
    """Start them, let them redraw idle, then in the middle of a turn."""
    env = (("MOOT_BENCH_CPU", str(cpus[-1])),) if len(cpus) > 1 else ()
    kind_of = [kinds[number % len(kinds)] for number in range(count)]
    agents = [
        CliAgent(
            profile_of(kind, quiet_s), Launch(folder / str(n), folder / str(n) / "work", env=env)
        )
        for n, kind in enumerate(kind_of)
    ]
    try:
        for agent in agents:
            await agent.start()
        async with Lag() as still:
            await asyncio.sleep(3)
        print(f"still       {still.row()}")
        await asyncio.gather(
            *(turn(a, n, "work 0.2 still 0 redraw 8") for n, a in enumerate(agents))
        )
        async with Lag() as idle:
            await asyncio.sleep(4)
        print(f"idle, drawn {idle.row()}")
        await asyncio.sleep(4)
        before = size(folder)
        async with Lag() as busy:
            asked = await all_turns(agents, count, STILL_EACH)
        print(f"in turns    {busy.row()}, {(size(folder) - before) / busy.wall_s / 1e6:.1f} MB/s")
        for kind in kinds:
            report(kind, [each for each in asked if kind_of[each.number] == kind], folder)
    except AgentError as error:
        print(error, error.say)
        raise
    finally:
        await asyncio.gather(*(agent.close() for agent in agents))


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--terminals", type=int, default=100)
    parser.add_argument("--kinds", default="record,screen")
    parser.add_argument("--quiet", type=float, default=0.0, help="quiet_s; 0: the default")
    given = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else [0]
    if len(cpus) > 1:
        os.sched_setaffinity(0, {cpus[0]})
    load = os.getloadavg()[0]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {load:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(
            measure(given.terminals, given.kinds.split(","), given.quiet, Path(folder), cpus)
        )


if __name__ == "__main__":
    main()
