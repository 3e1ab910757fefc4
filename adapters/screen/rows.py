"""One row of a terminal's cells, and the line it reads as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from adapters.screen.style import PLAIN, Style


class ScreenLine(NamedTuple):
    """One row as it reads. wrapped: the terminal broke it here and it goes on in the next row."""

    text: str
    wrapped: bool
    runs: tuple[tuple[str, Style], ...]


BLANK = ScreenLine("", wrapped=False, runs=())


class CellRow:
    """One row of cells. A wide character's second cell is "", so that joining gives the text.

    wrapped: 0, or 1 when the line goes on in the next row, or 2 when its last cell is a filler
    because a wide character did not fit.
    """

    __slots__ = ("chars", "styles", "wrapped")

    def __init__(self, cols: int, style: Style = PLAIN) -> None:
        self.chars = [" "] * cols
        self.styles = [style] * cols
        self.wrapped = 0

    def put(self, x: int, cells: Sequence[str], style: Style) -> None:
        """Overwrite from column x; the cells must fit."""
        end = x + len(cells)
        self._part(x)
        self._part(end)
        self.chars[x:end] = cells
        self.styles[x:end] = [style] * len(cells)
        if end == len(self.chars):
            self.wrapped = 0

    def erase(self, start: int, end: int, style: Style) -> None:
        """Blank the columns from start to before end."""
        end = min(end, len(self.chars))
        if start < end:
            self.put(start, " " * (end - start), style)

    def insert(self, x: int, count: int, style: Style) -> None:
        """Shift what is at x and behind it to the right; what passes the margin is gone."""
        cols = len(self.chars)
        count = max(0, min(count, cols - x))
        self._part(x)
        self._part(cols - count)
        del self.chars[cols - count :], self.styles[cols - count :]
        self.chars[x:x] = " " * count
        self.styles[x:x] = [style] * count
        self.wrapped = 0

    def delete(self, x: int, count: int, style: Style) -> None:
        """Take cells away at x; the rest moves left."""
        count = max(0, min(count, len(self.chars) - x))
        self._part(x)
        self._part(x + count)
        del self.chars[x : x + count], self.styles[x : x + count]
        self.chars += " " * count
        self.styles += [style] * count
        self.wrapped = 0

    def resize(self, cols: int) -> None:
        """Cut it or fill it up with blanks; it is not wrapped again."""
        missing = cols - len(self.chars)
        if missing:
            self._part(cols)
            self.chars[cols:] = " " * missing
            self.styles[cols:] = [PLAIN] * missing
            self.wrapped = 0

    def base(self, x: int) -> int:
        """The column where the character begins that covers column x - 1; -1 before column 0."""
        return x - 2 if x > 1 and not self.chars[x - 1] else x - 1

    def _part(self, x: int) -> None:
        """Blank a wide character that lies on both sides of the border before column x."""
        if 0 < x < len(self.chars) and not self.chars[x]:
            self.chars[x - 1] = self.chars[x] = " "

    def text(self) -> str:
        """The row's characters: blanks at the end are dropped unless the line goes on."""
        if self.wrapped:
            return "".join(self.chars[:-1] if self.wrapped == 2 else self.chars)
        return "".join(self.chars).rstrip(" ")

    def line(self) -> ScreenLine:
        """A copy without cells."""
        text, runs = self.text(), []
        left = len(text)
        if self.styles.count(self.styles[0]) == len(self.styles):
            return ScreenLine(text, bool(self.wrapped), ((text, self.styles[0]),) if text else ())
        cells = zip(self.styles, self.chars, strict=True)
        for style, group in groupby(cells, lambda cell: cell[0]):
            run = "".join(char for _, char in group)[:left]
            left -= len(run)
            if run:
                runs.append((run, style))
        return ScreenLine(text, bool(self.wrapped), tuple(runs))


def join_wrapped(lines: Iterable[ScreenLine]) -> list[str]:
    """The texts of lines, each with what it goes on with."""
    joined: list[list[str]] = []
    goes_on = False
    for line in lines:
        if goes_on:
            joined[-1].append(line.text)
        else:
            joined.append([line.text])
        goes_on = line.wrapped
    return ["".join(parts) for parts in joined]
