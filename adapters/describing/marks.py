"""A screen with the names of the patterns that match its rows: how a program is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from adapters.cli_profile import Profile
from adapters.reading.queries import text_on
from adapters.screen.screen import Screen
from adapters.screen_profile import NEVER

BLANKS = "⋮"  # stands for blank rows


def marked_rows(screen: Screen, profile: Profile) -> list[tuple[str, str]]:
    """Each row that shows something with the names of what matches it, e.g. "ready, box"."""
    rows = screen.display()
    names: list[list[str]] = [[] for _ in rows]
    for name, pattern in _searched(profile):
        for at in _found(pattern, text_on(screen)):
            names[at].append(name)
    for name, pattern in _begun(profile):
        for at, row in enumerate(rows):
            if row and pattern.match(row) and name not in names[at]:
                names[at].append(name)
    return _without_gaps([(", ".join(found), row) for found, row in zip(names, rows, strict=True)])


def _without_gaps(marked: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The rows without the blank ones at the end; one stands for several between others."""
    while marked and not marked[-1][1]:
        marked.pop()
    kept = [two for one, two in pairwise([("", "."), *marked]) if one[1] or two[1]]
    return [(name, row or BLANKS) for name, row in kept]


def _searched(profile: Profile) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Patterns that are searched in the whole screen."""
    footer, permission = profile.signs.footer, profile.shown.permission
    found = {
        "ready": profile.program.ready.prompt,
        "busy": footer.busy if footer else None,
        "prompt": footer.idle if footer else None,
        "permission": permission.pattern if permission else None,
    }
    same = found["prompt"] and found["ready"] and found["prompt"].pattern == found["ready"].pattern
    for name, pattern in found.items():
        if pattern and not (name == "prompt" and same):
            yield name, pattern


def _begun(profile: Profile) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Patterns that a row begins with."""
    if look := profile.shown.look:
        yield "echo", look.prompt.echo
        yield "reply", look.reply.bullet or NEVER
        yield "tool", look.tools.tool
        yield "aside", look.asides.aside
        yield "box", look.prompt.input


def _found(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """The rows that it matches."""
    for match in pattern.finditer(text):
        first = text.count("\n", 0, match.start())
        yield from range(first, text.count("\n", 0, max(match.start(), match.end() - 1)) + 1)
