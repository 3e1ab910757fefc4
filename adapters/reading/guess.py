"""The reply of a program that nobody described: what stands behind the prompt, without what
programs of this kind put around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adapters.reading.visible import VisibleRow, columns
from adapters.screen.style import Style

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
    """Whether all of it is dim or grey, as footers are, and no quotation."""
    styles = [style for text, style in row.runs if text.strip()]
    return all(is_muted(style) and not style.italic for style in styles)


def is_muted(style: Style) -> bool:
    """Whether text in it stands back: dim, or grey."""
    red, green, blue = style.fg[1:3], style.fg[3:5], style.fg[5:7]
    grey = len(style.fg) == 7 and red == green == blue and "40" <= red <= "b8"
    return style.dim or grey or style.fg == "8"
