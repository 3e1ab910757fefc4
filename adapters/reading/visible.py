"""The rows that a reader sees: scrollback and screen, with what the terminal wrapped joined."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
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
        """True when it shows nothing."""
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
        elif row.text[-1:] in (*look.frame.scrollbar,) and _is_scrollbar(row.text, cols):
            row = VisibleRow(row.text[:-1].rstrip(" "), row.runs)
        rows.append(
            VisibleRow(rows[-1].text + row.text, rows.pop().runs + row.runs) if goes_on else row
        )
        goes_on = line.wrapped
    return [VisibleRow(row.text.rstrip(" "), row.runs) for row in rows]


def _cut(text: str, width: int) -> str:
    """The first columns of a row."""
    if text.isascii():
        return text[:width]
    end = bisect_right(range(1, len(text) + 1), width, key=lambda size: columns(text[:size]))
    return text[:end]


def _is_scrollbar(text: str, cols: int) -> bool:
    """True when its last character stands in the last column and is no border of a box."""
    boxed = text[-1] in _FRAMES and text[:2].strip()[:1] in (*_FRAMES,)
    return not boxed and columns(text) == cols


def columns(text: str) -> int:
    """Columns that the text takes on the screen."""
    if text.isascii():
        return len(text)
    pieces = range(0, len(text), PIECE)
    return sum(max(0, wcswidth(text[at : at + PIECE])) for at in pieces)


_MARK = re.compile(r"^( {0,3}[●⏺✦◆◇⬢❖◉⎿]\ufe0e?)[ \xa0]")
_RESULT = re.compile(r" {0,6}[⎿└┊][ \xa0]")
_STATUS = re.compile(
    r" *(?:[╭┌]─+ [^─].*─[╮┐]|╰─+╯|[─━═▀▄╌]{10,})$"  # a box's borders, rules
    r"| *[⠀-⣿◐◓◑◒]+ .*"  # spinners
    r"|.*\b(?:esc|ctrl\+c|ctrl-c) (?:to )?(?:interrupt|cancel|stop)\b"
)

_END = re.compile(
    r" *[✻✶✢✳✽▣⚕◇⏱✔] .*| *[┃╹].*| *\w+ed for <?\d+ ?m?s\b.*| *Tokens?:.*"
    r"| *(?:[Ss]hift|[Cc]trl)\+\w+ to .*"
)

WRAPS_AT = 0.8  # of the screen's columns: a widest row beyond that shows where rows are broken


def guess_reply(rows: Sequence[VisibleRow], cols: int) -> tuple[list[str], int]:
    """The rows of the reply among those behind the prompt, and the columns that they fill."""
    results = [i for i, row in enumerate(rows) if _RESULT.match(row.text)]
    first = next((i for i, row in enumerate(rows) if not row.blank), -1)
    last = -1 if results == [first] else max(results, default=-1)  # alone, it is an error
    kept = [row for row in rows[last + 1 :] if not _STATUS.match(row.text)]
    while kept and (kept[-1].blank or _END.match(kept[-1].text) or _is_quiet(kept[-1])):
        kept.pop()
    texts = [_MARK.sub(lambda match: " " * (len(match[1]) + 1), row.text) for row in kept]
    margin = min((len(text) - len(text.lstrip(" ")) for text in texts if text.strip()), default=0)
    texts = [text[margin:] for text in texts]
    widest = max((size for text in texts if (size := columns(text)) <= cols), default=0)
    return texts, widest if widest > WRAPS_AT * cols else cols


def _is_quiet(row: VisibleRow) -> bool:
    """True when all of it is dim or grey, as footers are, and no quotation."""
    styles = [style for text, style in row.runs if text.strip()]
    return all(is_muted(style) and not style.italic for style in styles)


def is_muted(style: Style) -> bool:
    """True when text in it stands back: dim, or grey."""
    red, green, blue = style.fg[1:3], style.fg[3:5], style.fg[5:7]
    grey = len(style.fg) == 7 and red == green == blue and "40" <= red <= "b8"
    return style.dim or grey or style.fg == "8"
