"""The lines that left a screen at its top, oldest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from adapters.rows import Line

RUNS = 250_000  # some 60 MB at worst; 10,000 lines of a program in colours have 50,000


class Scrollback:
    """Keeps the last `limit` lines, fewer when each cell has a colour of its own.

    total: how many lines ever came, which is the number of the next one.
    """

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._lines: deque[Line] = deque()
        self._runs = 0

    def extend(self, lines: Iterable[Line]) -> None:
        """Add lines; the oldest leave."""
        kept = self._lines
        for line in lines:
            kept.append(line)
            self.total += 1
            self._runs += len(line.runs)
            while len(kept) > self._limit or self._runs > RUNS:
                self._runs -= len(kept.popleft().runs)

    def clear(self) -> None:
        """Forget them; the count goes on."""
        self._lines.clear()
        self._runs = 0

    def since(self, number: int) -> list[Line]:
        """The lines from this number on, as far as they are kept."""
        count = max(0, self.total - number)
        return list(islice(self._lines, max(0, len(self._lines) - count), None))
