"""Ends sessions: nobody asked for an hour, or somebody said `!new`. The memory learns of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from gateway.core.ledger import SessionKey, UnusedSession
from gateway.core.sql_ledger import SqlLedger
from memory.layers import EndedSession, Spawn
from store.health import StoreRefusal

log = structlog.stdlib.get_logger("moot.idle")

LOOK_S = 60.0  # at least so often, as turns may have begun and ended meanwhile
SOONEST_S = 1.0
AT_ONCE = 2  # ends that are learned from at a time: a start after a long while may find hundreds


class IdleSessions:
    """Reports every ended session to the memory once, and notes when that was learned.

    The note names the session's last use: a session that is used again may end again, and an end
    that a crash left unlearned is told again. The session's program is left alone.
    """

    def __init__(
        self,
        *,
        ledger: SqlLedger,
        remember: Callable[[EndedSession], asyncio.Future[None]],
        busy: Callable[[SessionKey], bool],
        spawn: Spawn,
        idle_s: float,
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """busy: whether turns of a session wait or run."""
        self._ledger = ledger
        self._remember = remember
        self._busy = busy
        self._spawn = spawn
        self._idle = timedelta(seconds=idle_s)
        self._clock = clock
        self._sleep = sleep
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Look for idle sessions for ever."""
        while True:
            wait_s = LOOK_S
            try:
                await self.look()
                wait_s = await self._due_in_s()
            except StoreRefusal as error:
                log.warning("idle.failed", reason=str(error))
            except Exception:  # a memory layer's border: no turn depends on it
                log.exception("idle.failed")
            await self._sleep(wait_s)

    async def look(self) -> int:
        """End what is idle, some at a time, until it is learned; return how many."""
        found = await self._ledger.idle_sessions(self._clock() - self._idle)
        ended = await asyncio.gather(*(self._end_idle(one) for one in found))
        return sum(ended)

    def end(self, ended: UnusedSession) -> None:
        """Tell the memory at once, behind what it was told before."""
        learned = self._remember(ended.session)
        self._spawn(self._note(ended, learned), f"end {ended.session.persona}")

    async def _end_idle(self, ended: UnusedSession) -> bool:
        session = ended.session
        async with self._slots:
            if self._busy(ended.key):
                return False
            log.info("session.idle", persona=session.persona)
            await self._note(ended, self._remember(session))
        return True

    async def _note(self, ended: UnusedSession, learned: asyncio.Future[None]) -> None:
        """Note the end as soon as it is learned; not when that was broken off."""
        await asyncio.wait([learned])
        if not learned.cancelled():
            await self._ledger.ended_session(ended, self._clock())

    async def _due_in_s(self) -> float:
        first = await self._ledger.used_first()
        if first is None:
            return LOOK_S
        due_s = (first + self._idle - self._clock()).total_seconds()
        return min(max(due_s, SOONEST_S), LOOK_S)
