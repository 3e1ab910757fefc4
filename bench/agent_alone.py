"""The demo agent without Moot: how long it takes from the prompt's bytes to the end of its turn."""

from __future__ import annotations

import asyncio
import os
import pty
import tempfile
import time
import tty

from adapters.cli.keyboard import keystrokes
from adapters.profiles.demo import DEMO

_DONE = b"state=done"
_IDLE = b"state=idle"


class _Terminal:
    """The program's output, looked through for a mark."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._seen = b""
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            self._seen += os.read(self._master, 65_536)
        except OSError:  # it has ended; the wait for the mark tells
            asyncio.get_running_loop().remove_reader(self._master)
        self._changed.set()

    async def until(self, mark: bytes) -> None:
        async with asyncio.timeout(30):
            while mark not in self._seen:
                self._changed.clear()
                await self._changed.wait()
        self._seen = self._seen.partition(mark)[2]

    async def ask(self, keys: bytes) -> float:
        """Seconds from the first byte of the prompt to the sign of its end."""
        begin = time.perf_counter()
        while keys:
            try:
                keys = keys[os.write(self._master, keys) :]
            except BlockingIOError:
                await asyncio.sleep(0)
        await self.until(_DONE)
        return time.perf_counter() - begin


async def alone(prompt: str, times: int) -> list[float]:
    """Seconds of so many turns with this prompt, in one warm session."""
    keys = keystrokes(prompt, DEMO.typing) + DEMO.typing.submit
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    with tempfile.TemporaryDirectory() as home:
        process = await asyncio.create_subprocess_exec(
            *(part.format(session_id="alone") for part in DEMO.program.begin),
            stdin=slave,
            stdout=slave,
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm", "MOOT_DEMO_PACE": "0"},
        )
        os.close(slave)
        try:
            terminal = _Terminal(master)
            await terminal.until(_IDLE)
            return [await terminal.ask(keys) for _ in range(times)]
        finally:
            process.terminate()
            await process.wait()
            asyncio.get_running_loop().remove_reader(master)
            os.close(master)
