"""Markdown as Rocket.Chat shows it, and the room that it takes there. Pure."""

from __future__ import annotations

from functools import lru_cache

from bots.writer import Writer

LIMIT = 4_900  # Message_MaxAllowedSize is 5,000 unless an administrator changed it


@lru_cache(maxsize=64)  # a piece is written when it is split and again when it is posted
def written(text: str) -> str:
    """The Markdown text as Rocket.Chat takes it."""
    return _WRITER.write(text)


def size(text: str) -> int:
    """UTF-16 units of the message that a Markdown text becomes."""
    return len(written(text).encode("utf-16-le")) // 2


_WRITER = Writer()
