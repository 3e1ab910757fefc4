"""Colours of what is printed on a terminal."""

from __future__ import annotations

import os
from typing import Any, Final

_CODES: Final = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2"}
_MARKS: Final = {"✓": "green", "⚠": "yellow", "✗": "red", "·": "dim"}


def in_colour(stream: Any) -> bool:
    """True on a terminal that shows colours, for somebody who wants them (no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return not plain and bool(stream.isatty())


def paint(text: str, colour: str, stream: Any) -> str:
    """The text in a colour, where the stream shows any."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if in_colour(stream) else text


def mark(line: str, stream: Any) -> str:
    """A line with the mark that it begins with in the mark's colour."""
    colour = _MARKS.get(line[:1])
    return paint(line[0], colour, stream) + line[1:] if colour else line
