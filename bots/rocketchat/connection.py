"""The streams of a Rocket.Chat server, and what they didn't bring.

Each connection logs in and subscribes to all messages of the account's rooms.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from pydantic import ValidationError

from bots.kit.backfill import OVERLAP, CatchUp
from bots.kit.inbound import Delivery
from bots.kit.retry import stay_connected
from bots.rocketchat.api import RocketApi
from bots.rocketchat.backfill import Backfill, MissedChanges
from bots.rocketchat.ddp import Ddp, DdpTimeouts, StreamEvent
from bots.rocketchat.inbound import EventHandler
from bots.rocketchat.wire import WireRoom, message
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


ROOM, USER = "stream-notify-room", "stream-notify-user"
DELETED, PRUNED = "deleteMessage", "deleteMessageBulk"

# A connection may call or subscribe 40 times in 10 s; half of it is for subscriptions.
_REST_S = 0.5
_FEW, _MOST = 8, 300  # rooms

MESSAGES = "stream-room-messages"


class Subscriptions:
    """The rooms whose deletions are asked for, one after the other: first those with questions."""

    def __init__(self) -> None:
        self._rooms: set[str] = set()
        self._asked: set[str] = set()
        self._waiting: asyncio.PriorityQueue[tuple[bool, int, str]] = asyncio.PriorityQueue()
        self._numbers = itertools.count()

    def clear(self) -> None:
        """A new connection has asked for nothing yet."""
        self._rooms.clear()
        self._asked.clear()
        while not self._waiting.empty():
            self._waiting.get_nowait()

    def add(self, rid: str, *, first: bool = False) -> None:
        """first: something is said there now, and may be taken back soon."""
        is_new = rid not in self._rooms
        if is_new and (len(self._rooms) < _MOST or first):
            self._rooms.add(rid)
        elif is_new or not first or rid in self._asked:
            return
        self._waiting.put_nowait((not first, next(self._numbers), rid))

    async def rooms(self, ddp: Ddp) -> None:
        """Subscribe to the rooms that are added, for ever."""
        while True:
            _, _, rid = await self._waiting.get()
            if rid in self._asked:
                continue
            self._asked.add(rid)
            for what in (DELETED, PRUNED):
                await _try(ddp, ROOM, f"{rid}/{what}")
                await asyncio.sleep(_REST_S if len(self._rooms) > _FEW else 0)

    async def own(self, ddp: Ddp, own_id: str) -> None:
        for event in ("subscriptions-changed", "rooms-changed"):
            await _try(ddp, USER, f"{own_id}/{event}")


async def _try(ddp: Ddp, stream: str, event: str) -> None:
    """Subscribe; what the server doesn't give is done without."""
    try:
        await ddp.subscribe(stream, event)
    except PlatformError as error:
        log.info("watch.failed", reason=error)


