"""`!model`: with which model a persona's agent works in a room."""

from __future__ import annotations

import re
from collections.abc import Callable

from contract.language import phrase, say
from gateway.core.ledger import SessionKey
from gateway.core.quoting import quoted
from gateway.sessions.room_settings import RoomSettings
from gateway.sessions.sessions import AgentProgram
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest

DEFAULT = "default"
# What the programs call models: `opus`, `claude-opus-5[1m]`, `openai/gpt-6:free`, an ARN. It stands
# in a command line, so it never begins like an option.
_MODEL = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@._:/+=\[\]()-]{0,127}")
_OWN = phrase("its own default")


class ModelCommands:
    """Handles it."""

    def __init__(self, settings: RoomSettings, program: Callable[[Persona], AgentProgram]) -> None:
        self._settings = settings
        self._program = program

    async def run(self, request: CommandRequest) -> str:
        """Show or choose it; return the reply."""
        here = request.here
        whose, words = request.whose()
        if not words:
            told = [await self._told(one, request.scope(one)) for one in whose or here]
            return "\n".join([say("What they work with here:"), *told, "", say(_HOW)])
        if len(words) > 1 or not (words[0].lower() == DEFAULT or _MODEL.fullmatch(words[0])):
            return say(
                "{name} is no model's name. {how}",
                name=f"{quoted(' '.join(words), 80)!r}",
                how=say(_HOW),
            )
        if len(here) == 1:
            whose = list(here)
        if not whose:
            names = ", ".join(f"`!model {one.name} {words[0]}`" for one in here)
            return say("Several are here; say whose: {names}.", names=names)
        return "\n".join([await self._choose(one, words[0], request) for one in whose])

    async def _told(self, persona: Persona, scope: str) -> str:
        program = self._program(persona)
        if not program.takes_model:
            return say(
                "- @{persona}: {program}, which takes no model's name",
                persona=persona.name,
                program=program.title,
            )
        chosen = await self._settings.model(persona.name, scope)
        own = chosen in (None, program.own_model)
        model = _configured(persona) if own else say("`{chosen}` (chosen here)", chosen=chosen)
        return f"- @{persona.name}: {program.title}, {model}"

    async def _choose(self, persona: Persona, word: str, request: CommandRequest) -> str:
        program = self._program(persona)
        if not program.takes_model:
            return say(
                "@{persona}: {program} takes no model's name; it works with its own.",
                persona=persona.name,
                program=program.title,
            )
        model = None if word.lower() == DEFAULT else word
        kept_own = None if persona.front.model else program.own_model or None
        key = SessionKey(persona.name, request.scope(persona))
        await self._settings.choose(key, request.asked.by, model=model or kept_own)
        what = f"`{model}`" if model else _configured(persona)
        kept = (
            say("The conversation goes on.")
            if program.resumes
            else say(
                "{program} can't take its conversation along: it reads what was said again.",
                program=program.title,
            )
        )
        back = say(" `!model default` goes back.") if model else ""
        return say(
            "From its next turn on @{persona} works with {what} here. {kept}{back}",
            persona=persona.name,
            what=what,
            kept=kept,
            back=back,
        )


_HOW = phrase("`!model opus` chooses one, `!model default` goes back.")


def _configured(persona: Persona) -> str:
    return f"`{persona.front.model}`" if persona.front.model else say(_OWN)
