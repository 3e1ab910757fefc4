"""Sends every event to every open page as server-sent events.

Events are heard while a page is open, and for a while after it was. Each client has an outbox of
bounded size. A client that reads too slowly loses what waits for it and is told to reload; one that
comes back with the id of the last event it saw gets what it missed, if that is still kept.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import structlog
from aiohttp import web

from contract.values import dataclass
from gateway.core.events import EPHEMERAL, SNAPSHOTS, AppEvent, EventBus, TurnChanged

Picture = Sequence[Sequence[tuple[str, str]]]
"""A terminal: rows of (text, CSS classes) runs."""

Sees = Callable[[AppEvent], bool]
"""Whether an event is for a client's eyes."""

log = structlog.stdlib.get_logger("moot.gateway")

HEARTBEAT_S = 15.0  # proxies cut a silent stream after 30 to 60 s
STALL_S = 30.0  # a client that takes no byte for so long is gone
KEPT, KEPT_BYTES = 1_000, 8 << 20  # events for a client that comes back,
KEPT_S = 60.0  # and for so long after the last one left
WAITING, WAITING_BYTES = 256, 4 << 20  # frames in one client's outbox

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


def frame(kind: str, data: Any, event_id: str | None = None) -> bytes:
    """One server-sent event; `data` as one line of JSON."""
    head = f"id: {event_id}\n" if event_id else ""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{head}event: {kind}\ndata: {text}\n\n".encode(errors="replace")


