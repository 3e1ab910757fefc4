"""One loopback HTTP server that the programs' hooks post to."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import structlog
from aiohttp import web

log = structlog.stdlib.get_logger("moot.adapters.hooks")

Receive = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Takes a hook's payload; its result is the HTTP response. May take an hour: a permission."""

Serve = Callable[[web.Application], AbstractAsyncContextManager[int]]
"""Serves an application at a free port of 127.0.0.1 while the context is open, and gives the port.
A handler is cancelled when its caller is gone; the end of the context waits for none."""

PAYLOAD_BYTES = 8 * 1024 * 1024  # PostToolUse carries whole tool outputs
MOST_VALUES = (
    1_000_000  # in one payload: each takes some 70 bytes of memory, and 0.1 µs of the loop
)
SLOW_S = 0.02  # to parse one; after it the same session's next one waits
PAUSE = 10  # times as long
HELD = 32  # of one session, at a time; a program asks for a few permissions, and waits


class HookListener:
    """Listens on 127.0.0.1, a free port. Every session has a path that nobody can guess.

    secret: every path begins with it, so that one word finds them all, whoever shows one.

    A request whose sender goes away is cancelled, and with it what `Receive` waits for.
    """

    def __init__(self) -> None:
        self._receivers: dict[str, Receive] = {}
        self._held: Counter[str] = Counter()
        self._reading: dict[str, asyncio.Lock] = {}  # one payload of a session at a time
        self.secret = secrets.token_hex(12)
        self._port = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, serve: Serve) -> AsyncIterator[HookListener]:
        """Listen until the context is left; requests still held are cut off then."""
        listener = cls()
        app = web.Application(client_max_size=PAYLOAD_BYTES)
        app.router.add_post("/hook/{key}", listener._serve)
        async with serve(app) as port:
            listener._port = port
            yield listener

    @property
    def endpoint(self) -> str:
        """Its host and port."""
        return f"127.0.0.1:{self._port}"

    def register(self, receive: Receive) -> str:
        """A new URL whose payloads go to `receive` until it is released."""
        key = self.secret + secrets.token_urlsafe(24)
        self._receivers[key] = receive
        self._reading[key] = asyncio.Lock()
        return f"http://{self.endpoint}/hook/{key}"

    def release(self, url: str) -> None:
        """Forget the URL: from now on it answers 404."""
        key = url.rpartition("/")[2]
        self._receivers.pop(key, None)
        self._reading.pop(key, None)

    async def _serve(self, request: web.Request) -> web.Response:
        key = request.match_info["key"]
        receive = self._receivers.get(key)
        if receive is None:
            raise web.HTTPNotFound
        if self._held[key] >= HELD:  # others have use for the listener's connections
            raise web.HTTPTooManyRequests(text="too many hooks of this session wait")
        self._held[key] += 1
        try:
            return web.json_response(dict(await receive(await self._payload(key, request))))
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]

    async def _payload(self, key: str, request: web.Request) -> Mapping[str, Any]:
        """What a hook brings. Raises HTTPBadRequest."""
        async with self._reading[key]:
            data = await request.read()
            began = time.monotonic()
            payload = _parsed(data)
            spent_s = time.monotonic() - began
            if spent_s > SLOW_S:  # an agent that sends such all the time leaves time to others
                await asyncio.sleep(spent_s * PAUSE)
        log.debug("hook.heard", name=payload.get("hook_event_name", "without a name"))
        return payload


def _parsed(data: bytes) -> Mapping[str, Any]:
    """The object that a payload is. Raises HTTPBadRequest."""
    if sum(map(data.count, (b"[", b"{", b","))) > MOST_VALUES:
        raise web.HTTPBadRequest(text="too many values")
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        raise web.HTTPBadRequest(text="not JSON") from None
    if not isinstance(payload, dict):
        raise web.HTTPBadRequest(text="not an object")
    return payload
