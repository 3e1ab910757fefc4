"""Serves an application to as many as it can, and never to one caller alone.

When all places are taken, the connection that waited longest since its last answer gives its own
up, or else a new one without a request, or else the body that comes slowest. When all are at work,
the new one is answered 503; a few places are kept for that, and for this machine's question whether
Moot is well.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import structlog
from aiohttp import web
from aiohttp.abc import AbstractAccessLogger
from aiohttp.http import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from contract.errors import ConfigError
from gateway.web.forwarded import Proxies, peer_of
from gateway.web.listening.address import listening_fault
from gateway.web.listening.connection import Connection, ConnectionLimits
from gateway.web.plain_json import error

log = structlog.stdlib.get_logger("moot.gateway")

HEALTH = "/healthz"
RESERVED = 16  # places for this machine, and as many for others, when all are taken
MOST_BODIES = 64  # on their way at once; each may take 2 MB of memory
MOST_HEADERS = 64
LINGER_S = 5.0  # reads on after a refusal, so that the caller can read the reason
TOLD_EVERY_S = 60.0
SWEPT_EVERY_S = 1.0
BACKLOG = 256  # come at once; what the kernel does not queue tries again after a second
SERVER_LOG = logging.getLogger("aiohttp.server.moot")
SERVER_LOG.addFilter(
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))
)  # a traceback for each request that is no HTTP: it was answered 400


class Connections:
    """Every connection of one listener."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self.clock = self._loop.time
        self._open: dict[Connection, None] = {}
        self._of_peer: Counter[str] = Counter()  # without the reserved ones
        self._for: Counter[str] = Counter()  # requests that a proxy brought, by whom they are of
        self._ended: Counter[str] = Counter()  # since it was last logged
        self._told = -TOLD_EVERY_S
        self._sweeping: asyncio.TimerHandle | None = None

    def admit(self, connection: Connection) -> None:
        """A new one: it gets a place, or a reserved one."""
        if not self._has_place(connection):
            connection.reserved = True
            here = connection.is_local

            def same(other: Connection) -> bool:
                return other.reserved and other.is_local == here

            if sum(map(same, self._open)) >= RESERVED and not self._give_up(same):
                self._drop(next(filter(same, self._open)))
        else:
            self._of_peer[connection.peer] += 1
        self._open[connection] = None
        if self._sweeping is None:
            self._sweep_later()

    def leave(self, connection: Connection) -> None:
        """It is gone."""
        if connection not in self._open:
            return
        del self._open[connection]
        self._end(connection)
        if not connection.reserved:
            self._of_peer[connection.peer] -= 1
            if not self._of_peer[connection.peer]:
                del self._of_peer[connection.peer]

    def middleware(self) -> Middleware:
        """The first of the application's: it knows when a request has its headers."""

        @web.middleware
        async def watched(request: web.Request, handler: Handler) -> web.StreamResponse:
            connection = _connection_of(request)
            if connection is None or self._begin(connection, request):
                return await handler(request)
            response = error(503, "too many are here at once; try again in a moment")
            response.headers["Retry-After"] = "5"
            response.force_close()
            return response

        return watched

    def end(self, request: web.BaseRequest) -> None:
        """Its answer was sent whole."""
        connection = _connection_of(request)
        if connection is not None:
            self._end(connection)
            connection.end()

    # ── Places ──────────────────────────────────────────────────────────────────────────

    def _has_place(self, connection: Connection) -> bool:
        """True if there is a place, or another gave its own up."""
        limits, peer = self._limits, connection.peer
        if not connection.is_proxy and self._of_peer[peer] >= limits.of_peer:
            return self._give_up(lambda other: other.peer == peer and not other.reserved)
        if self._of_peer.total() >= limits.most:
            return self._give_up(lambda other: not other.reserved)
        return True

    def _give_up(self, among: Callable[[Connection], bool]) -> bool:
        """End the one of these that waits longest, or sends slowest; False if all are at work."""
        some = [connection for connection in self._open if among(connection)]
        now = self.clock()
        if waiting := [connection for connection in some if connection.request is None]:
            # Of one that had an answer a client expects the end; of a new one it does not.
            self._drop(min(waiting, key=lambda one: (not one.is_idle, one.since)))
        elif sending := [connection for connection in some if connection.sends_body]:
            self._drop(min(sending, key=lambda one: one.rate(now)))
        else:
            self._tell("refused")
            return False
        self._tell("given_up")
        return True

    def _begin(self, connection: Connection, request: web.Request) -> bool:
        """True if this request may go on."""
        connection.begin(request)
        if connection.reserved:
            return connection.is_local and request.path == HEALTH
        if connection.sends_body:
            sending = [one for one in self._open if one.sends_body]
            if len(sending) > MOST_BODIES:
                now = self.clock()
                self._drop(min(sending, key=lambda one: one.rate(now)))
                self._tell("given_up")
        source = self._source(connection, request)
        if source is None:
            return True
        if self._for[source] >= self._limits.of_peer:
            self._tell("refused")
            return False
        self._for[source] += 1
        connection.source = source
        return True

    def _source(self, connection: Connection, request: web.Request) -> str | None:
        """Whom a proxy of ours asks for; None: for itself, or it is none."""
        caller = self._limits.proxies.origin(connection.address, request)
        return None if caller == connection.address else peer_of(caller)

    def _end(self, connection: Connection) -> None:
        source, connection.source = connection.source, None
        if source is not None:
            self._for[source] -= 1
            if not self._for[source]:
                del self._for[source]

    # ── Time ────────────────────────────────────────────────────────────────────────────

    def _sweep_later(self) -> None:
        shortest = min(self._limits.head_s, self._limits.body_s)
        self._sweeping = self._loop.call_later(min(SWEPT_EVERY_S, shortest / 2), self._sweep)

    def _sweep(self) -> None:
        """End what takes too long."""
        self._sweeping = None
        now = self.clock()
        for connection in [one for one in self._open if one.is_overdue(now)]:
            self._drop(connection)
            self._ended["slow"] += 1
        if self._open:
            self._sweep_later()

    def close(self) -> None:
        """Sweep no more."""
        if self._sweeping is not None:
            self._sweeping.cancel()

    def _drop(self, connection: Connection) -> None:
        self.leave(connection)
        connection.transport.abort()  # whoever reads nothing would keep a polite end waiting

    def _tell(self, how: str) -> None:
        """Log that places are scarce, once a minute."""
        self._ended[how] += 1
        if self.clock() - self._told < TOLD_EVERY_S:
            return
        self._told = self.clock()
        log.warning(
            "connections.scarce",
            open=len(self._open),
            given_up=self._ended["given_up"],
            refused=self._ended["refused"],
            slow=self._ended["slow"],
        )
        self._ended.clear()


