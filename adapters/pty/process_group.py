"""A program with pipes, and everything that it starts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from adapters.pty.open_files import OPEN_FILES
from adapters.pty.process_tree import (
    ONLY_BECOME,
    PYTHON,
    ask_to_end,
    end_younger,
    kept,
    kill,
    lifeline,
)
from contract.values import dataclass


class ProcessGroup(asyncio.SubprocessProtocol):
    """A program below the root of its tree. ended: all is gone and its pipes are closed.

    pid: the root's. enclosed: that is bubblewrap, else a keeper.
    """

    def __init__(self, *, enclosed: bool = False) -> None:
        self._enclosed = enclosed
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        enclosure: Sequence[str] = (),
    ) -> Self:
        """Start argv[0], an absolute path, with exactly this environment. Raises OSError."""
        become = [PYTHON, "-I", "-S", "-c", ONLY_BECOME, env.get("LC_CTYPE", "")]
        words = [*enclosure, *become, *argv] if enclosure else kept(argv, env, terminal=False)
        with OPEN_FILES.at_first():
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *words,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                pass_fds=() if enclosure else (lifeline(),),
            )
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()

    @property
    def code(self) -> int | None:
        """The exit code: negative when a signal ended it; None while it runs."""
        return self._transport.get_returncode()

    def input(self) -> asyncio.WriteTransport:
        """The program's stdin."""
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        return pipe

    def process_exited(self) -> None:
        if self._enclosed:
            kill(self.pid, enclosed=True)  # what it left behind would hold the pipes open

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    async def end(self, grace_s: float) -> None:
        """SIGTERM, after `grace_s` SIGKILL, to the whole tree; return when all is gone."""
        if self.ended.done():
            return
        ask_to_end(self.pid, enclosed=self._enclosed)
        killing = asyncio.get_running_loop().call_later(grace_s, self._kill)
        try:
            await asyncio.shield(self.ended)
        except asyncio.CancelledError:  # there is no time for grace
            self._kill()
            raise
        finally:
            killing.cancel()

    async def end_younger(self, begin: float) -> None:
        """See `process_tree.end_younger`."""
        if self.code is None:
            await end_younger(self.pid, begin, enclosed=self._enclosed)

    def release(self) -> None:
        """Forget its pipes, once it has ended."""
        self._transport.close()

    def _kill(self) -> None:
        kill(self.pid, enclosed=self._enclosed)


GRACE_S = 2.0  # between SIGTERM and SIGKILL


class OutputTooLarge(Exception):
    """The program wrote more than it may."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The exit code; negative when a signal ended it."""

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

    Raises TimeoutError, OutputTooLarge, OSError. However it ends, cancelled included, nothing that
    it started is left.
    """
    run = await _Run(most_bytes).run(argv, env=env, cwd=cwd)
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
