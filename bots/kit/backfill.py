"""The gap before a connection: what was said in it goes before what is told now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeVar

import structlog

from bots.kit.cursor import Cursor
from bots.kit.inbound import Delivery
from bots.kit.lanes import first_failure

T = TypeVar("T")

log = structlog.stdlib.get_logger("moot.bots")

# Messages are told in no strict order, and the first start knows the server's time to a second.
OVERLAP = timedelta(seconds=15)

_SAVE_S = 1.0
_ABREAST = 8  # rooms that are asked side by side


class CatchUp:
    """One connection after the other: each asks for what was missed since the last one, and a
    room's live events wait until that is handed on, so that they come in their order."""

    def __init__(self, cursor: Cursor, delivery: Delivery) -> None:
        self.cursor, self._delivery = cursor, delivery
        self._waiting: set[str] = set()  # rooms whose missed events aren't handed on yet
        self._live: set[str] = set()  # rooms of which something was told by this connection

    async def since(self, server_date: str) -> datetime:
        """The time from which messages count, by the server's clock. server_date: of its last
        answer, as a header has it: before the first connection ever nothing counts."""
        await self.cursor.load()
        if (since := self.cursor.since) is None:
            since = datetime.now(UTC)
            with suppress(ValueError, TypeError):
                since = parsedate_to_datetime(server_date)
            self.cursor.begin(since)
            await self.cursor.save()
        return since - OVERLAP

    @asynccontextmanager
    async def connected(self, rooms: Collection[str]) -> AsyncIterator[asyncio.TaskGroup]:
        """One connection to these rooms, as long as the block goes on. What is under way at its end
        is given up, and comes again with the next. Raises what a task of the group raises."""
        self._waiting, self._live = set(rooms), set()
        for room in rooms:
            await self._delivery.in_room(room).acquire()  # free: nothing runs between two
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._save(), name="save the cursor")
                log.info("bot.connected", rooms=len(rooms))
                yield group
                raise _Lost
        except BaseExceptionGroup as failed:
            if not isinstance(first := first_failure(failed), _Lost):
                raise first from failed
        finally:
            self._release(self._waiting)
            self.cursor.settle(self.cursor.since)
            await self.cursor.save()

    async def _save(self) -> None:
        while True:
            await self.cursor.save()
            await asyncio.sleep(_SAVE_S)

    async def missed(
        self,
        rooms: Collection[str],
        since: datetime,
        ask: Callable[[str], Awaitable[T]],
        give: Callable[[str, T], Awaitable[None]],
        *,
        quiet: Collection[str] = (),
        abreast: int = _ABREAST,
    ) -> None:
        """Ask for what was missed in these rooms and hand it on: first those of which something is
        told meanwhile, last the quiet ones.

        quiet: rooms in which nothing was said: only edits and deletions can be missing there, and
        what is told of them waits for nothing.
        """
        left = list(rooms)

        async def ask_on() -> None:
            while left:
                room = min(left, key=lambda one: (one not in self._live, one in quiet))
                left.remove(room)
                found = await ask(room)
                if room not in self._waiting:
                    await self._delivery.in_room(room).acquire()
                self._waiting.add(room)
                await give(room, found)
                self._release({room})

        with self.cursor.taking(since + OVERLAP, moves=False):
            self._release(self._waiting & set(quiet))
            async with asyncio.TaskGroup() as group:
                for number in range(abreast):
                    group.create_task(ask_on(), name=f"ask for what was missed, {number}")

    def _release(self, rooms: Collection[str]) -> None:
        for room in list(rooms):
            self._waiting.discard(room)
            self._delivery.in_room(room).release()

    @asynccontextmanager
    async def told(self, room: str, at: datetime | None = None) -> AsyncIterator[None]:
        """While a live event is taken, after what was missed in its room. at: its time, which moves
        the cursor; None: it has none."""
        self._live.add(room)
        moves, at = at is not None, at or self.cursor.since or datetime.now(UTC)
        with self.cursor.taking(at, moves=moves):
            async with self._delivery.in_room(room):
                yield


class _Lost(Exception):
    """The connection is."""
