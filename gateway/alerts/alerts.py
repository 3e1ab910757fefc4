"""Tells a room or a webhook that something needs somebody: once, and once when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime

import structlog

from contract.language import say
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.alerts")

LOOK_S = 10.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that needs somebody. key: the same as long as it lasts. says: one sentence, with no
    text of a message and no secret. over: the sentence when it ends; "": that is not told. values:
    what their `{name}`s stand for.
    """

    key: str
    says: str
    over: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> str:
        """The sentence in the language of now."""
        return say(self.says, **self.values)


@dataclass(frozen=True, slots=True)
class Alert:
    """A trouble that there is now. since: when it was first seen."""

    trouble: Trouble
    since: datetime


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
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._looks = looks
        self._sends = sends
        self._clock = clock
        self._sleep = sleep
        self._raised: Mapping[str, Alert] = {}

    @property
    def raised(self) -> Sequence[Alert]:
        """What there was at the last look, the newest first."""
        return sorted(self._raised.values(), key=lambda alert: alert.since, reverse=True)

    @property
    def are_told(self) -> bool:
        """True if a room or a webhook is told."""
        return bool(self._sends)

    async def run(self) -> None:
        """Look again and again, for ever."""
        while True:
            await self.look()
            await self._sleep(LOOK_S)

    async def look(self) -> None:
        """Tell what is new, and what is over since the last look."""
        now = {one.key: one for look in self._looks for one in look()}
        before, at = self._raised, self._clock()
        self._raised = {
            key: Alert(one, before[key].since if key in before else at) for key, one in now.items()
        }
        gone = [one.trouble for key, one in before.items() if key not in now and one.trouble.over]
        lines = [f"⚠️ {one.in_words()}" for key, one in now.items() if key not in before]
        lines += [f"✅ {say(one.over, **one.values)}" for one in gone]
        for line in lines if self._sends else ():
            log.info("alert.told", places=len(self._sends))
            for send in self._sends:
                await send(line)
