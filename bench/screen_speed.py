"""The speed at which a terminal's output is digested, on the recorded terminals, beside pyte.

    python -m bench.screen_speed

MB/s of output in the pieces in which it was read; best of three runs.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pyte

from adapters.replay import Recording, read_recording
from adapters.screen.screen import Screen
from adapters.screen.signals import Signals

RECORDINGS = Path(__file__).parent.parent / "tests" / "adapters" / "recordings"
RUNS = 3


def ours(recording: Recording) -> Callable[[bytes], object]:
    return Screen(recording.cols, recording.rows).feed


def signals(recording: Recording) -> Callable[[bytes], object]:
    return Signals(recording.cols, recording.rows).feed


def pyte_screen(recording: Recording) -> Callable[[bytes], object]:
    return _tolerant(pyte.ByteStream(pyte.Screen(recording.cols, recording.rows)))


def pyte_history(recording: Recording) -> Callable[[bytes], object]:
    screen = pyte.HistoryScreen(recording.cols, recording.rows, history=10_000)
    return _tolerant(pyte.ByteStream(screen))


def _tolerant(stream: pyte.ByteStream) -> Callable[[bytes], object]:
    def feed(data: bytes) -> None:
        with contextlib.suppress(Exception):  # it raises on some of these streams
            stream.feed(data)

    return feed


ENGINES = {
    "Signals": signals,
    "Screen": ours,
    "pyte Screen": pyte_screen,
    "pyte HistoryScreen": pyte_history,
}


def seconds(
    recording: Recording, engine: Callable[[Recording], Callable[[bytes], object]]
) -> float:
    output = [data for kind, data in recording.events if kind == "o"]
    best = float("inf")
    for _ in range(RUNS):
        feed = engine(recording)
        began = time.perf_counter()
        for data in output:
            feed(data)
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    sizes: dict[str, int] = defaultdict(int)
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for path in sorted(RECORDINGS.glob("*/recording.jsonl")):
        program, recording = path.parent.name.partition("-")[0], read_recording(path)
        for group in (program, "all"):
            sizes[group] += sum(len(data) for kind, data in recording.events if kind == "o")
        for name, engine in ENGINES.items():
            took = seconds(recording, engine)
            spent[program, name] += took
            spent["all", name] += took
    print(f"{'MB/s':10}{'KB':>6}", *(f"{name:>20}" for name in ENGINES))
    for program, size in sizes.items():
        rates = (size / spent[program, name] / 1e6 for name in ENGINES)
        print(f"{program:10}{size // 1000:>6}", *(f"{rate:>20.2f}" for rate in rates))


if __name__ == "__main__":
    main()
