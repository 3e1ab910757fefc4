"""Commands to Moot itself: recognised in messages here, and handed to their handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from contract.chat import was_command
from contract.language import say
from contract.values import dataclass
from gateway.access.accounts import Accounts
from gateway.access.acts import act_of
from gateway.access.permits import Permits
from gateway.core.addressing import named
from gateway.core.ledger import SessionKey, Turn
from gateway.core.reading import ParsedCommand, reading_of
from gateway.core.typing_errors import unknown
from gateway.settings.personas.personas import Persona, Personas
from gateway.turns.progress import TurnRun, destination_of
from gateway.turns.queue import TurnQueues
from memory.scopes import home_scope
from store.rows import StoredMessage
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command on its way to its handler. name: as it was typed, which may be an alias.

    here: the personas that it is meant for, of those with whom its sender may use it.
    """

    name: str
    argument: str
    turn: Turn
    asked: StoredMessage
    here: Sequence[Persona]

    def scope(self, persona: Persona) -> str:
        """A persona's scope, where the command was said."""
        return home_scope(self.turn.room, self.asked.by.id, persona.name)

    @property
    def thread_id(self) -> str:
        """The thread in which it was said, where that has a session of its own; else ""."""
        return self.turn.session_thread if self.asked.thread_id else ""

    @property
    def is_outside(self) -> bool:
        """True if every message here begins a thread with a session of its own, and this is none
        of these sessions'."""
        return bool(self.turn.session_thread) and not self.thread_id

    def key(self, persona: Persona) -> SessionKey:
        """A persona's session, where the command was said."""
        return SessionKey(persona.name, self.scope(persona), self.thread_id)

    def chosen(self) -> list[Persona]:
        """The persona that its argument names, or all that are here."""
        wanted = self.argument.removeprefix("@").lower()
        return [one for one in self.here if not wanted or wanted in one.names]

    def whose(self) -> tuple[list[Persona], list[str]]:
        """The personas that the message names, and the words about them."""
        words = self.argument.split()
        first = words[0].removeprefix("@").lower() if words else ""
        if said := [persona for persona in self.here if first in persona.names]:
            return said, words[1:]
        return named(self.asked.content, self.here), words

    def nobody(self) -> str:
        """The reply where its argument names none."""
        return say("There is no persona {argument} here.", argument=f"{self.argument!r}")


Handler = Callable[[CommandRequest], Awaitable[str]]
"""Carries a command out. The reply is Markdown; empty: nothing needs to be said."""


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The reply to a command, in Markdown. refuses: its sender may not use it."""

    text: str
    refuses: bool = False


class Commands:
    """Checks that a command is allowed and hands it on. handlers: by what the table calls them;
    they are made when somebody gives a command."""

    def __init__(self, permits: Permits, handlers: Callable[[], Mapping[str, Handler]]) -> None:
        self._permits = permits
        self._handlers = handlers

    async def run(
        self, command: ParsedCommand, turn: Turn, asked: StoredMessage, here: Sequence[Persona]
    ) -> CommandReply:
        """Do what it says; return the reply."""
        entry = command.entry
        if entry is None:
            return CommandReply(unknown(command.name))
        name, argument = command.name, command.argument
        if (refused := await self._permits.refusal(name, argument, turn, asked)) is not None:
            return CommandReply(refused, refuses=True)
        act = act_of(name, argument)
        theirs = [p for p in here if self._permits.given(act, turn, asked, p.name)]
        request = CommandRequest(name, argument, turn, asked, theirs)
        return CommandReply(await self._handlers()[entry.handler](request))


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
            reply = await self._commands.run(command, turn, asked, here)
        outcome = replace(turn, answer=reply.text)
        if (command.is_private or reply.refuses) and was_command(asked.message_id):
            outcome = replace(outcome, record={"only_for": asked.message_id})
            run = replace(run, destination=destination_of(outcome, run.bot, None))
        return replace(run, turn=outcome)

    async def _here(self, run: TurnRun, asked: StoredMessage) -> list[Persona]:
        """The personas that a command means: those of the account addressed, or all of ours."""
        turn, bot = run.turn, run.bot
        if asked.content.strip() == reading_of(asked, run.reading).unaddressed:
            here = [peer.persona for peer in await self._accounts.peers(turn.room, bot)]
        else:
            here = self._personas.of(bot.personas)
        here += self._personas.gone(self._queues.at_work(turn))
        if not turn.room.is_shared:
            here = [p for p in here if p.name == turn.persona]
        return here
