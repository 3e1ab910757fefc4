"""A program with pipes, and everything that it starts: its process group."""

from __future__ import annotations

import asyncio
import signal

from adapters.pty.process_tree import send


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
        """How it ended: negative when a signal ended it; None while it runs."""
        return self._transport.get_returncode()

    def input(self) -> asyncio.WriteTransport:
        """Its stdin."""
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
