"""Lines of TOML: where each value of a sound text stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from gateway.settings.mistakes.words import KeyPath


def line_of(path: KeyPath, text: str) -> int | None:
    """The line, from 1, of TOML where a value stands, or else the innermost table around it."""
    lines = dict(reversed(list(_lines(text))))
    return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Each path with the line on which its statement begins. The text is sound TOML."""
    table: KeyPath = ()
    count: dict[KeyPath, int] = {}
    pending: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        pending.append(line)
        try:
            said = tomllib.loads("\n".join(pending))
        except tomllib.TOMLDecodeError:
            continue  # goes on in the next line
        begin, header = number - len(pending) + 1, pending[0].lstrip().startswith("[")
        pending.clear()
        for path in _paths(said):
            if not header:
                yield (*table, *path), begin
                continue
            table = _indexed(path, count)
            yield table, begin


def _paths(value: Any) -> Iterator[KeyPath]:
    """The paths of everything in a value, each after the one around it."""
    keyed = dict(enumerate(value)) if isinstance(value, list) else value
    for key, inner in keyed.items() if isinstance(keyed, dict) else ():
        yield (key,)
        yield from ((key, *path) for path in _paths(inner))


def _indexed(path: KeyPath, count: dict[KeyPath, int]) -> KeyPath:
    """A header's path with the index of the newest entry of each list in it; count: how many."""
    found: KeyPath = ()
    for n, part in enumerate(path):
        if isinstance(part, int):
            if n == len(path) - 1:
                count[found] = count.get(found, 0) + 1
            continue
        found = (*found, part)
        if n + 1 < len(path) and found in count and not isinstance(path[n + 1], int):
            found = (*found, count[found] - 1)
    if path and isinstance(path[-1], int):
        found = (*found, count[found] - 1)
    return found
