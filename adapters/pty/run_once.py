"""A program run once: text in, text out, bounded in time and size, its whole group ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.pty.process_group import ProcessGroup

GRACE_S = 2.0  # between SIGTERM and SIGKILL


class OutputTooLarge(Exception):
    """The program wrote more than it may."""


@dataclass(frozen=True, slots=True)
class RunResult:
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
) -> RunResult:
    """Run argv[0], an absolute path, with exactly this environment and `given` on its stdin.

    Raises TimeoutError, TooMuch, OSError. However it ends, cancelled included, nothing of its
    process group is left.
    """
    loop = asyncio.get_running_loop()
    _, run = await loop.subprocess_exec(
        lambda: _Run(most_bytes), *argv, env=dict(env), cwd=cwd, start_new_session=True
    )
    try:
        run.feed(given)
        async with asyncio.timeout(timeout_s):
            await asyncio.wait({run.ended, run.overflown}, return_when=asyncio.FIRST_COMPLETED)
        if run.overflown.done():
            raise OutputTooLarge
    finally:
        await run.end(grace_s)
        run.release()
    return RunResult(run.code or 0, bytes(run.out), bytes(run.err))


class _Run(ProcessGroup):
    """Keeps what a program writes."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self.out, self.err = bytearray(), bytearray()
        self.overflown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._most_bytes = most_bytes

    def feed(self, given: bytes) -> None:
        """Write all of its input, then close it."""
        self.input().write(given)
        self.input().write_eof()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self.out if fd == 1 else self.err
        kept += data[: self._most_bytes - len(self.out) - len(self.err)]
        if len(self.out) + len(self.err) >= self._most_bytes and not self.overflown.done():
            self.overflown.set_result(None)
