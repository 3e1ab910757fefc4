"""Reads what a message says to Moot: a command, pins, or only a mention; and what sounds as if it
should be pinned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from contract.chat import unaddressed
from contract.looks import normalized
from contract.private import has_private
from contract.values import dataclass
from gateway.core.addressing import UNSEEN, as_typed, spelled
from gateway.core.command_spec import CommandSpec
from gateway.core.command_table import entry_of
from gateway.core.typing_errors import surely_meant
from memory.landmarks import KINDS
from store.rows import StoredMessage

CODE_LINES = 20

_PIN = re.compile(
    rf"[!\uff01]({'|'.join(KINDS)})(?:[:\uff1a]|(?=\s)|\Z)[ \t\u3000]*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_BREAK = re.compile("\r\n|\r|\u2028|\u2029")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin in a message. kind: one of KINDS. text: empty when the message replied to is meant."""

    kind: str
    text: str


def begins_with_pin(content: str) -> bool:
    """True if a message is a pin as a whole: no part of it asks an agent anything."""
    return is_pin(as_typed(content))


def is_pin(bare: str) -> bool:
    """The same of a text that is as it was typed, see addressing."""
    return _PIN.match(bare) is not None


def pins_in(content: str, *, reply: bool) -> tuple[Pin, ...]:
    """The pins of a message, in its order.

    One at its beginning takes all that follows, code included, until the next one; one at the
    beginning of a later line takes that line. reply: the message answers another one, so a bare
    `!pin` on a later line means that one; else it is only a word.
    """
    return pins_of(as_typed(content), reply=reply)


def pins_of(bare: str, *, reply: bool) -> tuple[Pin, ...]:
    """The same of a text that is as it was typed, see addressing."""
    if "!" not in bare and "\uff01" not in bare:
        return ()
    first, *later = _pieces(_BREAK.sub("\n", bare))
    pins = [Pin(match[1].lower(), match[2].strip()) for match in [_PIN.match(first)] if match]
    for piece in later:
        line = piece.partition("\n")[0]
        if (match := _PIN.match(line)) and (reply or match[2].strip()):
            pins.append(Pin(match[1].lower(), match[2].strip()))
    return tuple(pins)


def _pieces(text: str) -> list[str]:
    """The text, parted before each line outside of code that begins with a pin."""
    pieces: list[list[str]] = [[]]
    for line, code in _lines(text):
        if not code and _PIN.match(line) and pieces[-1]:
            pieces.append([])
        pieces[-1].append(line)
    return ["\n".join(piece) for piece in pieces]


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it stands in a code block; the fences count as code."""
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            closes = match is not None and match[1].startswith(fence)
            yield line, True
            fence = "" if closes else fence
        else:
            fence = match[1] if match else ""
            yield line, bool(fence)


# ── What sounds like a decision ─────────────────────────────────────────────────────────

_DECIDED = re.compile(
    r"\b(?:we(?:['’]ve| have)?(?: all| now| finally)? (?:decided|agreed|settled on|chose)\b"
    r"|(?:it(?:['’]s| is) )(?:decided|agreed|settled)\b"
    r"|let['’]s (?:go with|stick with|settle on)\b"
    r"|we(?:['’]ll| will|['’]re going to| are going to)"
    r" (?:go with|stick with|adopt|switch to|standardi[sz]e on)\b"
    r"|(?:the|our|final) decision (?:is|was)\b|(?:final )?decision:)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\n]|\Z")


def worth_pinning(text: str) -> Literal["decision", "code"] | None:
    """True if what a person wrote sounds like a decision, in English, or has long code.

    A question is no decision.
    """
    found: Literal["decision", "code"] | None = None
    lines = list(_lines(_BREAK.sub("\n", text)))
    in_row = 0  # lines of code without a fence
    for line, code in lines:
        in_row = in_row + 1 if code and not _FENCE.match(line) else 0
        if in_row >= CODE_LINES:
            found = "code"
    prose = "\n".join(line for line, code in lines if not code)
    end: re.Match[str] | None = None
    for match in _DECIDED.finditer(prose):
        if end is None or end.start() < match.end():
            end = _SENTENCE_END.search(prose, match.end())
        if end is None or end[0] != "?":
            found = "decision"
    return None if found and has_private(text) else found


# ── A command, and all that a text says ────────────────────────────────────────────────

_HEAD = re.compile(r"[!/]([a-z]+|[1-9])[.,:;!?…。]*", re.IGNORECASE)
_UNSEEN = re.compile(f"[{UNSEEN}]")
_WRAPPINGS = ("```", "``", "`", "**", "*", "__", "_", "~~", "~")
_LAST = ".,;!?…。 \t\n"


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """A command's name, as it was typed but in lower case, and what was written behind it."""

    name: str
    argument: str = ""

    @property
    def entry(self) -> CommandSpec | None:
        """The command's entry in the table; None: there is no such command."""
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
    first, *more = _unwrapped(bare).split(None, 1) or [""]
    rest = "".join(more).strip()
    first = normalized("NFKC", _UNSEEN.sub("", first))  # another script's keyboard
    match = _HEAD.fullmatch(first)
    if match is None:
        return None
    name = match[1].lower()
    entry = entry_of(name)
    if first.startswith("/") and not (addressed and entry):
        return None
    if entry is None:
        return ParsedCommand(name, rest) if addressed or surely_meant(name, rest) else None
    return ParsedCommand(name, rest if entry.text else normalized("NFKC", rest).rstrip(_LAST))


def _unwrapped(text: str) -> str:
    """A command without the signs of code or of emphasis around it."""
    for sign in _WRAPPINGS:
        if text.startswith(sign) and text.endswith(sign):
            inside = text[len(sign) : -len(sign)].strip()
            if inside.startswith(("!", "\uff01", "/", "\uff0f")):
                return inside
    return text


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
        """True if the message is a pin as a whole: no part of it asks an agent anything."""
        return bool(self.pins) and is_pin(self.bare)


def read(content: str, *, reply: bool) -> Reading:
    """reply: the message answers another one, see pins_in."""
    plain = unaddressed(content)
    hides_its_beginning = content[:1] in tuple(UNSEEN)  # so that mentions begin later
    bare = as_typed(content) if hides_its_beginning else spelled(plain)
    command = parse_command(content, addressed=True, bare=bare)
    return Reading(content, plain, bare, command, pins_of(bare, reply=reply))


def reading_of(message: StoredMessage, known: Reading | None = None) -> Reading:
    """The reading of a stored message: `known`, made when it came, unless it was edited since."""
    if known is not None and known.content == message.content:
        return known
    return read(message.content, reply=message.reply_to is not None)
