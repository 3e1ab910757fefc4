"""Rows of a screen turned into patterns that find them again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_RUN = re.compile(r"(.)\1{4,}")
_SPINNERS = ("⠀-⣿", "◐◓◑◒", "◴◷◶◵", "▁-█", "✢✳✶✻✽·", r"|/\\-")


def escaped(text: str) -> str:
    """A pattern for exactly this text, in which numbers and the lengths of rules may differ."""
    parts, at = [], 0
    for run in _RUN.finditer(text):
        parts += [_plain(text[at : run.start()]), f"{_plain(run[1])}{{5,}}"]
        at = run.end()
    return "".join([*parts, _plain(text[at:])])


def _plain(text: str) -> str:
    """`re.escape` without what people need not read."""
    return re.sub(r"\\([ #&~\-\"'`<>=!,;:%@/])", r"\1", re.sub(r"\d+", r"\\d+", _kept(text)))


def _kept(text: str) -> str:
    return "".join(char if char.isalnum() or char == "_" else re.escape(char) for char in text)


def whole_row(row: str, cursor: int = 0) -> str:
    """A pattern for the whole row. cursor: its column, where blanks before it are meant."""
    blank = " " if cursor > len(row) else ""
    return f"^{escaped(row)}{blank}$"


def common_part(texts: Sequence[str]) -> str:
    """The longest text that is in all of them, without what doesn't begin or end a word."""
    if not texts:
        return ""
    first = min(texts, key=len)
    for size in range(len(first), 0, -1):
        for start in range(len(first) - size + 1):
            part = first[start : start + size]
            if all(part in text for text in texts):
                return part.strip()
    return ""


def spinner(busy: Iterable[str], idle: Iterable[str]) -> str:
    """A pattern that the titles at work match, and those at rest don't; "": there is none."""
    at_work, at_rest = sorted(set(busy) - set(idle)), set(idle)
    firsts = {title[0] for title in at_work if title}
    if not firsts:
        return ""
    if not any(char.isalnum() for char in firsts):
        if firsts & {title[0] for title in at_rest if title}:
            return ""
        known = [group for group in _SPINNERS if all(re.match(f"[{group}]", c) for c in firsts)]
        group = known[0] if known else "".join(re.escape(char) for char in sorted(firsts))
        return f"^[{group}]"
    part = common_part(at_work)
    return escaped(part) if len(part) > 2 and not any(part in title for title in at_rest) else ""
