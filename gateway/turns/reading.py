"""Reads once what a message's text says to Moot: a command, pins, or only a mention."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from gateway.core.addressing import as_typed, hides_its_beginning, spelled, unaddressed
from gateway.core.command_table import CommandSpec, entry_of
from gateway.core.pins import Pin, is_pin, pins_of
from gateway.turns.typing_errors import surely_meant

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


def parse_command(text: str, *, addressed: bool, bare: str | None = None) -> ParsedCommand | None:
    """The command in a message, or None.

    addressed: the message is meant for us anyway (a mention or a DM); only then is an unknown
    word after `!` taken for a command, and `/` for `!`. `/moot` may stand before any of them.
    bare: the text as it was typed, where that is known, see addressing.
    """
    bare = as_typed(text) if bare is None else bare
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
class Reading:
    """A text, and what it says.

    unaddressed: without the mentions that it begins with; bare: the same as keyboards write it.
    command: what it says to Moot if it is meant for us. pins: what it pins if a person wrote it.
    """

    content: str
    unaddressed: str
    bare: str
    command: ParsedCommand | None
    pins: tuple[Pin, ...]

    @property
    def is_pin(self) -> bool:
        """It is a pin as a whole: no part of it asks an agent anything."""
        return bool(self.pins) and is_pin(self.bare)

    def of(self, content: str, *, reply: bool) -> Reading:
        """The reading of a text that may have been edited since."""
        return self if content == self.content else read(content, reply=reply)


def read(content: str, *, reply: bool) -> Reading:
    """reply: the message answers another one, see pins_in."""
    plain = unaddressed(content)
    bare = as_typed(content) if hides_its_beginning(content) else spelled(plain)
    command = parse_command(content, addressed=True, bare=bare)
    return Reading(content, plain, bare, command, pins_of(bare, reply=reply))