def _connection_of(request: web.BaseRequest) -> Connection | None:
    found = request.transport.get_protocol() if request.transport is not None else None
    return found if isinstance(found, Connection) else None


def is_cut_short(request: web.BaseRequest) -> bool:
    """True if the connection ended before the body was here, whoever ended it."""
    return request.transport is None and not request.content.is_eof()


@asynccontextmanager
async def listening(
    app: web.Application,
    key: str,
    host: str,
    port: int,
    limits: ConnectionLimits,
    *,
    shutdown_s: float,
    handler_cancellation: bool = False,
) -> AsyncIterator[tuple[str, int]]:
    """Serve until the block ends; gives the address. Raises ConfigError.

    key: which names the address in moot.toml. handler_cancellation: end a handler whose caller is
    gone.
    """
    connections = Connections(limits)
    app.middlewares.insert(0, connections.middleware())
    runner = web.AppRunner(
        app,
        logger=SERVER_LOG,
        access_log=logging.getLogger("aiohttp.access"),
        access_log_class=_told_of_ends(connections),
        keepalive_timeout=limits.idle_s,
        lingering_time=LINGER_S,
        max_headers=MOST_HEADERS,
        handler_cancellation=handler_cancellation,
        shutdown_timeout=shutdown_s,
    )
    await runner.setup()
    server: asyncio.Server | None = None
    try:
        assert runner.server is not None
        serve = runner.server
        server = await _listen(lambda: Connection(serve(), connections, limits), host, port, key)
        yield server.sockets[0].getsockname()[:2]
    finally:
        if server is not None:
            server.close()
        await runner.cleanup()
        connections.close()


async def _listen(
    connection: Callable[[], Connection], host: str, port: int, key: str
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(connection, host, port, backlog=BACKLOG)
    except OSError as fault:
        raise ConfigError(f"{listening_fault(fault, key, host, port)}") from None
    except UnicodeError:  # a name that no host can have
        raise ConfigError(f"{key}: {host!r} is no host's name; write e.g. 127.0.0.1") from None


def _told_of_ends(connections: Connections) -> type[AbstractAccessLogger]:
    """Only here the library says that an answer was sent whole: a file is sent after the handlers.
    Nothing is logged, a query may hold the token."""

    class AnswerSent(AbstractAccessLogger):
        def log(self, request: web.BaseRequest, *_: Any) -> None:
            connections.end(request)

    return AnswerSent


def serving_hooks(
    limits: ConnectionLimits | None = None,
) -> Callable[[web.Application], AbstractAsyncContextManager[int]]:
    """How the programs' hooks are listened to: all come from this machine."""
    limits = limits or ConnectionLimits()
    limits = replace(limits, of_peer=limits.most, proxies=Proxies())

    @asynccontextmanager
    async def serve(app: web.Application) -> AsyncIterator[int]:
        async with listening(
            app, "hooks", "127.0.0.1", 0, limits, shutdown_s=0.1, handler_cancellation=True
        ) as (_, port):
            yield port

    return serve


def log_shortage(loop: asyncio.AbstractEventLoop) -> None:
    """Log once a minute that no connection can be taken, for want of file descriptors.

    The loop would write a traceback for each try, a hundred a second; it tries again by itself.
    """
    told, times = -TOLD_EVERY_S, 0

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal told, times
        if not context["message"].startswith("socket.accept()"):
            loop.default_exception_handler(context)
            return
        times += 1
        if loop.time() - told >= TOLD_EVERY_S:
            log.error("connections.impossible", reason=context.get("exception"), times=times)
            told, times = loop.time(), 0

    loop.set_exception_handler(handle)
