"""The command `moot` with a note of every turn of its loop.

The variable `SLICES` names the file it is noted in, a row a turn that took longer than a tenth of a
millisecond: when it began, how long it took, how much of that was its thread's own processor time
(the rest it waited for a core, for another thread, or for a disk), and the functions whose calls
took most of that, each with the sum of its calls, their number and the longest. All in seconds, on
the machine's monotonic clock.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import selectors
import time
from asyncio import events, selector_events
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, Self

NOTED_S = 0.0001
NAMED_S = 0.005  # of processor time: the calls in a shorter turn have no names
NAMES = 4
COLLECTED = "garbage collection"


@dataclass(frozen=True, slots=True)
class Work:
    """One function's calls in a turn."""

    name: str
    sum_s: float
    calls: int
    longest_s: float


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """One turn of a loop: from where it got to know of something, until it waited again."""

    begin: float
    wall_s: float
    cpu_s: float
    work: tuple[Work, ...]

    @classmethod
    def read(cls, line: str) -> Self:
        """A row of the file."""
        begin, wall_s, cpu_s, work = json.loads(line)
        return cls(begin, wall_s, cpu_s, tuple(Work(*one) for one in work))


class NotedSelector(selectors.DefaultSelector):
    """Notes what lies between two of its waits."""

    file: Any = None
    begin = cpu_s = 0.0
    calls: ClassVar[list[tuple[Any, float]]] = []

    def select(self, timeout: float | None = None) -> Any:
        """Wait; the turn before is over with it."""
        noted, now = NotedSelector, time.monotonic()
        if noted.begin and now - noted.begin > NOTED_S:
            own = time.thread_time() - noted.cpu_s
            work = _work(noted.calls) if own > NAMED_S else ()
            noted.file.write(json.dumps((noted.begin, now - noted.begin, own, work)) + "\n")
        ready = super().select(timeout)
        noted.calls.clear()
        noted.begin, noted.cpu_s = time.monotonic(), time.thread_time()
        return ready


_run = events.Handle._run


def _noted(handle: events.Handle) -> None:
    """A handle's call, timed."""
    call, begin = getattr(handle, "_callback", None), time.thread_time()
    _run(handle)
    NotedSelector.calls.append((call, time.thread_time() - begin))


_collecting = [0.0]


def _collected(phase: str, told: dict[str, int]) -> None:
    """A collection, which falls into a call of its own or of another thread."""
    if phase == "start":
        _collecting[0] = time.thread_time()
    else:
        name = f"{COLLECTED} {told['generation']}"
        NotedSelector.calls.append((name, time.thread_time() - _collecting[0]))


def _work(calls: list[tuple[Any, float]]) -> list[tuple[str, float, int, float]]:
    """By function, the longest first."""
    taken = defaultdict(list)
    for call, took in calls:
        taken[_name(call)].append(took)
    work = [(name, sum(each), len(each), max(each)) for name, each in taken.items()]
    return sorted(work, key=lambda one: -one[1])[:NAMES]


def _name(call: Any) -> str:
    """The function that a call of the loop goes on with; of a task, and where it waits now."""
    if isinstance(call, str):
        return call
    while isinstance(call, partial):
        call = call.func
    task = getattr(call, "__self__", None)
    if isinstance(task, asyncio.Task):
        return " … ".join(dict.fromkeys(_waiting(task.get_coro())))
    code = getattr(call, "__code__", None)
    return _place(code) if code else repr(call)[:60]


def _waiting(coroutine: Any) -> Iterator[str]:
    """The outermost and the innermost coroutine that it waits in."""
    places = [coroutine.__qualname__]
    while (code := getattr(coroutine, "cr_code", None)) is not None:
        places.append(_place(code))
        coroutine = coroutine.cr_await
    yield from (places[0], places[-1])


@cache
def _place(code: CodeType) -> str:
    return f"{Path(code.co_filename).stem}.{code.co_qualname}"


@dataclass(frozen=True, slots=True)
class Slices:
    """The turns of a loop within some seconds."""

    turns: tuple[LoopTurn, ...]
    seconds: float

    @classmethod
    def read(cls, file: Path, begin: float, end: float) -> Self:
        """Those of a file that began in between."""
        with file.open(encoding="utf-8") as lines:
            every = (LoopTurn.read(line) for line in lines if line.endswith("\n"))
            return cls(tuple(one for one in every if begin <= one.begin < end), end - begin)

    def _row(self, name: str, took: Callable[[LoopTurn], float]) -> str:
        """How long what comes at any moment waits for the turn that is under way, and the turns."""
        turns = sorted(map(took, self.turns))
        rare, longest = turns[int(len(turns) * 0.99)], turns[-1]
        return (
            f"{name} busy {sum(turns) / self.seconds:4.0%}, lag p99 {self._lag_s(turns) * 1e3:5.1f}"
            f" ms, a turn p99 {rare * 1e3:5.1f} max {longest * 1e3:5.1f} ms"
        )

    def _lag_s(self, turns: list[float], part: float = 0.99) -> float:
        """What comes at any moment waits no longer than this, `part` of the times."""
        low, high = 0.0, turns[-1]
        while high - low > 0.00005:
            middle = (low + high) / 2
            later = sum(took - middle for took in turns if took > middle) / self.seconds
            low, high = (low, middle) if later <= 1 - part else (middle, high)
        return high

    def rows(self) -> list[str]:
        """Lag and turns of the loop, by the clock and by its own work, and whose work it was."""
        if not self.turns:
            return []
        longest: dict[str, Work] = {}
        for work in sorted((w for one in self.turns for w in one.work), key=lambda w: w.longest_s):
            longest[work.name] = work
        slow = sorted(longest.values(), key=lambda work: -work.longest_s)[:NAMES]
        most = max(self.turns, key=lambda one: one.cpu_s)
        told = ", ".join(f"{w.sum_s * 1e3:.1f} ms {w.calls} × {w.name}" for w in most.work)
        return [
            self._row("loop, by the clock:", lambda one: one.wall_s),
            self._row("loop, its own work:", lambda one: one.cpu_s),
            f"  the longest turn: {told}",
            *(f"  a call of {work.longest_s * 1e3:.1f} ms: {work.name}" for work in slow),
        ]


def main() -> None:
    """Run Moot."""
    from gateway.main import main as moot

    with open(os.environ["SLICES"], "a", encoding="utf-8", buffering=1) as file:
        NotedSelector.file = file
        selector_events.selectors.DefaultSelector = NotedSelector  # type: ignore[attr-defined]
        events.Handle._run = _noted  # type: ignore[method-assign,assignment]
        gc.callbacks.append(_collected)
        moot()
