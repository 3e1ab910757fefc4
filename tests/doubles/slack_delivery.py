"""How the double's events reach an app: envelopes over sockets, or signed requests over HTTP.

An envelope goes to one of the open sockets. Unacknowledged after `ack_s`, or when its socket is
gone, it is sent again, three times at the most, as Slack does; a `forgetful` delivery drops what
finds no socket, as Slack does after a long cut.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
import time
import urllib.parse
from collections import defaultdict
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import aiohttp
from aiohttp import web

Json = dict[str, Any]

RETRIES = 3


@dataclass(slots=True)
class Envelope:
    """One delivery. sent: how often so far, and at last when, by perf_counter. acked_at: when its
    ack came, likewise. answer: what the app sent back with its ack.
    """

    kind: str
    payload: Json
    id: str = field(default_factory=lambda: str(uuid4()))
    sent: int = 0
    sent_at: float = 0.0
    acked_at: float = 0.0
    statuses: list[int] = field(default_factory=list)
    answer: Json | None = None
    acked: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)  # its ack, or its socket is gone
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Delivery:
    def __init__(self, team: str, app: str, bot_user: str, signing_secret: str) -> None:
        self._team, self._app, self._bot_user = team, app, bot_user
        self._secret = signing_secret
        self.ack_s = 3.0
        self.retry_delays_s: tuple[float, ...] = (0.0, 60.0, 300.0)  # HTTP
        self.events_url: str | None = None  # set: HTTP instead of sockets
        self.forgetful = False
        self.envelopes: list[Envelope] = []
        self._by_id: dict[str, Envelope] = {}
        self.tickets: set[str] = set()
        self.sockets: list[web.WebSocketResponse] = []
        self.connections = 0  # made so far
        self._transports: dict[web.WebSocketResponse, asyncio.Transport] = {}
        self._sent_on: defaultdict[web.WebSocketResponse, dict[str, Envelope]] = defaultdict(dict)
        self._numbers = itertools.count(1)
        self.turn = itertools.count()  # whose, of the sockets
        self._open = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    # ── What is delivered ───────────────────────────────────────────────────────────────

    def event(self, event: Json) -> Envelope:
        number = next(self._numbers)
        who = {"team_id": self._team, "user_id": self._bot_user, "is_bot": True}
        payload = {
            "token": "verification",
            "team_id": self._team,
            "api_app_id": self._app,
            "type": "event_callback",
            "event_id": f"Ev{number:08}",
            "event_time": int(time.time()),
            "authorizations": [{**who, "enterprise_id": None, "is_enterprise_install": False}],
            "is_ext_shared_channel": False,
            "event": event,
        }
        return self._deliver(Envelope("events_api", payload))

    def interactive(self, payload: Json) -> Envelope:
        return self._deliver(Envelope("interactive", payload))

    def slash(self, payload: Json) -> Envelope:
        return self._deliver(Envelope("slash_commands", payload))

    def again(self, envelope: Envelope) -> Envelope:
        """The same payload, event id and all, delivered once more."""
        return self._deliver(Envelope(envelope.kind, envelope.payload))

    async def settled(self) -> None:
        """Until every delivery is acknowledged or given up."""
        for envelope in list(self.envelopes):
            await envelope.over.wait()

    def _deliver(self, envelope: Envelope) -> Envelope:
        self.envelopes.append(envelope)
        self._by_id[envelope.id] = envelope
        self._spawn(self._push_http(envelope) if self.events_url else self._push_socket(envelope))
        return envelope

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="deliver")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ── Socket Mode ─────────────────────────────────────────────────────────────────────

    def ticket(self, base: str) -> str:
        ticket = str(uuid4())
        self.tickets.add(ticket)
        query = urllib.parse.urlencode({"ticket": ticket, "app_id": self._app})
        return f"ws{base.removeprefix('http')}/link?{query}"

    async def link(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets:
            return web.Response(status=403, text="used or unknown ticket")
        self.tickets.discard(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        self._transports[socket] = request.transport
        info = {"num_connections": len(self.sockets) + 1, "connection_info": {"app_id": self._app}}
        debug = {"host": "double", "build_number": 1, "approximate_connection_time": 18060}
        await socket.send_json({"type": "hello", **info, "debug_info": debug})
        async with self._open:
            self.sockets.append(socket)
            self.connections += 1
            self._open.notify_all()
        try:
            async for message in socket:
                if message.type == aiohttp.WSMsgType.TEXT:
                    self._acknowledge(json.loads(message.data))
        finally:
            self._drop(socket)
        return socket

    def _drop(self, socket: web.WebSocketResponse) -> None:
        if socket in self.sockets:
            self.sockets.remove(socket)
        self._transports.pop(socket, None)
        for envelope in self._sent_on.pop(socket, {}).values():
            envelope.news.set()

    def _acknowledge(self, ack: Json) -> None:
        if envelope := self._by_id.get(ack.get("envelope_id", "")):
            envelope.answer, envelope.acked_at = ack.get("payload"), time.perf_counter()
            envelope.acked.set()
            envelope.news.set()

    async def connected(self, count: int = 1) -> None:
        """Until so many sockets are open."""
        async with self._open:
            await self._open.wait_for(lambda: len(self.sockets) >= count)

    async def reconnected(self, connections: int) -> None:
        """Until so many connections have been made in all."""
        async with self._open:
            await self._open.wait_for(lambda: self.connections >= connections)

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask the app to connect again, and hang up on it."""
        for socket in list(self.sockets):
            frame = {"type": "disconnect", "reason": reason, "debug_info": {"host": "double"}}
            await socket.send_json(frame)

    def cut(self) -> None:
        """Every connection breaks in the middle."""
        for socket in list(self.sockets):
            transport = self._transports.get(socket)
            self._drop(socket)
            if transport:
                transport.abort()

    async def _push_socket(self, envelope: Envelope) -> None:
        try:
            for attempt in range(RETRIES + 1):
                if self.forgetful and not self.sockets:
                    return
                async with self._open:
                    await self._open.wait_for(lambda: bool(self.sockets))
                    socket = self.sockets[next(self.turn) % len(self.sockets)]
                frame = {
                    "envelope_id": envelope.id,
                    "type": envelope.kind,
                    "accepts_response_payload": False,
                    "payload": envelope.payload,
                    "retry_attempt": attempt,
                    "retry_reason": "timeout" if attempt else "",
                }
                envelope.sent += 1
                envelope.sent_at = time.perf_counter()
                try:
                    await socket.send_json(frame)
                except ConnectionError:
                    continue
                if await self._acked(envelope, socket):
                    return
        finally:
            envelope.over.set()

    async def _acked(self, envelope: Envelope, socket: web.WebSocketResponse) -> bool:
        envelope.news.clear()
        if socket in self.sockets and not envelope.acked.is_set():
            self._sent_on[socket][envelope.id] = envelope
            with suppress(TimeoutError):
                async with asyncio.timeout(self.ack_s):
                    await envelope.news.wait()
            self._sent_on[socket].pop(envelope.id, None)
        return envelope.acked.is_set()

    # ── HTTP ────────────────────────────────────────────────────────────────────────────

    def signature(self, stamp: str, body: bytes) -> str:
        basis = b"v0:" + stamp.encode() + b":" + body
        return "v0=" + hmac.new(self._secret.encode(), basis, hashlib.sha256).hexdigest()

    def request(self, envelope: Envelope) -> tuple[dict[str, str], bytes]:
        """Headers and body of a delivery over HTTP."""
        if envelope.kind == "interactive":
            body = urllib.parse.urlencode({"payload": json.dumps(envelope.payload)}).encode()
            mime = "application/x-www-form-urlencoded"
        elif envelope.kind == "slash_commands":
            body = urllib.parse.urlencode(envelope.payload).encode()
            mime = "application/x-www-form-urlencoded"
        else:
            body, mime = json.dumps(envelope.payload).encode(), "application/json"
        stamp = str(int(time.time()))
        headers = {"Content-Type": mime, "X-Slack-Request-Timestamp": stamp}
        return {**headers, "X-Slack-Signature": self.signature(stamp, body)}, body

    async def _push_http(self, envelope: Envelope) -> None:
        reason = ""
        try:
            for attempt, delay_s in enumerate((0.0, *self.retry_delays_s)):
                await asyncio.sleep(delay_s)
                headers, body = self.request(envelope)
                if attempt:
                    headers |= {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason}
                envelope.sent += 1
                status, final, told = await self._posted(headers, body)
                envelope.statuses.append(status)
                if 200 <= status < 300:
                    envelope.answer = json.loads(told) if told.startswith("{") else None
                    envelope.acked.set()
                    return
                if final:
                    return
                reason = "http_timeout" if status == 0 else "http_error"
        finally:
            envelope.over.set()

    async def _posted(self, headers: dict[str, str], body: bytes) -> tuple[int, bool, str]:
        assert self.events_url is not None
        timeout = aiohttp.ClientTimeout(total=self.ack_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(self.events_url, data=body, headers=headers) as answer,
            ):
                told = await answer.text()
                return answer.status, answer.headers.get("X-Slack-No-Retry") == "1", told
        except (aiohttp.ClientError, TimeoutError):
            return 0, False, ""

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.cut()
