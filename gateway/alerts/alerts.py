"""Tells a room or a webhook that something needs somebody: once, and once when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog

log = structlog.stdlib.get_logger("moot.alerts")

LOOK_S = 10.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that needs somebody. key: the same as long as it lasts. says: one line, with no
    text of a message and no secret. over: the line when it ends; "": that is not told."""

    key: str
    says: str
    over: str = ""


Look = Callable[[], Iterable[Trouble]]
"""Finds the troubles of a kind that there are now."""
Send = Callable[[str], Awaitable[None]]
"""Tells operators a line. It must not raise what is to be tried again: it tries by itself."""


class Alerts:
    """Looks, and tells each trouble once."""

    def __init__(
        self,
        looks: Sequence[Look],
        sends: Sequence[Send],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._looks = looks
        self._sends = sends
        self._sleep = sleep
        self._told: Mapping[str, Trouble] = {}

    async def run(self) -> None:
        """Look again and again, for ever."""
        while True:
            await self.look()
            await self._sleep(LOOK_S)

    async def look(self) -> None:
        """Tell what is new, and what is over since the last look."""
        now = {one.key: one for look in self._looks for one in look()}
        lines = [one.says for key, one in now.items() if key not in self._told]
        lines += [one.over for key, one in self._told.items() if key not in now and one.over]
        self._told = now
        for line in lines:
            log.info("alert.told", places=len(self._sends))
            for send in self._sends:
                await send(line)
