"""`!stop`, `!new`, `!compact` and `!why`: what the agents here do, and what they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from contract.errors import AgentError
from gateway.core import views
from gateway.core.ledger import Turn, UnusedSession
from gateway.core.sql_ledger import SqlLedger
from gateway.sessions.sessions import Sessions, compact
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest


class AgentCommands:
    """Handles them. ended: called with every session that `!new` ends."""

    def __init__(
        self,
        ledger: SqlLedger,
        sessions: Sessions,
        page_url: Callable[[], str],
        ended: Callable[[UnusedSession], object],
    ) -> None:
        self._ledger = ledger
        self._sessions = sessions
        self._page_url = page_url
        self._ended = ended

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply."""
        match request.name:
            case "stop":
                return await self._stop(request)
            case "new":
                return await self._new(request)
            case "compact":
                return await self._compact(request)
        return await self._why(request.turn)

    async def _stop(self, request: CommandRequest) -> str:
        stopped = [
            await self._sessions.interrupt(persona.name, request.scope(persona))
            for persona in request.here
        ]
        return "" if any(stopped) else "Nothing is running here."  # what was stopped says so

    async def _new(self, request: CommandRequest) -> str:
        chosen = _chosen(request)
        if not chosen:
            return _nobody(request)
        for persona in chosen:
            ended = await self._sessions.renew(persona.name, request.scope(persona))
            if ended is not None:
                self._ended(ended)
        names = " and ".join(f"@{persona.name}" for persona in chosen)
        return f"The next turn of {names} begins a new session."

    async def _compact(self, request: CommandRequest) -> str:
        chosen = _chosen(request)
        if not chosen:
            return _nobody(request)
        return "\n".join([await self._compact_one(request, one) for one in chosen])

    async def _compact_one(self, request: CommandRequest, persona: Persona) -> str:
        scope = request.scope(persona)
        if not await self._sessions.known(persona, scope):
            return f"@{persona.name} holds no conversation here that could be compacted."
        try:
            async with self._sessions.use(persona, scope, request.turn.room, _untold) as live:
                await compact(live)
        except AgentError as error:
            return f"@{persona.name}: {error.say}"
        return f"@{persona.name} has compacted its conversation; it goes on from its summary."

    async def _why(self, turn: Turn) -> str:
        last = await self._ledger.last_turn(turn.scope)
        if last is None:
            return "No agent has answered here yet."
        record = last.record
        steps = (f"{name} {ms:.0f} ms" for name, ms in record.get("timings", {}).items())
        lines = [
            f"@{last.persona}'s last answer{_version(record)} was made from:",
            *(
                f"- {item['name']}: {len(item['text'])} characters, from {item['source']}"
                for item in record.get("sections", [])
            ),
            *(
                f"- trimmed in {item['section']}: {item['what']} ({item['chars']} characters)"
                for item in record.get("trims", [])
            ),
            *(f"- left out: {item.layer} ({item.reason})" for item in views.left_out(last)),
            "",
            f"Timings: {', '.join(steps)}",
            f"All of it: {self._page_url()}#turn/{last.id}",
        ]
        return "\n".join(lines)


def _version(record: Mapping[str, Any]) -> str:
    """The form of its persona that an answer was made with, in passing."""
    number = record.get("persona_version")
    return f" (version {number} of its persona)" if number else ""


def _chosen(request: CommandRequest) -> list[Persona]:
    """The persona that was named, or all that are here."""
    wanted = request.argument.removeprefix("@").lower()
    return [p for p in request.here if wanted in p.names] if wanted else list(request.here)


def _nobody(request: CommandRequest) -> str:
    return f"There is no persona {request.argument!r} here."


async def _untold() -> None:
    """A command that waits for a place has no mark of its own."""
