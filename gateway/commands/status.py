"""`!status` and `!agents`: what happens in a room, and who can be asked there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from bots.bot import Bot
from contract.chat import unaddressed
from contract.language import phrase, say, say_count
from contract.values import dataclass
from gateway.access.access import Access
from gateway.core.ledger import SessionKey, Turn
from gateway.core.quoting import quoted
from gateway.core.sql_ledger import SqlLedger
from gateway.sessions.pool import SessionPool
from gateway.sessions.room_settings import RoomSettings
from gateway.sessions.sessions import AgentProgram, LiveSession
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest
from gateway.turns.queue import TurnQueues
from store.timestamps import micros
from store.transcript import Transcript

QUOTED_CHARS = 60
WAITING_SHOWN = 5


@dataclass(frozen=True, slots=True)
class StatusCommands:
    """Handles them."""

    sessions: SessionPool
    settings: RoomSettings
    ledger: SqlLedger
    transcript: Transcript
    access: Access
    bots: Mapping[str, Bot]
    queues: TurnQueues
    clock: Callable[[], datetime]

    async def run(self, request: CommandRequest) -> str:
        """List it."""
        return await (self._agents if request.name == "agents" else self._status)(request)

    # ── !agents ─────────────────────────────────────────────────────────────────────────

    async def _agents(self, request: CommandRequest) -> str:
        lines = [say("Who can be asked here:")]
        lines += [await self._agent(one, request) for one in request.here]
        return "\n".join(lines)

    async def _agent(self, persona: Persona, request: CommandRequest) -> str:
        program = self.sessions.program(persona)
        room, sender_id = request.turn.room, request.asked.by.id
        if not program.available:
            state = say("not available: {hint}", hint=program.hint)
        elif not self.access.may_invoke(room, sender_id, persona.name):
            state = say("not for you, here")
        else:
            state = await self._state(persona, request)
        about = f" ({quoted(persona.front.description, 120)})" if persona.front.description else ""
        return f"- @{persona.name}{about}: {program.title}, {state}"

    async def _state(self, persona: Persona, request: CommandRequest) -> str:
        key, room = request.key(persona), request.turn.room
        current, waiting = self.queues.queue(key)
        if current is not None:
            return say("working, {n} waiting", n=len(waiting)) if waiting else say("working")
        if threads := len(self.queues.in_threads(key)):
            return say(
                "working in {counted}", counted=say_count(threads, "{n} thread", "{n} threads")
            )
        if self._live(key) is not None:
            return say("ready")
        return (
            say("asleep")
            if await self.sessions.known(persona, key, room)
            else say("not started yet")
        )

    # ── !status ─────────────────────────────────────────────────────────────────────────

    async def _status(self, request: CommandRequest) -> str:
        lines = [say("Nobody answers here.")] if not request.here else []
        for persona in request.here:
            lines += ["", *await self._persona(persona, request)]
        if (room := request.turn.room).is_shared:
            lines += [
                "",
                say(
                    "The room: {in_words}", in_words=self.settings.in_words(room, request.turn.bot)
                ),
            ]
        if self.access.is_owner(room, request.asked.by.id):
            lines += ["", say("The bots:"), *(_bot(bot) for bot in self.bots.values())]
            lines += ["", say("Sessions: {sessions}", sessions=self._sessions())]
        return "\n".join(lines).lstrip("\n")

    async def _persona(self, persona: Persona, request: CommandRequest) -> list[str]:
        key = request.key(persona)
        current, waiting = self.queues.queue(key)
        doing = say("nothing to do")
        if current is not None:
            doing = say(
                "works on {asked}, {since}",
                asked=await self._asked(current),
                since=self._since(current),
            )
        lines = [f"@{persona.name}: {doing}"]
        lines += [
            say("- waits: {asked}", asked=await self._asked(one)) for one in waiting[:WAITING_SHOWN]
        ]
        if (more := len(waiting) - WAITING_SHOWN) > 0:
            lines.append(say("- and {more} more", more=more))
        for thread in self.queues.in_threads(key):
            at_work, behind = self.queues.queue(thread)
            if at_work is not None:
                waits = say(", {n} waiting", n=len(behind)) if behind else ""
                asked = await self._asked(at_work)
                lines.append(
                    say(
                        "- in a thread: works on {asked}, {since}{waits}",
                        asked=asked,
                        since=self._since(at_work),
                        waits=waits,
                    )
                )
        lines.append(say("- session: {session}", session=await self._session(persona, request)))
        return lines

    async def _session(self, persona: Persona, request: CommandRequest) -> str:
        key, room = request.key(persona), request.turn.room
        program = self.sessions.program(persona)
        applied = await self.settings.applied(persona, key, room)
        told = [program.title, say("model {model}", model=_model(applied, program))]
        told += await self.settings.told(persona, key, room)
        if (live := self._live(key)) is not None:
            age = lasting(self.clock() - live.started_at)
            told += [
                say(STATES.get(live.state, live.state)),
                say_count(live.turns, "{n} turn", "{n} turns"),
                say("open for {age}", age=age),
            ]
        elif not program.available:
            told.append(say("not available ({hint})", hint=program.hint))
        else:
            known = await self.sessions.known(persona, key, room)
            told.append(say("asleep") if known else say("not started yet"))
        if program.context_tokens:
            told.append(
                say(
                    "context {context_tokens}k tokens",
                    context_tokens=program.context_tokens // 1000,
                )
            )
        return ", ".join(told)

    async def _asked(self, turn: Turn) -> str:
        asked = await self.transcript.get(turn.message_seq)
        if asked is None or asked.deleted:
            return say("a message that is gone")
        text = unaddressed(asked.content) or asked.content
        return say(
            'what {who} said: "{text}"',
            who=quoted(asked.by.name, 80),
            text=quoted(text, QUOTED_CHARS),
        )

    def _since(self, turn: Turn) -> str:
        """The time since it was asked, in words."""
        return say(
            "for {lasting}",
            lasting=lasting(timedelta(microseconds=micros(self.clock()) - turn.asked_at)),
        )

    def _live(self, key: SessionKey) -> LiveSession | None:
        return next((one for one in self.sessions.all() if one.key == key), None)

    def _sessions(self) -> str:
        told = [
            say("{running} of {most} open", running=self.sessions.running, most=self.sessions.most)
        ]
        told += (
            [say("{asleep} asleep", asleep=self.sessions.asleep)] if self.sessions.asleep else []
        )
        told += (
            [say("{waiting} waiting", waiting=self.sessions.waiting)]
            if self.sessions.waiting
            else []
        )
        return ", ".join(told)


STATES = {
    "starting": phrase("starting"),
    "idle": phrase("idle"),
    "working": phrase("working"),
}


def _model(applied: Persona, program: AgentProgram) -> str:
    model = applied.front.model
    return say("its own default") if model in (None, "", program.own_model) else str(model)


def _bot(bot: Bot) -> str:
    # a bot knows its own account as soon as it has connected; the page's has none
    connected = bot.platform == "web" or bot.own_ids
    return (
        f"- {bot.name} ({bot.platform}): {say('connected') if connected else say('not connected')}"
    )


def lasting(time: timedelta) -> str:
    """A time in the largest unit that says it: `40 s`, `12 min`, `3 h`, `2 days`."""
    seconds = max(int(time.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return say("{minutes} min", minutes=seconds // 60)
    return (
        f"{seconds // 3600} h"
        if seconds < 172_800
        else say("{seconds} days", seconds=seconds // 86400)
    )
