"""The cost of starting an agent's program, and of keeping it: `python -m bench.processes`.

Prints milliseconds from the call to the first output of a program that does nothing else, in a
terminal and with pipes, without a sandbox and, where there is one, in bubblewrap; and the memory of
what stands between Moot and the program: resident, and that which no other process shares.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from adapters.pty.process_group import run_once
from adapters.pty.terminal import Terminal

ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
BOX = "--die-with-parent --new-session --unshare-user --unshare-pid --dev-bind / / --proc /proc --"
MEBI = 1024 * 1024


async def in_terminal(enclosure: Sequence[str]) -> tuple[float, float, float]:
    """Milliseconds to the first output, and MB, resident and its own, of all but the program."""
    said = asyncio.Event()
    begin = time.perf_counter()
    async with Terminal.open(
        ["/bin/sh", "-c", "echo up; exec sleep 100"],
        env=ENV,
        cwd=Path("/"),
        cols=80,
        rows=24,
        enclosure=enclosure,
        on_output=lambda _: said.set(),
    ) as terminal:
        await said.wait()
        spent_s = time.perf_counter() - begin
        root = psutil.Process(terminal.pid)
        everyone = [root, *root.children(recursive=True)]
        between = [one.memory_full_info() for one in everyone if one.name() not in ("sleep", "sh")]
    return (
        spent_s * 1000,
        sum(one.rss for one in between) / MEBI,
        sum(one.uss for one in between) / MEBI,
    )


async def with_pipes() -> float:
    """Milliseconds of a whole run."""
    begin = time.perf_counter()
    await run_once(["/bin/true"], env=ENV, cwd=Path("/"), given=b"", timeout_s=60, most_bytes=1000)
    return (time.perf_counter() - begin) * 1000


async def measure(times: int) -> None:
    """All rows."""
    bwrap = shutil.which("bwrap")
    ways = {"terminal": ()} | ({"terminal, in bubblewrap": (bwrap, *BOX.split())} if bwrap else {})
    for name, enclosure in ways.items():
        rows = [await in_terminal(enclosure) for _ in range(times)]
        spent_ms, resident_mb, own_mb = (
            statistics.median(column) for column in zip(*rows, strict=True)
        )
        least_ms = min(row[0] for row in rows)
        print(
            f"{name:24} {spent_ms:6.1f} ms (least {least_ms:.1f})"
            f"  between: {resident_mb:.1f} MB resident, {own_mb:.1f} MB its own"
        )
    pipes = [await with_pipes() for _ in range(times)]
    print(f"{'pipes, a whole run':24} {statistics.median(pipes):6.1f} ms (least {min(pipes):.1f})")


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=30)
    asyncio.run(measure(parser.parse_args().times))


if __name__ == "__main__":
    main()
