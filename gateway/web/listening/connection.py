"""One connection: how far its request is, for the library has no limit on how long that takes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from aiohttp import web

from contract.values import dataclass
from gateway.web.forwarded import Address, Proxies, peer_of, read_address

BODY_BYTES_PER_S = 4_096  # a body that flows may take its time; 25 MB by an old mobile phone do
KEEPALIVE_S, KEEPALIVE_TRIES = 60, 4  # a peer that vanished is noticed, also under a silent stream


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """most: connections of a listener at once; of_peer: those of one address. of_person: streams
    and uploads of one person. head_s: until a request's headers are here; body_s: until its body
    is, or the answer is taken, unless it flows; idle_s: between requests. proxies: they bring other
    people's requests.
    """

    most: int = 1_000
    of_peer: int = 200
    of_person: int = 32
    head_s: float = 15.0
    body_s: float = 30.0
    idle_s: float = 75.0
    proxies: Proxies = field(default_factory=Proxies)


class Watcher(Protocol):
    """Who is told of connections. clock: seconds."""

    clock: Callable[[], float]

    def admit(self, connection: Connection) -> None:
        """It came."""

    def leave(self, connection: Connection) -> None:
        """It is gone."""


class Connection(asyncio.Protocol):
    """Stands between a socket and the library's handler, and notes what passes.

    since: when its present state began. heard: its last byte. received: bytes of this request.
    request: the one that is answered. is_idle: it had an answer, and no byte came since.
    blocked: since when it takes no more of the answer. reserved: all places were taken when it
    came. source: whom a proxy asks for.
    """

    transport: asyncio.Transport
    address: Address | None = None
    peer = ""

    def __init__(self, handler: asyncio.Protocol, watcher: Watcher, limits: ConnectionLimits):
        self._handler = handler
        self._watcher = watcher
        self._limits = limits
        self.since = self.heard = watcher.clock()
        self.received = 0
        self.request: web.Request | None = None
        self.is_idle = False
        self.blocked: float | None = None
        self.reserved = False
        self.source: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.address = read_address((transport.get_extra_info("peername") or ("",))[0])
        self.peer = peer_of(self.address)
        _notice_dead_peers(transport, self._limits.body_s)
        self._watcher.admit(self)
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self.heard = self._watcher.clock()
        if self.is_idle:
            self.is_idle, self.since = False, self.heard
        self.received += len(data)
        self._handler.data_received(data)

    def eof_received(self) -> bool | None:
        return self._handler.eof_received()

    def pause_writing(self) -> None:
        self.blocked = self._watcher.clock()
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self.blocked = None
        self._handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watcher.leave(self)
        self._handler.connection_lost(exc)

    def begin(self, request: web.Request) -> None:
        """Its request has all its headers."""
        self.request, self.since, self.is_idle = request, self._watcher.clock(), False

    def end(self) -> None:
        """Its answer was sent whole."""
        self.request, self.since, self.is_idle = None, self._watcher.clock(), True
        self.received = 0

    @property
    def is_local(self) -> bool:
        """True if it came from this machine."""
        return self.address is not None and self.address.is_loopback

    @property
    def is_proxy(self) -> bool:
        """True if it brings other people's requests."""
        return self.address in self._limits.proxies.trusted

    @property
    def sends_body(self) -> bool:
        """True while a request's body is not here whole."""
        return self.request is not None and not self.request.content.is_eof()

    def rate(self, now: float) -> float:
        """Bytes a second of its request."""
        return self.received / (now - self.since + 1)

    def is_overdue(self, now: float) -> bool:
        """True if it took too long. The library ends what is idle."""
        limits = self._limits
        if self.transport.is_closing():  # and has not taken the last of its answer
            return now - max(self.since, self.heard) > limits.body_s
        if self.blocked is not None:
            return now - self.blocked > limits.body_s
        if self.request is None:
            return not self.is_idle and now - self.since > limits.head_s
        if not self.sends_body or not self.transport.is_reading():  # we are the slow ones
            return False
        flowed = self.since + self.received / BODY_BYTES_PER_S
        return now - min(self.heard, flowed) > limits.body_s


def _notice_dead_peers(transport: asyncio.Transport, answer_s: float) -> None:
    """Let the kernel end a connection whose other end is gone or takes nothing."""
    options = {
        "TCP_KEEPIDLE": KEEPALIVE_S,
        "TCP_KEEPINTVL": KEEPALIVE_S // KEEPALIVE_TRIES,
        "TCP_KEEPCNT": KEEPALIVE_TRIES,
        "TCP_USER_TIMEOUT": int(answer_s * 2_000),  # ms; a file is sent by the kernel alone
    }
    connected = transport.get_extra_info("socket")
    for name, value in options.items():
        if hasattr(socket, name):  # Linux has all
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
