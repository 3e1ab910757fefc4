"""`!recall`: people look into the memory of where they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from composer.guard import flat
from contract.chat import Room
from contract.language import say
from gateway.mcp.tools import FACT_CHARS, MemoryTools
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest
from memory.observations.rows import StoredObservation
from memory.observations.work_log import WorkReader
from memory.recall.facts import StoredFact, facts_numbered
from memory.scopes import Gate, Invocation
from store.database import Store

SHOWN = 5
NARRATIVE_CHARS = 1200
_NUMBER = re.compile(r"#(\d{1,18})")
_ID = re.compile(r"#?([a-z0-9-]+_[0-9a-f]{8}_\d{8}_\d{3,})")


class RecallCommands:
    """Answers `!recall <words>` and `!recall #id`."""

    def __init__(self, store: Store, tools: MemoryTools) -> None:
        self._store = store
        self._tools = tools

    async def run(self, request: CommandRequest) -> str:
        """The findings in Markdown, of what this person may read here."""
        argument = request.argument
        reader = reader_of(request.turn.room, request.asked.by.id, request.here)
        if not argument:
            return say(
                "Say what to look for: `!recall token expiry`, or one by its number: `!recall #12`."
            )
        if match := _NUMBER.fullmatch(argument):
            fact = await self._fact(int(match[1]), reader)
            return (
                f"- {self._tools.fact_line(fact)}"
                if fact
                else say("I know nothing by that number here.")
            )
        if match := _ID.fullmatch(argument):
            item = await self._tools.observation(match[1], reader)
            return self._whole(item) if item else say("I know nothing by that id here.")
        known = await self._tools.facts(argument, reader, SHOWN)
        done = await self._tools.titles(argument, reader, SHOWN)
        lines = [f"- {self._tools.fact_line(fact)}" for fact in known]
        if done:
            lines += [
                "",
                say("Done by agents here:"),
                *(f"- {self._tools.index_line(item)}" for item in done),
            ]
        return "\n".join(lines).strip() or say("I remember nothing about that here.")

    async def _fact(self, number: int, reader: WorkReader) -> StoredFact | None:
        known = await self._store.read(partial(facts_numbered, number=number))
        found = reader.gate.admit("recall", known)
        return next((fact for fact in found if fact.replaced_by is None), None)

    def _whole(self, item: StoredObservation) -> str:
        lines = [
            self._tools.index_line(item),
            flat(item.subtitle)[:FACT_CHARS],
            *(f"- {flat(fact)[:FACT_CHARS]}" for fact in item.facts),
            flat(item.narrative)[:NARRATIVE_CHARS],
            say("Files: {listed}", listed=", ".join(flat(name) for name in item.files[:10]))
            if item.files
            else "",
            say("(written down without a model)")
            if item.notes[:1] and "plain" in item.notes[0]
            else "",
        ]
        return "\n".join(line for line in lines if line)


def reader_of(room: Room, sender_id: str, here: Sequence[Persona]) -> WorkReader:
    """A person's right to read where these personas are: all that any of them could be told."""
    names = [persona.name for persona in here]
    scopes = (Invocation(room, sender_id, name).gate.scopes for name in names)
    return WorkReader(Gate(frozenset().union(*scopes)), frozenset(names))
