"""Connections between machines that fail as networks do, and come back.

A `Link` stands before a server. What it swallows is lost for that connection, which is therefore
reset when the link is whole again, as a host does that hears of bytes after a gap.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Literal

Fault = Literal["cut", "reset", "silent", "up silent", "down silent", "slow", "half-open"]
"""cut: connections end and none is made. reset: the same by RST. silent: bytes vanish, both ways or
one way, and nobody is told. slow: each piece takes SLOW_S. half-open: the server's ends are gone,
and the clients are never told; new connections work."""
FAULTS: tuple[Fault, ...] = (
    *("cut", "reset", "silent", "up silent", "down silent"),
    *("slow", "half-open"),
)

SLOW_S = 0.3
_NO_LINGER = struct.pack("ii", 1, 0)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Passage:
    """One connection through a link. lossy: bytes of it were swallowed."""

    def __init__(self, link: Link, client: Streams, server: Streams | None) -> None:
        self._link, self._client, self._server = link, client, server
        self.lossy = server is None
        self.orphaned = False

    async def run(self) -> None:
        """Pass on until both ends are closed."""
        pumps = [self._pump("up", self._client, self._server)]
        if self._server is not None:
            pumps.append(self._pump("down", self._server, self._client))
        await asyncio.gather(*pumps)

    async def _pump(self, way: str, source: Streams, to: Streams | None) -> None:
        with suppress(OSError):
            while data := await source[0].read(65536):
                fault = self._link.fault
                if self.orphaned or to is None or fault in ("silent", f"{way} silent"):
                    self.lossy = True
                    continue
                if fault == "slow":
                    await asyncio.sleep(SLOW_S)
                to[1].write(data)
                await to[1].drain()
        if not self.orphaned:
            self.end()
        elif source is self._client:
            self._client[1].close()

    def end(self, *, reset: bool = False) -> None:
        """Close both ends."""
        for streams in filter(None, (self._client, self._server)):
            _close(streams[1], reset=reset)

    def orphan(self) -> None:
        """Close the server's end alone."""
        self.orphaned = True
        if self._server is not None:
            _close(self._server[1], reset=False)


def _close(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    sock = writer.get_extra_info("socket")
    if reset and sock is not None and sock.family == socket.AF_INET:
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        writer.transport.abort()
    else:
        writer.close()


class Link:
    """What stands before a server. host, port: where. made: connections so far."""

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        self._connect = connect
        self._passages: set[_Passage] = set()
        self.host, self.port = "", 0
        self.fault: Fault | None = None
        self.made = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.made += 1
        server: Streams | None = None
        if self.fault in ("cut", "reset"):
            _close(writer, reset=True)
            return
        if self.fault != "silent":
            try:
                server = await self._connect()
            except OSError:
                _close(writer, reset=True)
                return
        passage = _Passage(self, (reader, writer), server)
        self._passages.add(passage)
        try:
            await passage.run()
        finally:
            self._passages.discard(passage)

    def fail(self, fault: Fault) -> None:
        """Fail in this way until `heal`."""
        self.fault = fault
        for passage in list(self._passages):
            if fault in ("cut", "reset"):
                passage.end(reset=fault == "reset")
            elif fault == "half-open":
                passage.orphan()

    def heal(self) -> None:
        """Be whole again. Who is half open stays so."""
        self.fault = None
        for passage in list(self._passages):
            if passage.lossy and not passage.orphaned:
                passage.end(reset=True)

    @classmethod
    @asynccontextmanager
    async def to_port(cls, port: int, host: str = "127.0.0.1") -> AsyncIterator[Link]:
        """Before a server on a port of the loopback. host: where it is reached."""
        made = cls(lambda: asyncio.open_connection("127.0.0.1", port))
        async with made._listening(host) as link:
            yield link

    @classmethod
    @asynccontextmanager
    async def to_socket(cls, path: str, host: str = "127.0.0.1") -> AsyncIterator[Link]:
        """Before a server on a Unix socket."""
        async with cls(lambda: asyncio.open_unix_connection(path))._listening(host) as link:
            yield link

    @asynccontextmanager
    async def _listening(self, host: str) -> AsyncIterator[Link]:
        server = await asyncio.start_server(self.serve, host, 0)
        self.host, self.port = server.sockets[0].getsockname()
        try:
            yield self
        finally:
            server.close()
            while self._passages:
                for passage in list(self._passages):
                    passage.end(reset=True)
                await asyncio.sleep(0.01)
