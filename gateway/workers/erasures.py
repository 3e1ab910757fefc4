"""Deletes what the broker and the workers have of scopes that were erased, until all say so.

What is to go is noted in the database, with the erasure itself or by another process beside, and is
done with place by place: at once where a worker is there, else when it is back. No session of the
scope is opened at a place that still has the old one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime

import structlog

from gateway.sessions.sessions import digest
from gateway.workers.answers import Answers
from gateway.workers.erasure_rows import BROKER, Erasure, done, note, pending
from gateway.workers.fleet import Fleet
from gateway.workers.held import call
from gateway.workers.link import Link, LinkDown
from gateway.workers.messages import Answered, Forget, ScopeGone
from store.database import Store
from store.health import StoreRefusal

log = structlog.stdlib.get_logger("moot.workers")

LOOK_S = 5.0  # for what another process noted
AGAIN_S = 0.25
REPLY_S = 30.0  # a working directory may be large
PROMPT_S = 3.0  # so long somebody waits to hear that it is gone


class Erasures:
    """Carries them out. places: the broker and the workers that were added, by their files. end:
    ends the living sessions of a scope, by its digest, that nobody uses."""

    def __init__(
        self,
        store: Store,
        places: Callable[[], Sequence[str]],
        clock: Callable[[], datetime],
        end: Callable[[str], None] = lambda scope_digest: None,
    ) -> None:
        self.end = end
        self._store, self._places, self._clock = store, places, clock
        self._pending: dict[tuple[str, str], Erasure] = {}
        self._noted = asyncio.Event()
        self._changed = asyncio.Condition()

    async def forget(self, scope: str) -> tuple[str, ...]:
        """Let go what programs recorded of a scope; returns the places that still have it."""
        places, now = self._places(), self._clock()
        await self._store.write(lambda c: note(c, places, [scope], now, whole=False))
        await self._load()
        self._noted.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PROMPT_S), self._changed:
                await self._changed.wait_for(lambda: not self.places(digest(scope)))
        return tuple(sorted(self.places(digest(scope))))

    def places(self, scope_digest: str) -> set[str]:
        """Where a scope still has what is to go."""
        return {place for place, one in self._pending if one == scope_digest}

    async def _load(self) -> None:
        rows = await self._store.read(pending, small=True)
        known = {*self._places(), BROKER}
        removed = [one for one in rows if one.place not in known]
        if removed:  # it is let in no more, and is not heard again
            await self._store.write(lambda c: done(c, removed))
        self._pending = {(one.place, one.scope_digest): one for one in rows if one.place in known}
        async with self._changed:
            self._changed.notify_all()

    async def begin(self) -> None:
        """Know what is still to be done, before any session is opened. Raises StoreRefusal."""
        await self._load()

    async def run(self, link: Link, fleet: Fleet, answers: Answers) -> None:
        """Carry them out, for ever."""
        while True:
            try:
                await self._load()
                if self._pending:
                    await self._round(link, fleet, answers)
            except (StoreRefusal, LinkDown) as error:
                log.info("erasure.waits", reason=str(error))
            self._noted.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S if self._is_due(fleet) else LOOK_S):
                    await self._noted.wait()

    def _is_due(self, fleet: Fleet) -> bool:
        """True if a place is there that has something to delete."""
        return any(place == BROKER or fleet.hears_of(place) for place, _ in self._pending)

    async def _round(self, link: Link, fleet: Fleet, answers: Answers) -> None:
        """Raises StoreRefusal, LinkDown."""
        for one in {scope for _, scope in self._pending}:
            self.end(one)
        free = [one for one in self._pending.values() if not fleet.lives(one.scope_digest)]
        if broker := [one for one in free if one.place == BROKER]:
            scopes = frozenset(one.scope_digest for one in broker)
            answers.forget(scopes)
            await link.forget(scopes, lambda said: _scope_of(said) in scopes)
            await self._done(broker)
        there = [one for one in free if fleet.hears_of(one.place)]
        asked = await asyncio.gather(*(self._asked(link, fleet.term, one) for one in there))
        await self._done([one for one, gone in zip(there, asked, strict=True) if gone])

    async def _asked(self, link: Link, term: int, one: Erasure) -> bool:
        """Ask a worker; True when it says that it is gone."""
        wanted = Forget(term=term, scope=one.scope_digest, whole=one.whole, at=one.at)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REPLY_S):
                told = await call(link, f"moot.to.{one.place}.forget", wanted.encoded())
                return ScopeGone.model_validate_json(told).gone
        return False

    async def _done(self, gone: Sequence[Erasure]) -> None:
        if not gone:
            return
        await self._store.write(lambda c: done(c, gone))
        for one in gone:
            log.info("scope.forgotten", worker=one.place or "broker", whole=one.whole)
        await self._load()


def _scope_of(said: bytes) -> str:
    """The digest of the scope that an answer in the log is of."""
    try:
        return Answered.model_validate_json(said).scope_digest
    except ValueError:
        return ""
