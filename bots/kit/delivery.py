"""How a bot hands its events to the gateway: a room's in their order, rooms side by side."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from bots.bot import Receive
from contract.chat import Event
from contract.errors import PlatformError, Rejected

log = structlog.stdlib.get_logger("moot.bots")

_GRACE_S = 2.0  # for events under way when the bot stops; the rest is delivered again


class Delivery:
    """Events on their way to the gateway, while the bot runs."""

    def __init__(self, bot: str) -> None:
        self._bot = bot
        self._receive: Receive | None = None
        self._rooms: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._under_way: set[asyncio.Task[Any]] = set()

    def open(self, receive: Receive) -> None:
        """Events are taken from now on."""
        self._receive = receive

    async def close(self) -> None:
        """Take no more events, and let those under way come to their end."""
        self._receive = None
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_GRACE_S)

    @contextmanager
    def taking(self) -> Iterator[None]:
        """While a payload is being taken. Raises PlatformError where the bot doesn't run."""
        task = asyncio.current_task()
        if self._receive is None or task is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        self._under_way.add(task)
        try:
            yield
        finally:
            self._under_way.discard(task)

    def in_room(self, room: str) -> asyncio.Lock:
        """Held while an event of the room is handed on: the next one waits for it."""
        return self._rooms[room]

    async def give(self, event: Event) -> None:
        """Hand one on; return when it is on disk. An event that breaks the contract is left out.

        Raises PlatformError where the bot doesn't run.
        """
        if self._receive is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        try:
            await self._receive(event)
        except Rejected as error:
            self.skip(error)

    def skip(self, error: Exception) -> None:
        """Say in the log why an event is left out."""
        log.warning("event.skipped", bot=self._bot, reason=f"it is left out: {error}")
