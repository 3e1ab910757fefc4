"""A program with pipes, and everything that it starts: its process group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.pty.open_files import OPEN_FILES


def send(pid: int, number: signal.Signals, *, enclosed: bool) -> None:
    """Signal a process group by its leader's id.

    enclosed: the leader is bubblewrap, and a signal that ended it would leave its program no time:
    the kernel kills all of a sandbox with it. So only SIGKILL goes there, others to the program.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: EPERM of zombies
        if enclosed and number != signal.SIGKILL:
            for child in _enclosed(pid):  # a session of its own
                os.killpg(os.getpgid(child), number)
        else:
            os.killpg(pid, number)


def _enclosed(pid: int) -> list[int]:
    """The processes below the sandbox's own first one."""
    return [child for first in _children(pid) for child in _children(first)]


def _children(pid: int) -> list[int]:
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [int(word) for word in words]


class ProcessGroup(asyncio.SubprocessProtocol):
    """A program started with `start_new_session`. ended: it is gone and its pipes are closed.

    enclosed: what was started runs the program in a sandbox.
    """

    def __init__(self, *, enclosed: bool = False) -> None:
        self._enclosed = enclosed
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

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

    def release(self) -> None:
        """Forget its pipes, once it has ended."""
        self._transport.close()

    def _signal(self, number: signal.Signals) -> None:
        send(self.pid, number, enclosed=self._enclosed)


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

    Raises TimeoutError, TooMuch, OSError. However it ends, cancelled included, nothing of its
    process group is left.
    """
    loop = asyncio.get_running_loop()
    with OPEN_FILES.at_first():
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
