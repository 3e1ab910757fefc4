"""Markdown as Matrix shows it, and the room that it takes there. Pure."""

from __future__ import annotations

from functools import lru_cache

from bots.writer import Writer

LIMIT = 40_000  # an event has 65,536 bytes, with both bodies and, encrypted, a third more


@lru_cache(maxsize=64)  # a piece is written when it is split and again when it is posted
def written(text: str) -> str:
    """The Markdown text as Matrix takes it."""
    return _WRITER.write(text)


def size(text: str) -> int:
    """Bytes that a Markdown text takes in an event, as text and as HTML."""
    return len(written(text).encode()) + len(text.encode())


_WRITER = Writer()
