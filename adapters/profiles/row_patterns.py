"""Patterns that a person wrote for rows as they see them, made to fit rows as they are read.

A row is read without the blanks at its end, and nobody sees those: a pattern that wants some at a
row's end means the row without them as well.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"(?P<kept>\\[^ s]|\[\^?\]?(?:\\.|[^\]\\])*\])"  # another escape, a class
    r"|(?P<blanks>(?:\\?[ ]|\\s)+(?:[+*?]|\{\d*,?\d*\})?)(?=(?P<end>\$|\\Z)|[|)]|\Z)"
    r"|.",
    re.DOTALL,
)
_FLAGS = re.compile(r"\(\?[aimsx]+\)")


def row_pattern(source: str) -> re.Pattern[str]:
    """The pattern, searched in rows: blanks at its end may be missing there. Raises re.error."""
    re.compile(source)  # a mistake is told of what was written
    return re.compile(_TOKEN.sub(_without, source), re.MULTILINE)


def _without(token: re.Match[str]) -> str:
    if not token["blanks"]:
        return token[0]
    return " *" if token["end"] else f"(?:{token['blanks']}| *$)"


def in_last_row(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The same in the last row that shows something."""
    return re.compile(rf"(?:{unflagged(pattern)})(?=[^\n]*\s*\Z)", pattern.flags)


def unflagged(pattern: re.Pattern[str]) -> str:
    """Its source without flags, so that it can be part of another, which has its `flags`."""
    return _FLAGS.sub("", pattern.pattern, count=1)
