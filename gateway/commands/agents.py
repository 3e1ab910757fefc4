"""`!stop`, `!new`, `!compact` and `!why`: what the agents here do, and what they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from contract.errors import AgentError
from contract.language import say
from gateway.core import views
from gateway.core.ledger import UnusedSession
from gateway.core.sql_ledger import SqlLedger
from gateway.sessions.sessions import Sessions, compact
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest
from gateway.turns.queue import TurnQueues


class AgentCommands:
    """Handles them. ended: called with every session that `!new` ends."""

    def __init__(
        self,
        ledger: SqlLedger,
        sessions: Sessions,
        page_url: Callable[[], str],
        ended: Callable[[UnusedSession], object],
        queues: TurnQueues,
    ) -> None:
        self._ledger = ledger
        self._sessions = sessions
        self._page_url = page_url
        self._ended = ended
        self._queues = queues

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply."""
        match request.name:
            case "stop":
                return await self._stop(request)
            case "new":
                return await self._new(request)
            case "compact":
                return await self._compact(request)
        return await self._why(request)

    async def _stop(self, request: CommandRequest) -> str:
        keys = [request.key(persona) for persona in request.here]
        stopped = [await self._sessions.interrupt(key) for key in keys]
        if any(stopped):  # what was stopped says so
            return ""
        elsewhere = [one for key in keys for one in self._queues.in_threads(key)]
        if not elsewhere:
            return say("Nothing is running here.")
        names = " and ".join(f"@{name}" for name in dict.fromkeys(k.persona for k in elsewhere))
        threads = len({one.thread_id for one in elsewhere})
        where = say("a thread") if threads == 1 else say("{threads} threads", threads=threads)
        return say("{names} works in {where}; say `!stop` there.", names=names, where=where)

    async def _new(self, request: CommandRequest) -> str:
        chosen = request.chosen()
        if not chosen:
            return request.nobody()
        if request.is_outside:
            return say(
                "Each thread here has a session of its own: say `!new` there, or begin a thread."
            )
        for persona in chosen:
            ended = await self._sessions.renew(request.key(persona))
            if ended is not None:
                self._ended(ended)
        names = " and ".join(f"@{persona.name}" for persona in chosen)
        return say("The next turn of {names} begins a new session.", names=names)

    async def _compact(self, request: CommandRequest) -> str:
        chosen = request.chosen()
        if not chosen:
            return request.nobody()
        return "\n".join([await self._compact_one(request, one) for one in chosen])

    async def _compact_one(self, request: CommandRequest, persona: Persona) -> str:
        key = request.key(persona)
        if not await self._sessions.known(persona, key, request.turn.room):
            return say(
                "@{persona} holds no conversation here that could be compacted.",
                persona=persona.name,
            )
        try:
            async with self._sessions.use(persona, key, request.turn.room, untold) as live:
                await compact(live)
        except AgentError as error:
            return f"@{persona.name}: {error.say}"
        return say(
            "@{persona} has compacted its conversation; it goes on from its summary.",
            persona=persona.name,
        )

    async def _why(self, request: CommandRequest) -> str:
        last = await self._ledger.last_turn(request.turn.scope, request.thread_id)
        if last is None:
            return say("No agent has answered here yet.")
        record = last.record
        steps = (f"{name} {ms:.0f} ms" for name, ms in record.get("timings", {}).items())
        lines = [
            say(
                "@{persona}'s last answer{version} was made from:",
                persona=last.persona,
                version=_version(record),
            ),
            *(
                say(
                    "- {name}: {n} characters, from {source}",
                    name=item["name"],
                    n=len(item["text"]),
                    source=item["source"],
                )
                for item in record.get("sections", [])
            ),
            *(
                say(
                    "- trimmed in {section}: {what} ({chars} characters)",
                    section=item["section"],
                    what=item["what"],
                    chars=item["chars"],
                )
                for item in record.get("trims", [])
            ),
            *(
                say("- left out: {layer} ({reason})", layer=item.layer, reason=item.reason)
                for item in views.left_out(last)
            ),
            "",
            say("Timings: {listed}", listed=", ".join(steps)),
            say("All of it: {url}#turn/{id}", url=self._page_url(), id=last.id),
        ]
        return "\n".join(lines)


def _version(record: Mapping[str, Any]) -> str:
    """The form of its persona that an answer was made with, in passing."""
    number = record.get("persona_version")
    return say(" (version {number} of its persona)", number=number) if number else ""


async def untold() -> None:
    """A command that waits for a place has no mark of its own."""
