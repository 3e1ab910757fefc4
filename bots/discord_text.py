"""Markdown as Discord shows it, and the room that it takes there. Pure."""

from __future__ import annotations

from functools import lru_cache

from bots.writer import Writer

LIMIT = 1_990  # a message has 2,000 characters


@lru_cache(maxsize=64)  # a piece is written when it is split and again when it is posted
def written(text: str) -> str:
    """The Markdown text as Discord takes it."""
    return _WRITER.write(text)


def size(text: str) -> int:
    """Characters of the message that a Markdown text becomes."""
    return len(written(text))


_WRITER = Writer()
