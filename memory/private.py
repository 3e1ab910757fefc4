"""`<private>...</private>`: what stays in the live transcript and reaches no memory."""

from __future__ import annotations

import re

_SPAN = re.compile(r"<private>(.*?)(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = "[private]"
REPEATED_CHARS = 6  # a shorter private text is too common to be looked for in other messages


def private_spans(text: str) -> list[str]:
    """What stands in the private parts of a text; one that is never closed goes to its end."""
    return [span.strip() for span in _SPAN.findall(text) if span.strip()]


def has_private(text: str) -> bool:
    """Whether a text has a private part."""
    return _SPAN.search(text) is not None


def public(text: str, spans: tuple[str, ...] = ()) -> str:
    """The text without its private parts, and without repetitions of `spans`, others' or its own.

    Repetitions count whatever their case and white space.
    """
    kept = _SPAN.sub("", text)
    for span in (*spans, *private_spans(text)):
        if len(span) >= REPEATED_CHARS:
            words = r"\s+".join(re.escape(word) for word in span.split())
            kept = re.sub(words, _MARK, kept, flags=re.IGNORECASE)
    return kept.strip()
