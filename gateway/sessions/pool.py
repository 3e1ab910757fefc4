"""Agents' sessions. Those whose programs run on this machine: so many at a time, others asleep.

A sleeping session has no process. Its agent's id is in the ledger, and its next use resumes it
and gives it the whole window again. A session with an API has none at all, so it takes no place:
it waits for none, none waits for it, and it is only forgotten while nobody uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Literal, Protocol

import structlog

from contract.chat import Room
from contract.errors import AgentError
from gateway.core.ledger import SessionKey, UnusedSession
from gateway.core.log_context import LogContext, log_context
from gateway.core.sql_ledger import SqlLedger
from gateway.sessions.capacity import Capacity
from gateway.sessions.opener import SessionOpener
from gateway.sessions.sessions import (
    STOPPED,
    AgentProgram,
    KeptRecords,
    LiveSession,
    Waits,
    digest,
)
from gateway.sessions.slots import SessionSlots
from gateway.settings.personas.personas import Persona
from store.rows import StoredMessage

log = structlog.stdlib.get_logger("moot.sessions")

LOOK_S = 30.0  # at least so often: a program may have ended by itself
SOONEST_S = 1.0
GUESS_S = 2.0  # a place is waited for, until somebody has looked at what programs take

Why = Literal["idle", "cap", "died", "replaced", "shutdown"]
AsSet = Callable[[Persona, SessionKey, Room], Awaitable[Persona]]


async def _as_it_is(persona: Persona, key: SessionKey, room: Room) -> Persona:
    return persona


class Counts(Protocol):
    """Counts starts and ends."""

    def session_started(self, program: str, *, resumed: bool) -> None:
        """A program is ready."""

    def session_ended(self, program: str, why: str) -> None:
        """A program is being ended."""


class SessionPool:
    """Sessions that run on this machine."""

    def __init__(
        self,
        *,
        opener: SessionOpener,
        ledger: SqlLedger,
        clock: Callable[[], datetime],
        counts: Counts,
        capacity: Capacity,
        sleep_s: float,
        as_set: AsSet = _as_it_is,
    ) -> None:
        """capacity: of programs that live at a time. sleep_s: idle so long, it sleeps; 0: never.
        as_set: a persona as people set it for a session.
        """
        self.opener = opener
        self._ledger = ledger
        self._clock = clock
        self._counts = counts
        self._as_set = as_set
        self._sleep = timedelta(seconds=sleep_s) if sleep_s else None
        self._seats = SessionSlots(capacity, self._known, self._make_room)
        self._live: dict[SessionKey, LiveSession] = {}  # the one used last at the end
        self._opening: dict[SessionKey, asyncio.Task[LiveSession]] = {}
        self._ending: dict[SessionKey, asyncio.Task[None]] = {}
        self._asleep: set[SessionKey] = set()
        self.begun = asyncio.Event()  # set with each session that is held
        self.unmeasured = asyncio.Event()  # wants `measured`: nobody knows what a program takes
        self._told = asyncio.Event()  # set when that was done

    def program(self, persona: Persona) -> AgentProgram:
        """The program that the persona's `agent` stands for now."""
        return self.opener.programs(persona.front.agent)

    def edited(self, message: StoredMessage) -> None:
        """A message has another text: agents of its scope that know it are to be told."""
        for live in self._live.values():
            if live.key.scope == message.scope:
                live.edited(message.seq)

    def held(self) -> list[LiveSession]:
        """The sessions that live now, or whose program ended by itself."""
        return list(self._live.values())

    def all(self) -> list[LiveSession]:
        """The sessions that live now."""
        return [live for live in self.held() if live.agent.alive()]

    @property
    def running(self) -> int:
        """The number of their programs."""
        return sum(live.context.program.runs for live in self.all())

    @property
    def asleep(self) -> int:
        """The number of those that were put to sleep since the start and not woken yet."""
        return len(self._asleep)

    @property
    def waiting(self) -> int:
        """The number of those that wait until another one may be put to sleep."""
        return self._seats.waiting

    @property
    def most(self) -> int:
        """The number of those that may live at a time."""
        return self._seats.most

    def fit(self, capacity: Capacity) -> None:
        """Let so many live at a time; none is ended for it, unless somebody waits."""
        self._seats.capacity = capacity
        self._seats.admit()
        self._make_room()

    def measured(self, taken: Mapping[str, Sequence[int]]) -> None:
        """Hear what the living programs of each name take of memory, in bytes. Where it is too
        much, those that nobody uses are put to sleep, if they can be gone on with."""
        if not self.unmeasured.is_set():
            self._told.set()
        self._seats.capacity.measured(taken)
        self._seats.admit()
        self._make_room()
        while self._seats.exceeded():
            if not self._end_one(lambda live: live.context.program.runs and live.keeps()):
                break

    # ── Using one ───────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def use(
        self, persona: Persona, key: SessionKey, room: Room, waits: Waits
    ) -> AsyncIterator[LiveSession]:
        persona = await self._as_set(persona, key, room)
        while (opening := self._opening.get(key)) is not None:
            await asyncio.wait({opening})
        live = self._live.get(key)
        if live is None or not live.usable_by(persona):
            live = await self._open_unless_stopped(key, persona, room, waits)
        live.users += 1  # nothing was awaited since: nobody can have put it to sleep
        try:
            yield live
        finally:
            live.users -= 1
            live.used_at = self._clock()
            if self._live.get(key) is live:
                self._live[key] = self._live.pop(key)
            if self._seats.waiting:
                self._make_room()

    async def _open_unless_stopped(
        self, key: SessionKey, persona: Persona, room: Room, waits: Waits
    ) -> LiveSession:
        opening = self._opening[key] = asyncio.create_task(
            self._open_in_turn(key, persona, room, waits), name=f"open session {persona.name}"
        )
        try:
            live = await opening
        except BaseException as error:
            del self._opening[key]
            self._make_room()  # it may be open: it was stopped in the last moment
            task = asyncio.current_task()
            if not isinstance(error, asyncio.CancelledError) or (task and task.cancelling()):
                raise
            raise AgentError("stopped", "stopped while it started", say=STOPPED) from None
        del self._opening[key]
        return live

    async def _open_in_turn(
        self, key: SessionKey, persona: Persona, room: Room, waits: Waits
    ) -> LiveSession:
        """Open a session when its last process is gone and there is a place for it."""
        if (old := self._live.get(key)) is not None:
            self._end(key, old, "replaced" if old.agent.alive() else "died")
        if (ending := self._ending.get(key)) is not None:
            await asyncio.wait({ending})
        program = self.program(persona)
        if program.runs:
            await self._seats.take(program.name, waits)
        try:
            live = self._live[key] = await self.opener.open(persona, key, room)
        except BaseException:
            if program.runs:
                self._seats.leave(program.name)
            raise
        self.begun.set()
        self._asleep.discard(key)
        self._counts.session_started(live.context.program.name, resumed=live.agent.resumed)
        return live

    async def known(self, persona: Persona, key: SessionKey, room: Room) -> bool:
        live = self._live.get(key)
        if live is not None and live.usable_by(await self._as_set(persona, key, room)):
            return True
        program = self.opener.programs(persona.front.agent)
        if not program.resumes:
            return False
        return await self._ledger.agent_session(key, program.name) is not None

    async def keep(self, live: LiveSession) -> None:
        live.turns += 1
        if live.context.program.runs and not self._seats.capacity.knows(live.context.program.name):
            self.unmeasured.set()
            self._told.clear()
        if live.retire:
            return
        session_id = live.agent.session_id
        used = (live.key, live.context.program.name, session_id, self._clock())
        if session_id in (None, live.kept):
            if live.turns > 1:
                self._ledger.used_again(*used)
            else:
                self._ledger.keep_session(*used, later=True)
        else:
            live.kept = session_id
            await self._ledger.keep_session(*used)

    def posted(self, live: LiveSession) -> None:
        self.opener.keep_record(live)

    async def interrupt(self, key: SessionKey) -> bool:
        if (opening := self._opening.get(key)) is not None:
            # a second cancel would break off how the first one ends the program
            return opening.cancelling() > 0 or opening.cancel()
        live = self._live.get(key)
        if live is None or not (live.taken or live.state == "working"):
            return False
        live.stopped = True
        if live.state == "working":
            await live.agent.interrupt()
        return True

    async def renew(self, key: SessionKey) -> UnusedSession | None:
        live = self._live.get(key)
        if live is not None:
            live.retire = True
        self.opener.drop_record(key)
        return await self._ledger.retire_session(key)

    async def resume(
        self, persona: Persona, key: SessionKey, session_id: str
    ) -> UnusedSession | None:
        ended = await self.renew(key)
        name = self.opener.programs(persona.front.agent).name
        await self._ledger.keep_session(key, name, session_id, self._clock())
        return ended

    async def forget(self, scope: str) -> KeptRecords:
        await self._ledger.retire_scope(scope)
        self.end_scope(digest(scope))
        if ending := [task for key, task in self._ending.items() if key.scope == scope]:
            await asyncio.wait(ending)
        working = [live for key, live in self._live.items() if key.scope == scope]
        for live in working:
            live.forgotten = True
        places = await self.opener.forget(scope, [live.folder for live in working])
        return KeptRecords(bool(working), places)

    def end_scope(self, scope_digest: str) -> None:
        """Let the next turns of a scope begin new sessions; those that nobody uses end now."""
        for key, live in list(self._live.items()):
            if digest(key.scope) == scope_digest:
                live.retire = True
                if self._is_free(key, live):
                    self._end(key, live, "replaced")

    # ── Their ends ──────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Put to sleep what is idle, for ever."""
        while True:
            self.look()
            await asyncio.sleep(self._due_in_s())

    def look(self) -> int:
        """Put to sleep what nobody asked for; return how many. What died is put away, too."""
        now = self._clock()
        free = [(key, live) for key, live in self._live.items() if self._is_free(key, live)]
        for key, live in [(key, live) for key, live in free if not live.agent.alive()]:
            self._end(key, live, "died")
        idle = [
            (key, live)
            for key, live in free
            if self._sleep and live.agent.alive() and live.used_at + self._sleep <= now
        ]
        slept = [(key, live) for key, live in idle if live.keeps()]
        for key, live in slept:
            self._end(key, live, "idle")
        return len(slept)

    def sleep(self, live: LiveSession) -> bool:
        """Put it to sleep now; False when somebody uses it, or it could not be gone on with."""
        key = live.key
        if self._live.get(key) is not live or not self._is_free(key, live) or not live.keeps():
            return False
        self._end(key, live, "idle")
        return True

    def _due_in_s(self) -> float:
        if self._sleep is None:
            return LOOK_S
        due = [live.used_at + self._sleep for live in self._live.values() if not live.users]
        soonest_s = min(((at - self._clock()).total_seconds() for at in due), default=LOOK_S)
        return min(max(soonest_s, SOONEST_S), LOOK_S)

    def _is_free(self, key: SessionKey, live: LiveSession) -> bool:
        """True if nobody uses it: it neither works nor waits for a permission, nor will it soon."""
        return live.users == 0 and key not in self._opening

    def _make_room(self) -> bool:
        """End sessions for those who wait, but not for a guess; whether that is enough."""
        while self._seats.short():
            guessed = self.unmeasured.is_set()
            if guessed or not self._end_one(lambda live: live.context.program.runs):
                return False
        return True

    async def _known(self) -> None:
        """Until it is known what programs take, where that is being looked at; not for long."""
        if self.unmeasured.is_set():
            try:
                await asyncio.wait_for(self._told.wait(), GUESS_S)
            except TimeoutError:
                self.unmeasured.clear()

    def spare(self, those: Callable[[LiveSession], bool]) -> None:
        """End one of these sessions, for which only some seats will do, unless one is ending."""
        if not self._ending:
            self._end_one(those)

    def _end_one(self, those: Callable[[LiveSession], bool]) -> bool:
        """End the one of these that was used longest ago and that nobody uses; False: there is
        none. What would lose its conversation by it goes last."""
        free = [item for item in self._live.items() if those(item[1]) and self._is_free(*item)]
        if not free:
            return False
        key, live = min(free, key=lambda item: (item[1].agent.alive(), not item[1].keeps()))
        self._end(key, live, "cap" if live.agent.alive() else "died")
        return True

    def _end(self, key: SessionKey, live: LiveSession, why: Why) -> None:
        """End its program in a task of its own, which no `!stop` breaks off."""
        del self._live[key]
        program = live.context.program
        if program.runs:
            self._seats.leaving[program.name] += 1
            if why in ("idle", "cap"):
                self._asleep.add(key)
        self._counts.session_ended(program.name, why)
        name = f"end session {live.persona}"
        with log_context(LogContext("", live.room.id, live.persona, key.id)):
            log.info("session.ended", persona=live.persona, agent=program.name, why=why)
            self._ending[key] = asyncio.create_task(self._close(key, live), name=name)

    async def _close(self, key: SessionKey, live: LiveSession) -> None:
        try:
            await self.opener.close(live)
        finally:
            del self._ending[key]
            program = live.context.program
            if program.runs:
                self._seats.leaving[program.name] -= 1
                self._seats.leave(program.name)

    async def close(self) -> None:
        """End every program."""
        self._ledger.note_uses()
        for key, live in list(self._live.items()):
            self._end(key, live, "shutdown")
        if self._ending:
            await asyncio.wait(self._ending.values())
