"""Files that a double's clients send."""

from __future__ import annotations

from aiohttp import web


def bytes_of(part: web.FileField) -> bytes:
    """The bytes of a form's file; what aiohttp keeps them in is closed."""
    with part.file:
        return part.file.read()
