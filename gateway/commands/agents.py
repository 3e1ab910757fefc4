"""`!stop`, `!new` and `!compact`: what the agents here do."""

from __future__ import annotations

from collections.abc import Callable

from contract.errors import AgentError
from contract.language import say
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
        ended: Callable[[UnusedSession], object],
        queues: TurnQueues,
    ) -> None:
        self._ledger = ledger
        self._sessions = sessions
        self._ended = ended
        self._queues = queues

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply."""
        match request.name:
            case "stop":
                return await self._stop(request)
            case "new":
                return await self._new(request)
        return await self._compact(request)

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


async def untold() -> None:
    """A command that waits for a place has no mark of its own."""
