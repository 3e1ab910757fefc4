"""`!undo`: an agent takes back its last answer here, and what it changed for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import itemgetter

from sqlalchemy import Connection

from contract.chat import unaddressed
from contract.errors import AgentError
from contract.language import say
from contract.values import dataclass
from gateway.access.access import Access
from gateway.audit.audit import Audit
from gateway.commands.agents import untold
from gateway.core.ledger import Turn
from gateway.core.quoting import quoted
from gateway.core.sql_ledger import SqlLedger
from gateway.sessions.pool import SessionPool
from gateway.sessions.sessions import undo
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest
from memory.observations.rows import remove_turn
from store.database import Store
from store.rows import StoredMessage
from store.timestamps import micros
from store.transcript import Transcript

QUOTED_CHARS = 60
ENDED_WELL = (None, "stopped", "timeout")
"""Faults after which an agent's own conversation ends with the turn."""


@dataclass(frozen=True, slots=True)
class UndoCommand:
    """Handles it. changed: told of each message that is remembered no more."""

    store: Store
    ledger: SqlLedger
    transcript: Transcript
    sessions: SessionPool
    access: Access
    audit: Audit
    changed: Callable[[StoredMessage], object]
    clock: Callable[[], datetime]

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply, which later prompts show, too."""
        chosen = request.chosen()
        if not chosen:
            return request.nobody()
        if request.is_outside:
            return say("Each thread here has a session of its own: say `!undo` there.")
        found = [(one, await self.ledger.last_in_session(request.key(one))) for one in chosen]
        asked = [(one, turn, turn.seq) for one, turn in found if turn is not None]
        if not asked:
            return say("Nothing was answered here that could be taken back.")
        persona, last, _ = max(asked, key=itemgetter(2))
        by = request.asked.by
        is_bot = by.kind == "bot"
        if not self.access.may_invoke(request.turn.room, by.id, persona.name, is_bot=is_bot):
            return say("You may not ask @{persona} here.", persona=persona.name)
        if refused := await self._refusal(persona, last, request.asked.seq):
            return refused
        try:
            async with (
                self.sessions.use(persona, last.key, request.turn.room, untold) as live,
                live.asking,
            ):
                now = await self.ledger.last_in_session(last.key)
                if now is None or now.id != last.id:
                    return say("Something else was asked meanwhile; say `!undo` again.")
                last = await self._begin(last, request.asked.seq)
                files = await undo(live)
                await self.sessions.keep(live)
        except AgentError as error:
            return f"@{persona.name}: {error.say}"
        await self._mark(last, by.id)
        await self.audit.note(
            "undo", by, persona=persona.name, room=request.turn.room, turn=last.id, files=files
        )
        return await self._told(persona, last, files)

    async def _begin(self, last: Turn, seq: int) -> Turn:
        """Its record says so before it is done: what breaks off is not done a second time."""
        return await self.store.write(lambda c: self.ledger.note(c, last, undoing=seq))

    async def _refusal(self, persona: Persona, last: Turn, seq: int) -> str:
        """The reason why the agent's own conversation may not end with this turn; "": it does."""
        if last.record.get("undoing") == seq:
            return say(
                "I was restarted while @{persona} took that back. Look at what stands now.",
                persona=persona.name,
            )
        program, record = self.sessions.program(persona), last.record
        if last.fault not in ENDED_WELL:
            return say(
                "@{persona}'s last turn failed: say `!new` to go on without it.",
                persona=persona.name,
            )
        current = await self.ledger.agent_session(last.key, program.name)
        if record.get("agent") != program.name or record.get("session") != current:
            return say(
                "@{persona}'s last answer is of an earlier session; `!resume` leads there.",
                persona=persona.name,
            )
        return ""

    async def _mark(self, last: Turn, by: str) -> None:
        def work(connection: Connection) -> Sequence[int]:
            undone = {"by": by, "at": micros(self.clock())}
            self.ledger.note(connection, last, undone=undone)
            remove_turn(connection, last.id)
            return self.transcript.undo(connection, last.id, last.scope, last.message_seq)

        for seq in await self.store.write(work):
            if (said := await self.transcript.get(seq)) is not None:
                self.changed(said)

    async def _told(self, persona: Persona, last: Turn, files: str) -> str:
        asked = await self.transcript.get(last.message_seq)
        to = ""
        if asked is not None and not asked.deleted:
            words = unaddressed(asked.content) or asked.content
            to = say(' to "{words}"', words=quoted(words, QUOTED_CHARS))
        done = say("@{persona} has taken back its answer{to}", persona=persona.name, to=to)
        if files:
            return say("{done}, and {files}.", done=done, files=files)
        changes = (
            say("; what it changed in files stays") if self.sessions.program(persona).runs else ""
        )
        return f"{done}{changes}."
