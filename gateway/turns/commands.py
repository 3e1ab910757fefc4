"""Commands to Moot itself: recognised in messages here, and handed to their handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contract.chat import stands
from contract.errors import AgentError, Rejected
from gateway.access.accounts import Accounts
from gateway.access.acts import act_of
from gateway.access.permits import Permits
from gateway.core import views
from gateway.core.addressing import named, unaddressed
from gateway.core.command_table import CommandSpec
from gateway.core.destination import destination_of
from gateway.core.ledger import Ledger, Turn, UnusedSession
from gateway.questions.questions import Questions
from gateway.sessions.sessions import Sessions, compact
from gateway.settings.personas.personas import Persona, Personas
from gateway.turns.command_help import help_reply, unknown
from gateway.turns.progress import TurnRun
from gateway.turns.queue import TurnQueues
from gateway.turns.reading import ParsedCommand
from memory.scopes import home_scope
from store.transcript import StoredMessage, Transcript

Hand = Callable[[str, str, Turn, StoredMessage, Sequence[Persona]], Awaitable[str]]
"""Carries out what an entry gives it: `hand(name, argument, turn, asked, here)`; the reply is
Markdown. name: as it was typed, an alias too. here: the personas that are meant."""


class Commands:
    """Carries them out. The replies are Markdown; empty: nothing needs to be said."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        sessions: Sessions,
        questions: Questions,
        permits: Permits,
        page_url: Callable[[], str],
        ended: Callable[[UnusedSession], object],
        hands: Mapping[str, Hand],
    ) -> None:
        """ended: told of every session that `!new` ends. hands: of whoever the table names beside
        those in here."""
        self._ended = ended
        self._ledger = ledger
        self._sessions = sessions
        self._questions = questions
        self._permits = permits
        self._page_url = page_url
        self._hands: dict[str, Hand] = {
            "agents": self._agents,
            "questions": self._choose,
            "help": self._help,
            **hands,
        }

    async def run(
        self, command: ParsedCommand, turn: Turn, asked: StoredMessage, here: Sequence[Persona]
    ) -> str:
        """Do what it says; return the reply."""
        entry = command.entry
        if entry is None:
            return unknown(command.name)
        name, argument = command.name, command.argument
        if (refused := await self._permits.refusal(name, argument, turn, asked)) is not None:
            return refused
        act = act_of(name, argument)
        theirs = [p for p in here if self._permits.given(act, turn, asked, p.name)]
        return await self._hands[entry.by](name, argument, turn, asked, theirs)

    def _may(self, entry: CommandSpec, turn: Turn, asked: StoredMessage) -> bool:
        return self._permits.given(entry.name, turn, asked)

    async def _agents(
        self, name: str, argument: str, turn: Turn, asked: StoredMessage, here: Sequence[Persona]
    ) -> str:
        match name:
            case "stop":
                return await self._stop(turn, asked, here)
            case "new":
                return await self._new(turn, asked, _chosen(here, argument), argument)
            case "compact":
                return await self._compact(turn, asked, _chosen(here, argument), argument)
        return await self._why(turn)

    async def _help(
        self, name: str, argument: str, turn: Turn, asked: StoredMessage, here: Sequence[Persona]
    ) -> str:
        return help_reply(argument, here, lambda entry: self._may(entry, turn, asked))

    async def _choose(
        self, name: str, argument: str, turn: Turn, asked: StoredMessage, here: Sequence[Persona]
    ) -> str:
        option = int(name) - 1
        meant = self._questions.meant(
            turn.room.id,
            personas={persona.name for persona in named(asked.content, here) or here},
            thread_id=asked.thread_id,
            reply_to=asked.reply_to,
        )
        if not meant:
            return "Nothing is being asked here."
        if len(meant) > 1:
            return "More than one question waits here: reply to the one you mean, or name who asks."
        try:
            choice = self._questions.choose(meant[0], option, asked.by)
        except Rejected:
            return f"There is no choice `!{option + 1}`: take one of those under the question."
        return self._questions.reply(choice, meant[0], asked.by)

    async def _stop(self, turn: Turn, asked: StoredMessage, here: Sequence[Persona]) -> str:
        stopped = [
            await self._sessions.interrupt(persona.name, _scope(turn, asked, persona))
            for persona in here
        ]
        return "" if any(stopped) else "Nothing is running here."  # what was stopped says so

    async def _new(
        self, turn: Turn, asked: StoredMessage, chosen: Sequence[Persona], argument: str
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
        self, turn: Turn, asked: StoredMessage, chosen: Sequence[Persona], argument: str
    ) -> str:
        if not chosen:
            return _nobody(argument)
        return "\n".join([await self._compact_one(turn, asked, one) for one in chosen])

    async def _compact_one(self, turn: Turn, asked: StoredMessage, persona: Persona) -> str:
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
            *(f"- left out: {item.layer} ({item.reason})" for item in views.left_out(last)),
            "",
            f"Timings: {', '.join(steps)}",
            f"All of it: {self._page_url()}#turn/{last.id}",
        ]
        return "\n".join(lines)


class CommandRunner:
    """Carries out the command of a turn, for those whom it means."""

    def __init__(
        self,
        commands: Commands,
        transcript: Transcript,
        personas: Personas,
        accounts: Accounts,
        queues: TurnQueues,
    ) -> None:
        self._commands = commands
        self._transcript = transcript
        self._personas = personas
        self._accounts = accounts
        self._queues = queues

    async def run(self, run: TurnRun) -> TurnRun | None:
        """The run with the reply as its turn's answer; None: its message is not on record."""
        turn, command = run.turn, run.command
        asked = await self._transcript.get(turn.message_seq)
        if asked is None or command is None:
            return None
        with run.step("command") as step:
            step.attributes["moot.command"] = command.entry.name if command.entry else "unknown"
            here = await self._here(run, asked)
            text = await self._commands.run(command, turn, asked, here)
        outcome = replace(turn, answer=text)
        if command.is_private and not stands(asked.message_id):
            outcome = replace(outcome, record={"only_for": asked.message_id})
            run = replace(run, destination=destination_of(outcome, run.bot, None))
        return run.now(outcome)

    async def _here(self, run: TurnRun, asked: StoredMessage) -> list[Persona]:
        """Whom a command means: the personas of the account that was addressed, or all of ours."""
        turn, bot = run.turn, run.bot
        if run.reading is not None and asked.content == run.reading.content:
            plain = run.reading.unaddressed
        else:
            plain = unaddressed(asked.content)
        if asked.content.strip() == plain:
            here = [peer.persona for peer in await self._accounts.peers(turn.room, bot)]
        else:
            here = self._personas.of(bot.personas)
        here += self._personas.gone(self._queues.at_work(turn))
        if not turn.room.is_shared:
            here = [p for p in here if p.name == turn.persona]
        return here


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


def _scope(turn: Turn, asked: StoredMessage, persona: Persona) -> str:
    return home_scope(turn.room, asked.by.id, persona.name)
