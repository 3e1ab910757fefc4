"""What an agent was given, read back from its header's sections for people who ask. Pure.

Only the composer's own lines begin as the patterns here do: `composer.guard` escapes or indents
everybody else's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from composer import headings
from contract.values import dataclass

_MESSAGE = re.compile(r"^\[(\d\d:\d\d) \|", re.MULTILINE)
_UNIT = re.compile(r"^- (.+)$", re.MULTILINE)
_FILE = re.compile(r"^  \[attachment: (.+), [^,\n]+, \d+ bytes\]", re.MULTILINE)
_PARTICIPANTS = re.compile(r"^Participants: (.+)$", re.MULTILINE)
_SINCE = re.compile(r"\[RAW TRANSCRIPT — \d+ messages? since your last reply\]")


@dataclass(frozen=True, slots=True)
class GivenKind:
    """A kind of thing that an agent was given. kind: the name of its section. items: what they say;
    none of messages and of a summary."""

    kind: str
    n: int
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """All that an agent was given. people: who was there, as it read it. given: in the header's
    order. whose: the names of those whom its facts are about. first_at, last_at: HH:MM of the
    room's messages. since_reply: they are those since its last answer. files: their names."""

    people: str = ""
    given: tuple[GivenKind, ...] = ()
    whose: tuple[str, ...] = ()
    first_at: str = ""
    last_at: str = ""
    since_reply: bool = False
    files: tuple[str, ...] = ()


def contents(texts: Mapping[str, str], whose: tuple[str, ...] = ()) -> Contents:
    """The contents of a header. texts: of its sections, by their names."""
    people = _PARTICIPANTS.search(texts.get(headings.SESSION, ""))
    said = texts.get(headings.TRANSCRIPT, "")
    times = _MESSAGE.findall(said)
    return Contents(
        people=people[1] if people else "",
        given=tuple(one for name, text in texts.items() if (one := _given(name, text)).n),
        whose=whose,
        first_at=times[0] if times else "",
        last_at=times[-1] if times else "",
        since_reply=_SINCE.match(said) is not None,
        files=tuple(_FILE.findall(said)),
    )


def _given(name: str, text: str) -> GivenKind:
    match name:
        case headings.SESSION | headings.INVOCATION:
            return GivenKind(name, 0)
        case headings.SUMMARY:
            return GivenKind(name, 1)
        case headings.TRANSCRIPT:
            return GivenKind(name, len(_MESSAGE.findall(text)))
    units = _UNIT.findall(text)
    return GivenKind(name, len(units), () if name == headings.THREAD else tuple(units))
