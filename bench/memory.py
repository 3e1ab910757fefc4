"""Moot's own memory, without its agents': `python -m bench.memory`. Needs Linux's /proc."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from bench.rig import Asked, arguments, moot, run, warm
from tests.doubles.service import service


def resident_mb(pid: int) -> float:
    """VmRSS of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS:"))) / 1024


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """After the start, and with warm sessions."""
    print("resident memory of the gateway's process")
    with tempfile.TemporaryDirectory() as folder:
        async with service(Path(folder), asked.config(None)) as running:
            await asyncio.sleep(1)
            print(f"  the page alone, idle            {resident_mb(running.pid):6.1f} MB")
    with tempfile.TemporaryDirectory() as folder:
        async with moot(Path(folder), asked) as (slack, running):
            await asyncio.sleep(1)
            print(f"  with Slack, idle                {resident_mb(running.pid):6.1f} MB")
            await warm(slack, slack.rooms(given.sessions), asked.text, 0)
            await asyncio.sleep(1)
            used_mb = resident_mb(running.pid)
            print(f"  with Slack, {given.sessions:3} warm sessions   {used_mb:6.1f} MB")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sessions", type=int, default=50)


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
