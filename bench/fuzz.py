"""Whatever a program writes: no exception, no growth, no long hold of the loop.

    python -m bench.fuzz [--minutes 10] [--seed 1] [--only N]

Feeds streams (see `bench.streams`) to the screen, the signals and the tape, reads reply, dialog,
error, text and picture from what is left, and checks after each step that the screen is whole.
A failure is printed with the number that repeats it: `--seed S --only N`. Exit code 1.

Time is this thread's CPU time, the best of three runs of the same stream, so that neighbours do
not count. Memory is the process' own, after a garbage collection, and counts from the end of the
first fifth of the time, when every cache is full.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TypeVar

import psutil

from adapters.profiles import looks
from adapters.pty.console import FULL_BYTES, OutputBuffer
from adapters.reading.reply import TranscriptView, find_dialog, read_error, read_reply
from adapters.replay import read_recording
from adapters.screen.screen import Screen
from adapters.screen.signals import Signals
from bench.streams import Step, size, stream

RECORDINGS = Path(__file__).parent.parent / "tests" / "adapters" / "recordings"
TAKES = 4_095 * 2  # bytes that a terminal is read at once, at most
HOLD_S = 0.015  # one hold of the loop: 10 ms, and what a busy neighbour adds
TURN_ROWS, READING_S = 300, 0.1  # of a long reply; it is read a few times a turn
WALL_S = 5.0  # of a terminal of 500 × 200 that nobody has
GROWTH_MB = 48
TRIES = 3
WINDOWS = ((80, 24), (120, 40), (250, 60))  # of a driven program
SLICE_S = 0.005  # of drawing, as the driver asks for

T = TypeVar("T")


class Slow(AssertionError):
    """Something took longer than it may; perhaps only this time."""


class Worst:
    """The longest that each kind of work took, in seconds, and in which stream."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, int]] = {}

    def time(self, what: str, number: int, limit_s: float, work: Callable[[], T]) -> T:
        """Do it. Raises Slow."""
        began = time.thread_time()
        result = work()
        took = time.thread_time() - began
        if took > limit_s:
            raise Slow(f"{what} took {took * 1e3:.1f} ms of {limit_s * 1e3:.0f}")
        self.seconds[what] = max(self.seconds.get(what, (0.0, 0)), (took, number))
        return result


def check_rows(screen: Screen) -> None:
    """Rows and columns are kept, halves of wide characters have one another, the cursor is in."""
    assert len(screen.display()) == screen.rows, "rows"
    for row in screen._grid.lines:
        assert len(row.chars) == len(row.styles) == screen.cols, "columns"
        assert all(char or (i and row.chars[i - 1]) for i, char in enumerate(row.chars)), "halves"
    x, y = screen.cursor
    assert 0 <= x < screen.cols, "cursor"
    assert 0 <= y < screen.rows, "cursor"


def check_reading(
    screen: Screen, random: Random, number: int, worst: Worst, limit_s: float
) -> None:
    """Everything that is read from a screen can be read."""
    look = random.choice([*looks().values()])
    prompt = random.choice((None, "", "what is this?", "x" * 300))
    roll = TranscriptView(look)
    roll.see(screen)
    since = screen.scrolled - TURN_ROWS
    read_reply(screen, look, prompt, roll)
    worst.time("reply", number, limit_s, lambda: read_reply(screen, look, prompt, since=since))
    worst.time("error", number, limit_s, lambda: read_error(screen, look, prompt, since))
    worst.time("dialog", number, limit_s, lambda: find_dialog(screen, look))
    worst.time("picture", number, limit_s, screen.picture)
    screen.text()


def feed_screen(steps: list[Step], random: Random, number: int, worst: Worst) -> bytes:
    """Feed a screen; the answers to its queries."""
    screen = Screen(*size(random))
    answers = b""
    for step in steps:
        if isinstance(step, bytes):
            answers += screen.feed(step)
        else:
            screen.resize(*step)
    check_rows(screen)
    check_reading(screen, random, number, worst, WALL_S)
    return answers


