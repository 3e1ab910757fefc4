"""What became of a process."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import psutil


def gone(pid: int) -> bool:
    """Whether it has ended; a zombie that nobody has reaped yet counts as ended."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except ProcessLookupError:
        return True
    except FileNotFoundError:  # no /proc here, or gone between the two
        return Path("/proc/self").exists()


async def until_gone(pid: int) -> None:
    """Wait for its end; a generous limit turns a survivor into a failure."""
    async with asyncio.timeout(20):
        while not gone(pid):
            await asyncio.sleep(0.02)


def kill_below(pid: int) -> None:
    """Kill what a process started, also in groups of its own; some end with others of them."""
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def found(word: str) -> list[int]:
    """The processes that have this word in their command line, in any sandbox."""
    return [
        one.pid for one in psutil.process_iter(["cmdline"]) if word in (one.info["cmdline"] or ())
    ]


async def until_found(word: str, count: int) -> None:
    """Wait until there are so many."""
    async with asyncio.timeout(30):
        while len(found(word)) != count:
            await asyncio.sleep(0.05)
