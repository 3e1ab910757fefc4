"""The lines that left a screen at its top, oldest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from adapters.screen.rows import ScreenLine
from adapters.screen.style import PLAIN, Style

RUNS = 250_000  # some 20 MB at worst; 10,000 lines of a program in colours have 50,000
STYLES = 65_536  # of one program; what comes with another one then is kept plain

# A line as it is kept: its text, whether it goes on, and where each run ends with the number of
# its style. Plain tuples of plain values are nothing that the garbage collector has to visit:
# with Lines, a full collection took 24 ms for each terminal of 10,000 lines in five colours.
_Kept = tuple[str, bool, tuple[int, ...]]


class Scrollback:
    """Keeps the last `limit` lines, fewer when each cell has a colour of its own.

    total: how many lines ever came, which is the number of the next one.
    """

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._lines: deque[_Kept] = deque()
        self._runs = 0
        self._styles = [PLAIN]
        self._numbers = {PLAIN: 0}

    def extend(self, lines: Iterable[ScreenLine]) -> None:
        """Add lines; the oldest leave."""
        kept = self._lines
        for line in lines:
            kept.append((line.text, line.wrapped, self._spans(line)))
            self.total += 1
            self._runs += len(line.runs)
            while len(kept) > self._limit or self._runs > RUNS:
                self._runs -= len(kept.popleft()[2]) // 2

    def _spans(self, line: ScreenLine) -> tuple[int, ...]:
        spans: list[int] = []
        end = 0
        for text, style in line.runs:
            end += len(text)
            spans += (end, self._number(style))
        return tuple(spans)

    def _number(self, style: Style) -> int:
        number = self._numbers.get(style)
        if number is None and len(self._styles) < STYLES:
            number = self._numbers[style] = len(self._styles)
            self._styles.append(style)
        return number or 0

    def clear(self) -> None:
        """Forget them; the count goes on."""
        self._lines.clear()
        self._runs = 0

    def since(self, number: int) -> list[ScreenLine]:
        """The lines from this number on, as far as they are kept."""
        count = max(0, self.total - number)
        return [
            self._line(kept) for kept in islice(self._lines, max(0, len(self._lines) - count), None)
        ]

    def _line(self, kept: _Kept) -> ScreenLine:
        text, wrapped, spans = kept
        starts = (0, *spans[::2])
        cut = zip(starts, spans[::2], spans[1::2], strict=False)
        return ScreenLine(text, wrapped, tuple((text[a:b], self._styles[n]) for a, b, n in cut))
