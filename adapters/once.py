"""A program run once: text in, text out, bounded in time and size, its whole group ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 2.0  # between SIGTERM and SIGKILL


class TooMuch(Exception):
    """The program wrote more than it may."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How it ended. code: negative when a signal ended it."""

    code: int
    out: bytes
    err: bytes


async def run_once(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    given: bytes,
    timeout_s: float,
    most_bytes: int,
    grace_s: float = GRACE_S,
) -> Ran:
    """Run argv[0], an absolute path, with exactly this environment and `given` on its stdin.

    Raises TimeoutError, TooMuch, OSError. However it ends, cancelled included, nothing of its
    process group is left.
    """
    loop = asyncio.get_running_loop()
    transport, run = await loop.subprocess_exec(
        lambda: _Run(most_bytes), *argv, env=dict(env), cwd=cwd, start_new_session=True
    )
    try:
        run.feed(given)
        async with asyncio.timeout(timeout_s):
            await asyncio.wait({run.ended, run.overflown}, return_when=asyncio.FIRST_COMPLETED)
        if run.overflown.done():
            raise TooMuch
    finally:
        await run.end(grace_s)
        transport.close()
    return Ran(transport.get_returncode() or 0, bytes(run.out), bytes(run.err))


class _Run(asyncio.SubprocessProtocol):
    """Keeps what a program writes. ended: it is gone and its pipes are closed."""

    def __init__(self, most_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.out, self.err = bytearray(), bytearray()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.overflown: asyncio.Future[None] = loop.create_future()
        self._most_bytes = most_bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self._pid = transport.get_pid()

    def feed(self, given: bytes) -> None:
        """Write all of its input, then close it."""
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(given)
        pipe.write_eof()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self.out if fd == 1 else self.err
        kept += data[: self._most_bytes - len(self.out) - len(self.err)]
        if len(self.out) + len(self.err) >= self._most_bytes and not self.overflown.done():
            self.overflown.set_result(None)

    def process_exited(self) -> None:
        self._signal(signal.SIGKILL)  # what it left behind would hold the pipes open

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    async def end(self, grace_s: float) -> None:
        """SIGTERM, after `grace_s` SIGKILL, to the whole group; return when all is gone."""
        if self.ended.done():
            return
        self._signal(signal.SIGTERM)
        kill = asyncio.get_running_loop().call_later(grace_s, self._signal, signal.SIGKILL)
        try:
            await asyncio.shield(self.ended)
        except asyncio.CancelledError:  # there is no time for grace
            self._signal(signal.SIGKILL)
            raise
        finally:
            kill.cancel()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: EPERM of zombies
            os.killpg(self._pid, number)
