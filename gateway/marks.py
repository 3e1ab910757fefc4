"""Telling people that their message waits, when nothing is held up by it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bots.bot import Bot, Mark
from contract import Place


@dataclass(frozen=True, slots=True)
class _Marked:
    bot: Bot
    place: Place
    message_id: str


class Marks:
    """Marks messages one after the other, so that two hundred at once don't flood a platform."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._queue: asyncio.Queue[tuple[str, _Marked, Mark]] = asyncio.Queue()
        self._pending: dict[str, _Marked] = {}
        self._shown: dict[str, _Marked] = {}
        group.create_task(self._work(), name="marks")

    def waiting(self, turn_id: str, bot: Bot, place: Place, message_id: str) -> None:
        """The turn waits behind another one; told twice it is marked once."""
        known = turn_id in self._pending or turn_id in self._shown
        if bot.manners.marks and not known:
            self._pending[turn_id] = marked = _Marked(bot, place, message_id)
            self._queue.put_nowait((turn_id, marked, "waiting"))

    def ended(self, turn_id: str) -> None:
        """The turn is over: its mark changes, or is never put there."""
        if self._pending.pop(turn_id, None) is None and turn_id in self._shown:
            self._queue.put_nowait((turn_id, self._shown.pop(turn_id), "done"))

    async def _work(self) -> None:
        while True:
            turn_id, marked, mark = await self._queue.get()
            if mark == "waiting":
                if self._pending.pop(turn_id, None) is None:
                    continue
                self._shown[turn_id] = marked
            await marked.bot.mark(marked.place, marked.message_id, mark)