class MessageStreams:
    """login: signs a connection in and returns the account's user id."""

    def __init__(
        self,
        api: RocketApi,
        timeouts: DdpTimeouts,
        login: Callable[[Ddp], Awaitable[str]],
        missed: Backfill,
        delivery: Delivery,
    ) -> None:
        self._api, self._timeouts, self._login = api, timeouts, login
        self._missed, self._cursor = missed, missed.cursor
        self._order = CatchUp(missed.cursor, delivery)
        self._watch = Subscriptions()
        self.ddp: Ddp | None = None  # while it is connected and logged in

    async def listen(self, handler: EventHandler) -> None:
        """Listen for ever. Raises MootError for a refused account, and what the handler raises."""

        async def connect(stands: Callable[[], None]) -> None:
            try:
                async with Ddp.open(self._api.http(), self._api.url, self._timeouts) as ddp:
                    own_id = await self._login(ddp)
                    await ddp.subscribe(MESSAGES, "__my_messages__")
                    self.ddp = ddp
                    stands()
                    await self._attend(ddp, own_id, handler)
            finally:
                self.ddp = None

        await stay_connected("rocketchat", connect)

    async def _attend(self, ddp: Ddp, own_id: str, handler: EventHandler) -> None:
        """One connection, until it is lost. What a handler raises ends it, and is raised."""
        since = await self._order.since(self._api.server_date)
        rooms = await self._missed.rooms()
        self._cursor.rooms.update(rooms)
        self._watch.clear()
        for rid in rooms:
            self._watch.add(rid)
        async with self._order.connected(rooms) as group:
            group.create_task(self._watch.rooms(ddp), name="watch the rooms")
            group.create_task(self._watch.own(ddp, own_id), name="watch our rooms' names")
            missed = self._catch_up(rooms, since, handler)
            group.create_task(missed, name="ask Rocket.Chat for what was missed")
            while (told := await ddp.next()) is not None:
                group.create_task(self._take(told, since, handler), name="take a message")

    async def _catch_up(
        self, rooms: Mapping[str, str], since: datetime, handler: EventHandler
    ) -> None:
        async def ask(rid: str) -> MissedChanges:
            return await self._missed.of(rid, rooms[rid], since)

        async def give(rid: str, found: MissedChanges) -> None:
            for wire in found.updated:
                await handler.message(wire, None, since=since, missed=True)
            for message_id in found.deleted:
                await handler.removed(rid, message_id)

        quiet, abreast = self._missed.quiet(rooms, since), self._missed.abreast
        asked = self._missed.asked(rooms, quiet)
        await self._order.missed(asked, since, ask, give, quiet=quiet, abreast=abreast)

    # ── What is told ────────────────────────────────────────────────────────────────────

    async def _take(self, told: StreamEvent, since: datetime, handler: EventHandler) -> None:
        args = _flat(told.args)
        if told.stream == MESSAGES and args:
            await self._message(args, since, handler)
        elif told.stream == ROOM:
            await self._removed(told.event, args, since, handler)
        elif told.stream == USER:
            self._room(told.event, args, handler)

    async def _message(self, args: Sequence[Any], since: datetime, handler: EventHandler) -> None:
        try:
            wire = message(args[0])
        except ValueError as error:
            log.warning("event.unreadable", reason=error)
            return
        about = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
        if about.get("roomParticipant") is False:  # every public room is told to everybody
            return
        kind = str(about.get("roomType") or "") or None
        told = {"rid": wire.rid, "t": kind, "name": about.get("roomName")}
        room = WireRoom.model_validate(told)
        self._watch.add(wire.rid, first=True)
        async with self._order.told(wire.rid, wire.updated_at or wire.ts):
            await handler.message(wire, room, since=since, missed=False)
        self._cursor.rooms.setdefault(wire.rid, kind or "")

    async def _removed(
        self, event: str, args: Sequence[Any], since: datetime, handler: EventHandler
    ) -> None:
        rid, _, what = event.partition("/")
        told = args[0] if args and isinstance(args[0], dict) else {}
        ids: Sequence[Any] = [told["_id"]] if told.get("_id") else told.get("ids") or ()
        if what == PRUNED and not ids:
            ids = await self._pruned(rid, since)
        for message_id in ids:
            async with self._order.told(rid):
                await handler.removed(rid, str(message_id))

    async def _pruned(self, rid: str, since: datetime) -> Sequence[str]:
        """A room whose messages of a time were removed doesn't say which."""
        try:
            return await self._missed.deleted(rid, (self._cursor.since or since) - OVERLAP)
        except PlatformError as error:
            log.warning("removal.unknown", room=rid, reason=error)
            return ()

    def _room(self, event: str, args: Sequence[Any], handler: EventHandler) -> None:
        if len(args) < 2 or not isinstance(args[1], dict):
            return
        try:
            room = WireRoom.model_validate(args[1])
        except ValidationError:
            return
        if rid := room.rid or room.id:
            if event.endswith("/subscriptions-changed"):
                self._watch.add(rid)
                self._cursor.rooms[rid] = room.t or ""
            handler.room_changed(room)


def _flat(args: Sequence[Any]) -> Sequence[Any]:
    """Servers before 4.0 wrap a message in a list of its own."""
    if args and isinstance(args[0], list):
        return [*args[0], *args[1:]]
    return args
