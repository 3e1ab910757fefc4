"""The rows that a reader sees: scrollback and screen, with what the terminal wrapped joined."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from wcwidth import wcswidth

from adapters.screen.rows import ScreenLine
from adapters.screen.style import PLAIN, Style
from adapters.screen_profile import ScreenProfile

PIECE = 512  # characters: wcswidth takes the square of their number for flags, 3 s for 40,000
_FRAMES = "│┃║╭╰┌└├─━═╮╯┐┘┤"


class VisibleRow(NamedTuple):
    """One row. runs: its text piece by piece with its styles; nothing of it is lost."""

    text: str
    runs: tuple[tuple[str, Style], ...] = ()

    @property
    def indent(self) -> int:
        """Blanks before the text; the whole length of a blank row."""
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def blank(self) -> bool:
        """Whether it shows nothing."""
        return not self.text.strip()

    def style_at(self, index: int) -> Style:
        """The style of the index-th character."""
        for text, style in self.runs:
            index -= len(text)
            if index < 0:
                return style
        return PLAIN


def visible_rows(lines: Iterable[ScreenLine], cols: int, look: ScreenProfile) -> list[VisibleRow]:
    """Join what the terminal wrapped; take away a scroll bar and a panel at the right."""
    rows: list[VisibleRow] = []
    goes_on = False
    width = look.text_cols(cols)
    for line in lines:
        row = VisibleRow(line.text, line.runs)
        if width < cols:
            row = VisibleRow(_cut(row.text, width), row.runs)
        elif row.text[-1:] in (*look.scrollbar,) and _is_scrollbar(row.text, cols):
            row = VisibleRow(row.text[:-1].rstrip(" "), row.runs)
        rows.append(
            VisibleRow(rows[-1].text + row.text, rows.pop().runs + row.runs) if goes_on else row
        )
        goes_on = line.wrapped
    return [VisibleRow(row.text.rstrip(" "), row.runs) for row in rows]


def _cut(text: str, width: int) -> str:
    """Its first columns."""
    if text.isascii():
        return text[:width]
    end = bisect_right(range(1, len(text) + 1), width, key=lambda size: columns(text[:size]))
    return text[:end]


def _is_scrollbar(text: str, cols: int) -> bool:
    """Whether its last character stands in the last column and is no border of a box."""
    boxed = text[-1] in _FRAMES and text[:2].strip()[:1] in (*_FRAMES,)
    return not boxed and columns(text) == cols


def columns(text: str) -> int:
    """Columns that the text takes on the screen."""
    if text.isascii():
        return len(text)
    pieces = range(0, len(text), PIECE)
    return sum(max(0, wcswidth(text[at : at + PIECE])) for at in pieces)