class Outbox:
    """Frames that wait for one client. Over the bounds they go, and `reload` takes their place."""

    def __init__(self) -> None:
        self._frames: dict[object, bytes] = {}
        self._bytes = 0
        self._ready = asyncio.Event()
        self._closed = False

    def put(self, data: bytes, key: object = None) -> None:
        """Add a frame; it takes the place of a waiting one with the same key."""
        if key is not None:
            self._bytes -= len(self._frames.pop(key, b""))
        full = len(self._frames) >= WAITING or self._bytes + len(data) > WAITING_BYTES
        if self._frames and full:
            self._frames.clear()
            self._bytes = 0
            data = frame("reload", {"reason": "slow"})
        self._frames[key if key is not None else object()] = data
        self._bytes += len(data)
        self._ready.set()

    def close(self) -> None:
        """Nothing comes any more; what waits is dropped."""
        self._closed = True
        self._ready.set()

    async def take(self, within_s: float) -> bytes | None:
        """All that waits, joined; b"" when nothing came in time; None at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._ready.wait()
        if self._closed:
            return None
        waiting = b"".join(self._frames.values())
        self._frames.clear()
        self._bytes = 0
        self._ready.clear()
        return waiting


@dataclass(frozen=True, slots=True)
class _Kept:
    number: int
    event: AppEvent
    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class _Client:
    room_id: str | None
    sees: Sees
    outbox: Outbox

    def wants(self, event: AppEvent) -> bool:
        asked = self.room_id is None or event.room_id is None or event.room_id == self.room_id
        return self.sees(event) and asked


class Hub:
    """Hands the events to every client. view: an event as JSON."""

    def __init__(
        self,
        events: EventBus,
        view: Callable[[AppEvent], Mapping[str, Any]],
    ) -> None:
        self._events = events
        self._view = view
        self._epoch = secrets.token_hex(4)  # ids of an earlier process mean nothing here
        self._number = 0
        self._kept: deque[_Kept] = deque()
        self._kept_bytes = 0
        self._snapshots: dict[tuple[str, str], _Kept] = {}  # the newest of turns that run
        self._clients: set[_Client] = set()
        self._leaving: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def clients(self) -> int:
        """Open streams."""
        return len(self._clients)

    @property
    def closed(self) -> bool:
        """No stream goes on."""
        return self._closed

    def position(self) -> str:
        """Where a client can begin that comes within KEPT_S: what happens meanwhile is kept."""
        self._events.listeners.add(self.publish)
        if not self._clients:
            self._leave_later()
        return f"{self._epoch}-{self._number}"

    def publish(self, event: AppEvent) -> None:
        """Hand one event to the clients that want it."""
        try:
            data = self._view(event)
        except Exception:  # whoever published it must not fail for what the page can't show
            log.exception("stream.broken")
            self._forget()
            for client in self._clients:
                client.outbox.put(frame("reload", {"reason": "restart"}))
            return
        key = (event.type, event.turn_id) if isinstance(event, SNAPSHOTS) else None
        if isinstance(event, EPHEMERAL):
            encoded = frame(event.type, data)
            if key is not None:
                self._snapshots[key] = _Kept(self._number, event, encoded)
        else:
            self._number += 1
            encoded = frame(event.type, data, f"{self._epoch}-{self._number}")
            self._keep(_Kept(self._number, event, encoded))
            if isinstance(event, TurnChanged) and event.turn.state != "running":
                for kind in SNAPSHOTS:
                    self._snapshots.pop((kind.type, event.turn.id), None)
        for client in self._clients:
            if client.wants(event):
                client.outbox.put(encoded, key)

    @contextmanager
    def listen(
        self, room_id: str | None, after: str | None, sees: Sees = lambda event: True
    ) -> Iterator[Outbox]:
        """A client's outbox. after: id of the last event it saw; what it missed comes first."""
        client = _Client(room_id, sees, Outbox())
        missed = self._missed(after)
        position = f"{self._epoch}-{self._number}" if missed is None else None
        hello = frame("hello", {"resumed": missed is not None}, position)
        wanted = (kept.data for kept in missed or () if client.wants(kept.event))
        client.outbox.put(hello + b"".join(wanted))
        if self._closed:
            client.outbox.close()
        if self._leaving is not None:
            self._leaving.cancel()
        self._clients.add(client)
        self._events.listeners.add(self.publish)
        try:
            yield client.outbox
        finally:
            self._clients.discard(client)
            if not self._clients:
                self._leave_later()

    def _leave_later(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        self._leaving = asyncio.get_running_loop().call_later(KEPT_S, self._leave)

    def _leave(self) -> None:
        self._events.listeners.discard(self.publish)
        self._forget()

    def close(self) -> None:
        """End every stream, now and later."""
        self._closed = True
        self._events.listeners.discard(self.publish)
        for client in self._clients:
            client.outbox.close()

    def _keep(self, kept: _Kept) -> None:
        self._kept.append(kept)
        self._kept_bytes += len(kept.data)
        while len(self._kept) > KEPT or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft().data)

    def _missed(self, after: str | None) -> list[_Kept] | None:
        epoch, _, number = (after or "").partition("-")
        if epoch != self._epoch or not number.isascii() or not number.isdigit():
            return None
        seen = int(number[:18])
        oldest = self._kept[0].number if self._kept else self._number + 1
        if not oldest - 1 <= seen <= self._number:
            return None
        drafts = [kept for kept in self._snapshots.values() if kept.number >= seen]
        return [*(kept for kept in self._kept if kept.number > seen), *drafts]

    def _forget(self) -> None:
        """Nobody can go on where they were."""
        self._kept.clear()
        self._kept_bytes = 0
        self._snapshots.clear()
        self._epoch = secrets.token_hex(4)


async def open_stream(request: web.Request) -> web.StreamResponse:
    """A response that events can be written to."""
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    return response


async def write(response: web.StreamResponse, data: bytes) -> bool:
    """Write to a client; False when it is gone or takes nothing."""
    try:
        async with asyncio.timeout(STALL_S):
            await response.write(data)
    except (ConnectionError, TimeoutError):
        return False
    return True


async def send_all(
    response: web.StreamResponse, outbox: Outbox, is_live: Callable[[], bool] = lambda: True
) -> None:
    """Write what comes into the outbox, and a heartbeat when nothing does, until the end, or until
    whoever reads may no longer."""
    while (waiting := await outbox.take(HEARTBEAT_S)) is not None:
        if not is_live() or not await write(response, waiting or frame("beat", {})):
            return


async def changes(
    picture: Callable[[], Picture | None],
    *,
    every_s: float,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[Picture | None]:
    """A picture whenever it changed; None after a quiet time; ends when there is none."""
    shown: Picture | None = None
    quiet_s = 0.0
    while (now := picture()) is not None:
        if shown is None or now != shown:
            shown, quiet_s = now, 0.0
            yield now
        elif quiet_s >= HEARTBEAT_S:
            quiet_s = 0.0
            yield None
        quiet_s += every_s
        await sleep(every_s)
