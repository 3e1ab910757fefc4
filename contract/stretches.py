"""Stretches of a text."""

from __future__ import annotations

from collections.abc import Iterable


def replaced(text: str, stretches: Iterable[tuple[int, int, str]]) -> str:
    """The text with others in place of some stretches: start, end and the other text of each, in
    the text's order."""
    parts, at = list[str](), 0
    for start, end, other in stretches:
        parts += [text[at:start], other]
        at = end
    return "".join([*parts, text[at:]]) if parts else text
