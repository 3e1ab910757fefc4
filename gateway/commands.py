"""What people say to Moot itself: `!stop`, `!new`, `!help`, `!why`, and to its memory."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contract import AgentError, Rejected
from gateway import show
from gateway.ledger import Ended, Ledger, Turn
from gateway.persona_commands import PERSONA_HELP, PersonaCommands
from gateway.personas import Persona
from gateway.pin_commands import PIN_HELP, PinCommands
from gateway.questions import Questions
from gateway.recalling import Recalling
from gateway.remember_commands import MEMORY_HELP, RememberCommands
from gateway.routing import unaddressed
from gateway.sessions import Sessions, compact
from memory.landmarks import KINDS
from memory.scopes import home_scope
from memory.transcript import Stored

_COMMAND = re.compile(r"!([a-z]+|[1-9])(?:[ \t]+(.*))?", re.DOTALL | re.IGNORECASE)

HELP = {
    "help": "what you can say to me",
    "stop": "interrupt what the agent is doing here",
    "new": "let the agent's next turn begin a new session",
    "compact": "let the agent condense what it holds of our conversation, and go on",
    "why": "what the last answer here was made from",
    "recall": "what is remembered here: `!recall token expiry`, `!recall #12`",
    "1": "choose the first answer of a permission question (`!2` the second, ...)",
    **PERSONA_HELP,
    **PIN_HELP,
    **MEMORY_HELP,
}
ONCE = frozenset(
    {*PIN_HELP, *KINDS, *MEMORY_HELP, *PERSONA_HELP, "recall"}
)  # done once, however many personas are named


@dataclass(frozen=True, slots=True)
class Command:
    """A command's name (a key of HELP, or a digit) and what was written behind it."""

    name: str
    argument: str = ""


def parse_command(text: str, *, addressed: bool) -> Command | None:
    """The command in a message, or None.

    addressed: the message is meant for us anyway (a mention or a DM); only then is an unknown
    word after `!` taken for a command.
    """
    match = _COMMAND.fullmatch(unaddressed(text))
    if match is None:
        return None
    name, argument = match[1].lower(), (match[2] or "").strip()
    if name in HELP or name in KINDS or name.isdecimal():
        return Command(name, argument)
    return Command(name, argument) if addressed else None


class Commands:
    """Carries them out. The replies are Markdown; empty: nothing needs to be said."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        sessions: Sessions,
        questions: Questions,
        pins: PinCommands,
        remembering: RememberCommands,
        personas: PersonaCommands,
        page_url: Callable[[], str],
        recalling: Recalling,
        ended: Callable[[Ended], object],
    ) -> None:
        """ended: told of every session that `!new` ends."""
        self._ended = ended
        self._ledger = ledger
        self._sessions = sessions
        self._questions = questions
        self._pins = pins
        self._personas = personas
        self._remembering = remembering
        self._page_url = page_url
        self._recalling = recalling

    async def run(
        self, command: Command, turn: Turn, asked: Stored, here: Sequence[Persona]
    ) -> str:
        """Do what it says; return the reply."""
        if command.name.isdecimal():
            return self._choose(int(command.name) - 1, turn, asked)
        name, argument = command.name, command.argument
        if name in PIN_HELP or name in KINDS:
            return await self._pins.run(name, argument, turn, asked)
        if name in MEMORY_HELP:
            persona = next((p for p in here if p.name == turn.persona), None)
            return await self._remembering.run(name, argument, turn, asked, persona)
        if name in PERSONA_HELP:
            return await self._personas.run(argument, turn, asked, here)
        match name:
            case "help":
                return _help(here)
            case "stop":
                return await self._stop(turn, asked, here)
            case "new":
                return await self._new(turn, asked, _chosen(here, argument), argument)
            case "compact":
                return await self._compact(turn, asked, _chosen(here, argument), argument)
            case "why":
                return await self._why(turn)
            case "recall":
                return await self._recalling.reply(argument, turn.room, asked, here)
        near = difflib.get_close_matches(name, (*HELP, *KINDS), 1)
        hint = f" Did you mean `!{near[0]}`?" if near else " `!help` lists what I know."
        return f"I don't know `!{name}`.{hint}"

    def _choose(self, option: int, turn: Turn, asked: Stored) -> str:
        question_id = self._questions.newest_in(turn.room.id)
        if question_id is None:
            return "Nothing is being asked here."
        try:
            choice = self._questions.choose(question_id, option, asked.by)
        except Rejected:
            return f"There is no choice `!{option + 1}`: take one of those under the question."
        if choice == "forbidden":
            return f"{asked.by.name}, you may not answer that: see `approvers` under `[access]`."
        return "" if choice == "taken" else "That was answered already."

    async def _stop(self, turn: Turn, asked: Stored, here: Sequence[Persona]) -> str:
        stopped = [
            await self._sessions.interrupt(persona.name, _scope(turn, asked, persona))
            for persona in here
        ]
        return "" if any(stopped) else "Nothing is running here."  # what was stopped says so

    async def _new(
        self, turn: Turn, asked: Stored, chosen: Sequence[Persona], argument: str
    ) -> str:
        if not chosen:
            return _nobody(argument)
        for persona in chosen:
            ended = await self._sessions.renew(persona.name, _scope(turn, asked, persona))
            if ended is not None:
                self._ended(ended)
        names = " and ".join(f"@{persona.name}" for persona in chosen)
        return f"The next turn of {names} begins a new session."

    async def _compact(
        self, turn: Turn, asked: Stored, chosen: Sequence[Persona], argument: str
    ) -> str:
        if not chosen:
            return _nobody(argument)
        return "\n".join([await self._compact_one(turn, asked, one) for one in chosen])

    async def _compact_one(self, turn: Turn, asked: Stored, persona: Persona) -> str:
        scope = _scope(turn, asked, persona)
        if not await self._sessions.known(persona, scope):
            return f"@{persona.name} holds no conversation here that could be compacted."
        try:
            async with self._sessions.use(persona, scope, turn.room, _untold) as live:
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
            *(f"- left out: {item.layer} ({item.reason})" for item in show.left_out(last)),
            "",
            f"Timings: {', '.join(steps)}",
            f"All of it: {self._page_url()}#turn/{last.id}",
        ]
        return "\n".join(lines)


def _version(record: Mapping[str, Any]) -> str:
    """Which form of its persona an answer was made with, in passing."""
    number = record.get("persona_version")
    return f" (version {number} of its persona)" if number else ""


def _chosen(here: Sequence[Persona], argument: str) -> list[Persona]:
    """The persona that was named, or all that are here."""
    wanted = argument.removeprefix("@").lower()
    return [p for p in here if wanted in p.names] if wanted else list(here)


def _nobody(argument: str) -> str:
    return f"There is no persona {argument!r} here."


async def _untold() -> None:
    """A command that waits for a place has no mark of its own."""


def _help(here: Sequence[Persona]) -> str:
    lines = ["Mention somebody to ask:"]
    lines += [f"- @{p.name}: {p.front.description or p.front.agent}" for p in here]
    lines += ["", "Or tell me:", *(f"- `!{name}` {what}" for name, what in HELP.items())]
    return "\n".join(lines)


def _scope(turn: Turn, asked: Stored, persona: Persona) -> str:
    return home_scope(turn.room, asked.by.id, persona.name)
