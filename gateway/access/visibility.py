"""The people in a room, and what of the memory an answer there may be made from: one decision for a
turn's prompt and for what its agent reads by MCP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import structlog

from bots.bot import Bot
from contract.chat import Room, Speaker
from contract.errors import PlatformError
from contract.values import dataclass
from gateway.core.ledger import Turn
from memory.members import Members
from memory.scopes import Invocation
from store.rows import StoredMessage

log = structlog.stdlib.get_logger("moot.roster")

FRESH_S = 600.0
MOMENT_S = 2.0

_Key = tuple[str, str]  # a room's id, a bot's name


class Rosters:
    """The members of rooms as last told, asked of the platform in the background: no question
    waits for it. Empty until a platform has told them once.

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


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a persona. roster: who is in the room, as far as its platform has said."""

    message: StoredMessage
    invocation: Invocation
    roster: Sequence[Speaker] = ()


class Visibility:
    """Decides what may be seen, by who takes part in a room."""

    def __init__(self, members: Members, rosters: Rosters, bots: Mapping[str, Bot]) -> None:
        self._members = members
        self._rosters = rosters
        self._bots = bots

    async def asked(self, turn: Turn, room: Room, window: Sequence[StoredMessage]) -> Asked | None:
        """The question of a turn, out of the window of its prompt; None when its message was
        deleted. room: the turn's, with the project whose facts its persona may be told."""
        for message in reversed(window):
            if message.seq == turn.message_seq:
                return await self.of(turn, room, message)
        return None

    async def of(self, turn: Turn, room: Room, message: StoredMessage) -> Asked:
        """The same for a message that may be stored nowhere."""
        roster = self._rosters.known(room, self._bots[turn.bot])
        members: tuple[str, ...] = ()  # who takes part in a room: its roster, else who has spoken
        if turn.room.kind == "room":
            members = tuple(person.id for person in roster if person.kind == "human")
            members = members if roster else await self._members.spoke(turn.scope)
        invocation = Invocation(room, message.by.id, turn.persona, members, turn.scope)
        return Asked(message, invocation, roster)
