"""The owner of a platform that has none yet: who mentions a persona first, once it is confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from contract.chat import Room, Speaker
from contract.values import dataclass
from gateway.access.access import TRUSTED, Access
from gateway.access.grants import EVERYWHERE, Grants, KeptGrant

log = structlog.stdlib.get_logger("moot.access")

OPEN_MINUTES = 10


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody who may be the owner: the first who mentioned a persona on their platform."""

    person: Speaker
    room: Room
    persona: str
    at: datetime


class Claims:
    """At most one waits. None is taken once the platform has an owner, or `OPEN_MINUTES` after the
    start. waiting: the one that does."""

    def __init__(
        self,
        access: Access,
        grants: Grants,
        clock: Callable[[], datetime],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """changed: told when one waits, or does no more."""
        self._access = access
        self._grants = grants
        self._clock = clock
        self._changed = changed
        self._until = clock() + timedelta(minutes=OPEN_MINUTES)
        self._refused: set[str] = set()
        self._came = asyncio.Event()
        self._gone = asyncio.Event()
        self.waiting: Claim | None = None

    def heard(self, room: Room, person: Speaker, persona: str) -> None:
        """Somebody asked a persona."""
        open_ = self.waiting is None and self._clock() < self._until
        if not open_ or person.kind != "human" or room.source in TRUSTED:
            return
        if person.id in self._refused or self._access.is_owned(room.source):
            return
        self.waiting = Claim(person, room, persona, self._clock())
        log.info("access.claimed", room=room.id, sender=person.id)
        self._gone.clear()
        self._came.set()
        self._changed()

    async def next(self) -> Claim:
        """The one that waits, as soon as one does."""
        await self._came.wait()
        assert self.waiting is not None
        return self.waiting

    async def gone(self) -> None:
        """Return as soon as none waits."""
        await self._gone.wait()

    async def decide(
        self, person_id: str, by: Speaker, *, accepts: bool
    ) -> KeptGrant | Claim | None:
        """Make them the owner of all of Moot, or don't. None: they don't wait."""
        claim = self.waiting
        if claim is None or claim.person.id != person_id:
            return None
        self.waiting = None
        self._came.clear()
        self._gone.set()
        if accepts:
            return await self._grants.grant(claim.person, "owner", EVERYWHERE, by)
        self._refused.add(person_id)
        self._changed()
        return claim