def feed_tape(steps: list[Step], random: Random, number: int, worst: Worst) -> None:
    """Feed a tape as the driver does; it answers what an eager screen answers."""
    cols, rows = random.choice(WINDOWS)
    tape, eager = OutputBuffer(cols, rows), Screen(cols, rows)
    for data in taken(steps):
        worst.time("signals", number, HOLD_S, lambda data=data: tape.feed(data))  # type: ignore[misc]
        while tape.size_bytes and (random.random() < 0.5 or tape.size_bytes > FULL_BYTES):
            worst.time("draw", number, HOLD_S, lambda: tape.draw(SLICE_S))
    while not worst.time("draw", number, HOLD_S, lambda: tape.draw(SLICE_S)):
        pass
    check_rows(tape.screen)
    check_reading(tape.screen, random, number, worst, READING_S)
    wanted = b"".join(eager.feed(step) for step in steps if isinstance(step, bytes))
    assert b"".join(tape.answers) == wanted, "answers"
    assert tape.screen.lines() == eager.lines(), "the same screen, drawn late"


def taken(steps: list[Step]) -> Iterator[bytes]:
    """The output in reads of a terminal."""
    for step in steps:
        if isinstance(step, bytes):
            yield from (step[at : at + TAKES] for at in range(0, len(step), TAKES))


def feed_signals(steps: list[Step], random: Random) -> None:
    """Signals alone, with the sizes that change."""
    signals = Signals(*size(random))
    for step in steps:
        if isinstance(step, bytes):
            for signal in signals.feed(step):
                assert 0 <= signal.behind <= len(step), "behind"
        else:
            signals.resize(*step)


def run(seed: int, number: int, recordings: list[bytes], worst: Worst) -> int:
    """One stream through everything; its bytes. Raises what went wrong."""
    for left in reversed(range(TRIES)):
        random = Random(f"{seed}/{number}")
        steps = stream(random, recordings)
        try:
            feed_screen(steps, random, number, worst)
            feed_tape(steps, random, number, worst)
            feed_signals(steps, random)
            break
        except Slow:
            if not left:
                raise
    return sum(len(step) for step in steps if isinstance(step, bytes))


def memory_mb() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / 1e6


def read_all() -> list[bytes]:
    paths = sorted(RECORDINGS.glob("*/recording.jsonl"))
    return [b"".join(e.data for e in read_recording(p).events if e.kind == "o") for p in paths]


def main() -> int:
    """As long as asked; 1 when something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this stream alone")
    parser.add_argument("--keep-going", action="store_true", help="past failures")
    given = parser.parse_args()
    recordings, worst = read_all(), Worst()
    if given.only is not None:
        run(given.seed, given.only, recordings, worst)
        return 0
    began, warm, fed, number, failed = time.monotonic(), 0.0, 0, 0, 0
    while (passed := time.monotonic() - began) < given.minutes * 60:
        if not warm and passed > given.minutes * 60 / 5:
            warm = memory_mb()
        try:
            fed += run(given.seed, number, recordings, worst)
        except Exception as error:
            failed += 1
            print(
                f"--seed {given.seed} --only {number}: {type(error).__name__}: {error}", flush=True
            )
            if not given.keep_going:
                raise
        number += 1
    grown = memory_mb() - warm
    print(
        f"{number:,} streams, {fed / 1e6:,.0f} MB, {number / passed:.0f} streams/s, {failed} failed"
    )
    print(f"memory: {warm:.0f} MB warm, {grown:+.0f} MB since")
    for what, (seconds, where) in sorted(worst.seconds.items()):
        print(f"longest {what:8} {seconds * 1e3:7.1f} ms  (--only {where})")
    return int(failed > 0 or grown > GROWTH_MB)


if __name__ == "__main__":
    sys.exit(main())
