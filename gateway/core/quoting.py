"""Remembered words quoted in a line of the chat."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"#?(\d{1,15})")
_AT = re.compile(r"@(?=\S)")


def quoted(text: str, limit: int) -> str:
    """One line of at most `limit` characters, in which nobody is mentioned again."""
    flat = " ".join(text.split())
    short = flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
    return _AT.sub("@\u2060", short)


def number_in(argument: str) -> int | None:
    """The number that an argument is, e.g. `12` or `#12`."""
    match = _NUMBER.fullmatch(argument.strip())
    return int(match[1]) if match else None
