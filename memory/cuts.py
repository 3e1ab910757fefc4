"""Texts made short for a model or a row. Pure; the composer has cuts of its own."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def one_line(text: str, most: int) -> str:
    """White space collapsed, `most` characters at most; any database can hold it."""
    begun = whole(text[: most * 8])  # enough of it, however much white space there is
    line = " ".join(_CONTROL.sub(" ", begun).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def ends(text: str, most: int) -> str:
    """Two thirds from its beginning and a third from its end; a mark is added where it was cut."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} […] {text[head - most :]}"


def whole(text: str) -> str:
    """The text with `?` for halves of surrogate pairs, which UTF-8 can't hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
