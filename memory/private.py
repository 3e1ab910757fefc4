"""`<private>...</private>`: what stays in the live transcript and reaches no memory.

In doubt a text is private. Brackets may be full-width or written as entities, the tag may have
white space, attributes and any case. One that is never closed goes to the end of the message; one
that was never opened began with it, as where somebody parted a private text over two messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

LEAST_CHARS = 6
RUN_WORDS, RUN_CHARS = 3, 12  # so many words in a row, so long together, are no coincidence
LONG_CHARS = 16  # a word that says something of itself, as does one with a digit in it

_WORD = re.compile(r"\w+")
Telling = Set[tuple[str, ...]]

_BLANK = r"[\s\u200b-\u200f\u2060\ufeff]*"
_TAG = re.compile(
    rf"(?:<|&lt;){_BLANK}(?P<closes>\\?/?){_BLANK}private(?![\w.:-])[^<>]{{0,200}}?(?:>|&gt;)",
    re.IGNORECASE,
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_PLAIN: dict[int, int | str] = {
    **_WIDE,
    **dict.fromkeys(map(ord, "‹〈⟨《«"), "<"),
    **dict.fromkeys(map(ord, "›〉⟩》»"), ">"),
}
_MARK = "[private]"


def _ranges(text: str) -> list[tuple[int, int, int, int]]:
    """Where private parts stand, tags included, and where their texts do; none in another."""
    found: list[tuple[int, int, int, int]] = []
    for part in _closed(text):
        found = [one for one in found if one[0] < part[0]]
        found.append(part)
    return found


def _closed(text: str) -> Iterator[tuple[int, int, int, int]]:
    """The same at each closing; what was never opened goes back to the beginning."""
    depth = start = inner = 0
    for tag in _TAG.finditer(text.translate(_PLAIN)):  # which keeps every place
        if not tag["closes"]:
            if depth == 0:
                start, inner = tag.span()
            depth += 1
        elif depth < 2:
            yield start if depth else 0, tag.end(), inner if depth else 0, tag.start()
            depth = 0
        else:
            depth -= 1
    if depth:
        yield start, len(text), inner, len(text)


def private_spans(text: str) -> list[str]:
    """The texts of the private parts of a text."""
    found = (text[begin:end].strip() for _, _, begin, end in _ranges(text))
    return [span for span in found if span]


def has_private(text: str) -> bool:
    """True if a text has a private part."""
    return bool(_ranges(text))


def public(text: str, spans: tuple[str, ...] = ()) -> str:
    """The text without its private parts, and without repetitions of `spans`, others' or its own.

    A repetition is a whole one, a few words of one in a row, or one word that nobody says by
    chance; whatever their case, and what stands between the words.
    """
    kept = text
    ranges = _ranges(text)
    for start, end, _, _ in reversed(ranges):
        kept = kept[:start] + kept[end:]
    hidden = (*spans, *(span for _, _, a, b in ranges if (span := text[a:b].strip())))
    for span in hidden:
        if len(span) >= LEAST_CHARS:
            words = r"\s+".join(re.escape(word) for word in span.split())
            kept = re.sub(words, _MARK, kept, flags=re.IGNORECASE)
    return without(kept, _telling(hidden), _MARK).strip() if hidden else kept.strip()


# ── Repetitions ─────────────────────────────────────────────────────────────────────────


def telling(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """The words, and the words in a row, by which a repetition of these texts is known."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        words = _WORD.findall(text)
        folded = [word.casefold() for word in words]
        found |= {(folded[i],) for i, word in enumerate(words) if _tells(word)}
        runs = zip(*(folded[i:] for i in range(RUN_WORDS)), strict=False)
        found |= {run for run in runs if len("".join(run)) >= RUN_CHARS}
    return frozenset(found)


_telling = lru_cache(maxsize=64)(telling)


def _tells(word: str) -> bool:
    has_digit = any(map(str.isdigit, word))
    return len(word) >= (LEAST_CHARS if has_digit else LONG_CHARS)


def without(text: str, known: Telling, mark: str) -> str:
    """The text with a mark in the place of every stretch of such words."""
    words = list(_WORD.finditer(text))
    folded = [match[0].casefold() for match in words]
    marked = set[int]()
    for size in (1, RUN_WORDS):
        for i in range(len(words) - size + 1):
            if tuple(folded[i : i + size]) in known:
                marked |= set(range(i, i + size))
    for last in sorted(marked, reverse=True):
        if last + 1 in marked:
            continue
        first = last
        while first - 1 in marked:
            first -= 1
        text = f"{text[: words[first].start()]}{mark}{text[words[last].end() :]}"
    return text
