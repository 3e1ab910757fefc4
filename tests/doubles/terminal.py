"""A person at a terminal: reads what a command of `moot` says, and types."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

HOUSE = Path(__file__).parents[2]
CODE = "from gateway.main import main; main()"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A scrubbed environment with a HOME of its own."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MOOT_HOME": str(folder),
        "PYTHONPATH": str(HOUSE),
        **more,
    }


class Terminal:
    """A command of `moot` on a terminal, as a person sits at it. more: of its environment."""

    def __init__(self, folder: Path, *words: str, **more: str) -> None:
        self._own, theirs = pty.openpty()

        def take() -> None:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        command = [sys.executable, "-c", CODE, *words]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(folder, TERM="xterm", **more),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=take,
        )
        os.close(theirs)
        self.seen = ""
        self._read = 0

    async def sees(self, words: str) -> None:
        """Wait until these words came since it last waited."""
        async with asyncio.timeout(60):
            while words not in self.seen[self._read :]:
                assert await self._more(), self.seen
        self._read = self.seen.index(words, self._read) + len(words)

    async def _more(self) -> bool:
        """Wait for what it writes next; False: it ended."""
        loop = asyncio.get_running_loop()
        there = asyncio.Event()
        loop.add_reader(self._own, there.set)
        try:
            await there.wait()
        finally:
            loop.remove_reader(self._own)
        try:
            more = os.read(self._own, 4096).decode(errors="replace")
        except OSError:  # how Linux tells that the other end is closed
            return False
        self.seen += more
        return bool(more)

    def types(self, text: str) -> None:
        os.write(self._own, text.encode())

    async def ends(self) -> int:
        async with asyncio.timeout(60):
            while await self._more():
                pass
        os.close(self._own)
        return await asyncio.to_thread(self.process.wait, 60)
