"""What became of a process."""

import asyncio
import os
from pathlib import Path


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
