"""What of a text may reach the memory: not its private parts, nor what repeats a private one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from functools import lru_cache
from itertools import repeat

from contract.private import private_parts
from contract.stretches import replaced
from memory.spans import Spans

LEAST_CHARS = 6
RUN_WORDS, RUN_CHARS = 3, 12  # so many words in a row, so long together, are no coincidence
LONG_CHARS = 16  # a word that says something of itself, as does one with a digit in it

_WORD = re.compile(r"\w+")
Traces = Set[tuple[str, ...]]

_MARK = "[withheld]"


def public(text: str, spans: tuple[str, ...] = ()) -> str:
    """The text without its private parts, and without repetitions of `spans`, others' or its own.

    A repetition is a whole one, a few words of one in a row, or one word that nobody says by
    chance; whatever their case, and what stands between the words.
    """
    parts = private_parts(text)
    kept = replaced(text, ((part.start, part.end, "") for part in parts))
    own = (text[part.inner : part.inner_end].strip() for part in parts)
    hidden = (*spans, *filter(None, own))
    if not hidden:
        return kept.strip()
    kept = replaced(kept, ((*place, _MARK) for place in _spans(hidden).within(kept)))
    return without(kept, _traces(hidden), _MARK).strip()


@lru_cache(maxsize=4)  # a long text takes some megabytes
def _spans(hidden: tuple[str, ...]) -> Spans:
    return Spans(span for span in hidden if len(span) >= LEAST_CHARS)


# ── Repetitions ─────────────────────────────────────────────────────────────────────────


def traces(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """The words, and the words in a row, by which a repetition of these texts is known."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        words = _WORD.findall(text)
        folded = [word.casefold() for word in words]
        found |= {(folded[i],) for i, word in enumerate(words) if _tells(word)}
        runs = zip(*(folded[i:] for i in range(RUN_WORDS)), strict=False)
        found |= {run for run in runs if len("".join(run)) >= RUN_CHARS}
    return frozenset(found)


_traces = lru_cache(maxsize=64)(traces)


def _tells(word: str) -> bool:
    has_digit = any(map(str.isdigit, word))
    return len(word) >= (LEAST_CHARS if has_digit else LONG_CHARS)


def without(text: str, known: Traces, mark: str) -> str:
    """The text with a mark in the place of every stretch of such words."""
    words = list(_WORD.finditer(text))
    folded = [match[0].casefold() for match in words]
    marked = set[int]()
    for size in (1, RUN_WORDS):
        for i in range(len(words) - size + 1):
            if tuple(folded[i : i + size]) in known:
                marked |= set(range(i, i + size))
    firsts = (words[i].start() for i in sorted(marked) if i - 1 not in marked)
    lasts = (words[i].end() for i in sorted(marked) if i + 1 not in marked)
    return replaced(text, zip(firsts, lasts, repeat(mark)))
