"""Commands to Moot itself: recognised in messages here, and handed to their handlers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.access.acts import act_of
from gateway.access.permits import Permits
from gateway.core.addressing import as_typed
from gateway.core.command_table import CommandSpec, entry_of
from gateway.core.ledger import Turn
from gateway.settings.personas.personas import Persona
from gateway.turns.typing_errors import surely_meant, unknown
from memory.scopes import home_scope
from store.transcript import StoredMessage

_HEAD = re.compile(r"[!/]([a-z]+|[1-9])[.,:;!?…。]*", re.IGNORECASE)
_UNSEEN = re.compile("[\u200b-\u200d\u2060\ufeff]")
_WRAPPED = re.compile(r"(`{1,3}|\*{1,2}|_{1,2}|~{1,2})\s*([!\uff01/].*?)\s*\1", re.DOTALL)
_LAST = ".,;!?…。 \t\n"


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """A command's name, as it was typed but in lower case, and what was written behind it."""

    name: str
    argument: str = ""

    @property
    def entry(self) -> CommandSpec | None:
        """Its entry in the table; None: there is no such command."""
        return entry_of(self.name)

    @property
    def is_private(self) -> bool:
        """True if its reply is for whoever said it alone; nobody else needs to see a slip."""
        return self.entry is None or self.entry.private

    @property
    def in_order(self) -> bool:
        """True if it waits for the turns before it."""
        return self.entry is not None and self.entry.in_order


def parse_command(text: str, *, addressed: bool) -> ParsedCommand | None:
    """The command in a message, or None.

    addressed: the message is meant for us anyway (a mention or a DM); only then is an unknown
    word after `!` taken for a command, and `/` for `!`. `/moot` may stand before any of them.
    """
    bare = as_typed(text)
    if (wrapped := _WRAPPED.fullmatch(bare)) is not None:
        bare = wrapped[2]
    first, rest = _parted(bare)
    match = _HEAD.fullmatch(first)
    if match is None:
        return None
    name = match[1].lower()
    entry = entry_of(name)
    if first.startswith("/") and not (addressed and entry):
        return None
    if entry is None:
        return ParsedCommand(name, rest) if addressed or surely_meant(name, rest) else None
    return ParsedCommand(name, rest if entry.text else rest.rstrip(_LAST))


def _parted(text: str) -> tuple[str, str]:
    """The first word, as a keyboard of another script may type it, and the rest."""
    first, *rest = text.split(None, 1) or [""]
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", first)), "".join(rest).strip()


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


Handler = Callable[[CommandRequest], Awaitable[str]]
"""Carries a command out. The reply is Markdown; empty: nothing needs to be said."""


class Commands:
    """Checks that a command is allowed and hands it on. handlers: by what the table calls them."""

    def __init__(self, permits: Permits, handlers: Mapping[str, Handler]) -> None:
        self._permits = permits
        self._handlers = handlers

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
        return await self._handlers[entry.handler](
            CommandRequest(name, argument, turn, asked, theirs)
        )
