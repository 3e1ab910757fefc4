"""Acknowledging people's messages: it waits, somebody works on it, it is done, it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import structlog

from bots.bot import Bot, Reaction
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.marks")

Shown = Literal["all", "waiting", "off"]

WORKING_AFTER_S = 0.3  # a quicker answer needs no sign that it is coming
# Slack lets an app react 50 times a minute, Synapse 10 times at once: answers come before marks.
AT_ONCE, EVERY_S = 10, 1.2
FEW = 5  # when more than these wait to be marked, an answered message without a mark gets none
SLOW_S = 30.0

_ORDER: tuple[Reaction, ...] = ("working", "waiting", "failed", "done")


@dataclass(slots=True)
class _Message:
    """A message that asked somebody. turns: what each of its turns has come to, by id; open: those
    that did not end yet."""

    bot: Bot
    place: Destination
    id: str
    turns: dict[str, Reaction] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    shown: Reaction | None = None
    in_line: bool = False

    def due(self) -> Reaction | None:
        """The reaction that it should bear; None when it bears that already."""
        stages = self.turns.values()
        mark = next((mark for mark in _ORDER if mark in stages), None)
        return None if mark == self.shown else mark


@dataclass(slots=True)
class _Line:
    """The messages of one bot that are to be marked, and how many marks it may put at once."""

    queue: asyncio.Queue[_Message] = field(default_factory=asyncio.Queue)
    left: float = AT_ONCE
    since_s: float = 0.0

    async def pace(self) -> None:
        """Wait until one more may be put."""
        now_s = asyncio.get_running_loop().time()
        self.left = min(AT_ONCE, self.left + (now_s - self.since_s) / EVERY_S)
        self.since_s = now_s
        self.left -= 1
        if self.left < 0:
            await asyncio.sleep(-self.left * EVERY_S)


class TurnReactions:
    """Marks messages in the background, each bot's one after the other: nothing is held up by it,
    and two hundred at once don't flood a platform. What is out of date by then is left out.

    shown: all; only what waits, and what becomes of it; nothing.
    """

    def __init__(self, group: asyncio.TaskGroup, bots: Mapping[str, Bot], shown: Shown) -> None:
        self._shown = shown
        self._lines = {name: _Line() for name, bot in bots.items() if bot.capabilities.reactions}
        for name, line in self._lines.items():
            group.create_task(self._work(line), name=f"marks {name}")
        self._messages: dict[tuple[str, str, str], _Message] = {}
        self._turns: dict[str, _Message] = {}
        self._soon: dict[str, asyncio.TimerHandle] = {}

    def waiting(self, turn_id: str, bot: Bot, place: Destination, message_id: str) -> None:
        """The turn waits behind others; told twice it is marked once."""
        if self._knows(turn_id, bot, place, message_id):
            self._calm(turn_id)
            self._enter(turn_id, "waiting")

    def began(self, turn_id: str, bot: Bot, place: Destination, message_id: str) -> None:
        """The turn has begun."""
        if self._shown == "all" and self._knows(turn_id, bot, place, message_id):
            self.goes_on(turn_id)

    def goes_on(self, turn_id: str) -> None:
        """The turn may have had to wait since it began, and doesn't any more."""
        if self._shown == "all" and turn_id in self._turns and turn_id not in self._soon:
            loop = asyncio.get_running_loop()
            later = loop.call_later(WORKING_AFTER_S, self._enter, turn_id, "working")
            self._soon[turn_id] = later

    def _calm(self, turn_id: str) -> None:
        if (soon := self._soon.pop(turn_id, None)) is not None:
            soon.cancel()

    def ended(self, turn_id: str, mark: Literal["done", "failed"] | None) -> None:
        """The turn is over. None: nobody is there any more who would want to know."""
        self._calm(turn_id)
        message = self._turns.pop(turn_id, None)
        if message is None:
            return
        message.open.discard(turn_id)
        if mark is None:
            message.turns.pop(turn_id, None)
        elif self._shown == "all" or message.shown is not None:
            message.turns[turn_id] = mark
        else:
            message.turns.pop(turn_id, None)
        self._line_up(message)

    def _knows(self, turn_id: str, bot: Bot, place: Destination, message_id: str) -> bool:
        """Remember whose message it is; False where nothing is marked."""
        if self._shown == "off" or bot.name not in self._lines:
            return False
        key = (bot.name, place.room.id, message_id)
        message = self._messages.setdefault(key, _Message(bot, place, message_id))
        message.open.add(turn_id)
        self._turns[turn_id] = message
        return True

    def _enter(self, turn_id: str, mark: Reaction) -> None:
        if (message := self._turns.get(turn_id)) is not None:
            message.turns[turn_id] = mark
            self._line_up(message)

    def _line_up(self, message: _Message) -> None:
        if not message.in_line:
            message.in_line = True
            self._lines[message.bot.name].queue.put_nowait(message)

    async def _work(self, line: _Line) -> None:
        while True:
            message = await line.queue.get()
            if _is_worth_it(message, line):
                await line.pace()
            message.in_line = False
            mark = message.due()
            if mark is not None and _is_worth_it(message, line):
                message.shown = mark
                await _put(message, mark)
            self._forget(message)

    def _forget(self, message: _Message) -> None:
        """A message none of whose turns goes on, and which bears what it should."""
        if not message.in_line and not message.open:
            self._messages.pop((message.bot.name, message.place.room.id, message.id), None)


def _is_worth_it(message: _Message, line: _Line) -> bool:
    mark = message.due()
    if mark in ("done", "failed") and message.shown is None:
        return line.queue.qsize() <= FEW
    return mark is not None


async def _put(message: _Message, mark: Reaction) -> None:
    try:
        async with asyncio.timeout(SLOW_S):
            await message.bot.react(message.place, message.id, mark)
    except (PlatformError, TimeoutError) as error:
        log.info("mark.failed", bot=message.bot.name, reason=str(error))
