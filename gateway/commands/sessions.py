"""`!sessions` and `!resume`: which conversations an agent has had here, and going back to one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from contract.chat import Room, unaddressed
from contract.language import say
from contract.values import dataclass
from gateway.audit.audit import Audit
from gateway.core.ledger import SessionKey, UnusedSession
from gateway.core.quoting import number_in, quoted
from gateway.core.sql_ledger import SqlLedger
from gateway.core.sql_sessions import PastSession
from gateway.sessions.pool import SessionPool
from gateway.sessions.room_settings import SESSIONS_OF, RoomSettings, SessionsOf
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest
from store.timestamps import moment
from store.transcript import Transcript

QUOTED_CHARS = 60


@dataclass(frozen=True, slots=True)
class SessionCommands:
    """Handles them. ended: called with every session that `!resume` ends."""

    ledger: SqlLedger
    transcript: Transcript
    sessions: SessionPool
    settings: RoomSettings
    audit: Audit
    zone: tzinfo
    ended: Callable[[UnusedSession], object]

    async def run(self, request: CommandRequest) -> str:
        """List them, or go back to one."""
        if request.name == "resume":
            return await self._resume(request)
        for how in SESSIONS_OF:
            if request.argument.lower() == how:
                return await self._choose(request, how)
        chosen = request.chosen()
        if not chosen:
            return request.nobody()
        room = request.turn.room
        told = [await self._list(one, request.key(one), room) for one in chosen]
        if not request.thread_id and self.settings.sessions(request.turn.room) == "thread":
            told.append(say("Each thread here has sessions of its own; say `!sessions` there."))
        return "\n\n".join(told)

    async def _choose(self, request: CommandRequest, how: SessionsOf) -> str:
        """Let each thread of the room have sessions of its own, or none."""
        room, by = request.turn.room, request.asked.by
        if not room.is_shared:
            return say("A direct message has one session, also for its threads.")
        await self.settings.choose_for_all(room, by, sessions=how)
        await self.audit.note("sessions", by, room=room, sessions=how)
        whose = (
            say("each thread here has")
            if how == "thread"
            else say("all threads of this room share")
        )
        other = "room" if how == "thread" else "thread"
        return say(
            "From now on {whose} one session a persona; `!sessions {other}` changes that.",
            whose=whose,
            other=other,
        )

    async def _list(self, persona: Persona, key: SessionKey, room: Room) -> str:
        program = self.sessions.program(persona)
        past = await self.ledger.past_sessions(key)
        if not past:
            return say(
                "@{persona} has no session here that could be told apart.", persona=persona.name
            )
        current = await self.ledger.agent_session(key, program.name)
        living = next((live for live in self.sessions.all() if live.key == key), None)
        worker = living.worker if living is not None else ""
        lines = [await self._line(one, is_current=one.id == current, worker=worker) for one in past]
        how = ", ".join(await self.settings.told(persona, key, room))
        heading = say(
            "@{persona}'s sessions here{x}:", persona=persona.name, x=f" ({how})" if how else ""
        )
        return "\n".join([heading, *lines])

    async def _line(self, one: PastSession, *, is_current: bool, worker: str) -> str:
        asked = await self.transcript.get(one.first.message_seq)
        words = say("a message that is gone")
        if asked is not None and not asked.deleted:
            text = unaddressed(asked.content) or asked.content
            words = f'"{quoted(text, QUOTED_CHARS)}"'
        began = moment(one.first.states[0][1]).astimezone(self.zone)
        took = say("1 turn") if one.turns == 1 else say("{turns} turns", turns=one.turns)
        now = say(", the one of now") if is_current else ""
        if is_current and worker:
            now = say(", the one of now, on {worker}", worker=worker)
        return f"- {one.first.seq}: {began:%Y-%m-%d %H:%M}, {took}, {words}{now}"

    async def _resume(self, request: CommandRequest) -> str:
        number = number_in(request.argument)
        for persona in request.here:
            key = request.key(persona)
            for one in await self.ledger.past_sessions(key):
                if one.first.seq == number:
                    return await self._go_back(persona, key, one)
        return say(
            "There is no session {argument} here; `!sessions` lists them.",
            argument=f"{request.argument!r}",
        )

    async def _go_back(self, persona: Persona, key: SessionKey, one: PastSession) -> str:
        program = self.sessions.program(persona)
        if one.agent != program.name:
            return say(
                "That was a session of {agent}; @{persona} is {program} now.",
                agent=one.agent,
                persona=persona.name,
                program=program.title,
            )
        if not program.resumes:
            return say(
                "@{persona}: {program} can't go back to an earlier session.",
                persona=persona.name,
                program=program.title,
            )
        if one.id == await self.ledger.agent_session(key, program.name):
            return say(
                "@{persona} is in session {seq} now.", persona=persona.name, seq=one.first.seq
            )
        ended = await self.sessions.resume(persona, key, one.id)
        if ended is not None:
            self.ended(ended)
        return say(
            "The next turn of @{persona} goes on with session {seq}.",
            persona=persona.name,
            seq=one.first.seq,
        )
