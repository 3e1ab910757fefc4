"""Who is in a room: asked of the platform in the background; no question waits for it."""

from __future__ import annotations

import asyncio
import time

import structlog

from bots.bot import Bot
from contract.chat import Room, Speaker
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.roster")

FRESH_S = 600.0
MOMENT_S = 2.0

_Key = tuple[str, str]  # a room's id, a bot's name


class Rosters:
    """The members of rooms as last told; empty until a platform has told them once.

    Each bot leaves itself out, so a room that several share is asked for each.
    """

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._known: dict[_Key, tuple[Speaker, ...]] = {}
        self._asked_at: dict[_Key, float] = {}
        self._asking: dict[_Key, asyncio.Task[None]] = {}

    def known(self, room: Room, bot: Bot) -> tuple[Speaker, ...]:
        """The members known now; asks again when that is older than ten minutes."""
        key = (room.id, bot.name)
        if time.monotonic() - self._asked_at.get(key, float("-inf")) > FRESH_S:
            self._asked_at[key] = time.monotonic()
            task = self._group.create_task(self._ask(room, bot), name=f"roster {room.id}")
            self._asking[key] = task
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return self._known.get(key, ())

    async def awaited(self, room: Room, bot: Bot) -> tuple[Speaker, ...]:
        """The same, where it is worth a moment to be told for the first time."""
        known = self.known(room, bot)
        asking = self._asking.get((room.id, bot.name))
        if known or asking is None:
            return known
        await asyncio.wait({asking}, timeout=MOMENT_S)
        return self._known.get((room.id, bot.name), ())

    async def _ask(self, room: Room, bot: Bot) -> None:
        try:
            async with asyncio.timeout(30):
                self._known[room.id, bot.name] = tuple(await bot.members(room))
        except (PlatformError, TimeoutError) as error:
            log.info("roster.unknown", room=room.id, reason=str(error))
