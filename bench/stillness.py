"""The moment at which a turn would be over by agentapi's published rule, judged from its output.

Its rule (github.com/coder/agentapi, read 2026-11): a snapshot of the screen every 25 ms; the
screen is stable when all snapshots of 2 s are equal, that is 81 in succession.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path

from adapters.screen.screen import Screen

SNAPSHOT_S = 0.025
STABLE_S = 2.0
_HEAD = struct.Struct("!dI")  # the time, and how many bytes follow


def written(path: Path) -> Iterator[tuple[float, bytes]]:
    """The output of a program, with its times."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        when, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield when, data[at : at + size]
        at += size


def stable_after(path: Path, begin: float, cols: int, rows: int) -> float:
    """The first moment behind `begin` at which the screen has been still for long enough."""
    screen = Screen(cols, rows)
    shown, changed = screen.display(), begin
    for when, data in written(path):
        if when > begin and _stable(changed) < when:
            break
        screen.feed(data)
        if (display := screen.display()) != shown:
            shown, changed = display, max(when, begin)
    return _stable(changed)


def _stable(changed: float) -> float:
    """The time at which the last of enough snapshots behind this change is taken."""
    return math.ceil(changed / SNAPSHOT_S) * SNAPSHOT_S + STABLE_S
