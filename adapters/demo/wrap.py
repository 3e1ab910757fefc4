"""Text into rows of a terminal."""

from __future__ import annotations

import re
from unicodedata import combining, east_asian_width

_MARKS = re.compile(r"\*\*([^*]+)\*\*|`([^`]+)`")
_INVISIBLE = {0x200B, 0x200C, 0x200D, 0x2060, 0xFE0E, 0xFE0F}


def width(text: str) -> int:
    """Columns that the text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if ord(char) in _INVISIBLE or combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def rows(text: str, columns: int) -> list[str]:
    """Hard wrap at words where there are any; never an empty list."""
    return [row for line in text.split("\n") for row in _wrap(line, columns)]


def _wrap(line: str, columns: int) -> list[str]:
    found = []
    while width(line) > columns:
        cut = at = 0
        used = 0
        for at, char in enumerate(line):
            used += _columns(char)
            if used > columns:
                break
            if char == " ":
                cut = at + 1
        cut = cut or max(at, 1)
        found.append(line[:cut].rstrip())
        line = line[cut:]
    return [*found, line]


def decorate(row: str) -> str:
    """Markdown's bold and code as colours, their marks gone, as terminal programs show them."""
    return _MARKS.sub(
        lambda m: f"\x1b[1m{m[1]}\x1b[22m" if m[1] else f"\x1b[36m{m[2]}\x1b[39m", row
    )
