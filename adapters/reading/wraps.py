"""Where a program broke a line to fit a width, and what stood at the break."""

from __future__ import annotations

import re

from adapters.reading.visible import columns

# Programs that break lines as Unicode says need no blank behind or before these.
_BREAKS_BEHIND, _BREAKS_BEFORE = re.compile(r"\S[-/—–|]$"), re.compile(r"[—–]\w")


NARROW = 24  # where a word alone in its row is more likely broken than one behind others


def seam(above: str, below: str, width: int) -> str | None:
    """What stood between two rows if the line was broken there: "", " "; None if it was not.

    width: columns that the rows could have filled; nothing is known of lines that end exactly
    where the next word would not have fitted, so these count as broken.
    """
    room = width - columns(above)
    last, first = above.split()[-1], below.split()[0]
    if _is_ideograph(last[-1]) and _is_ideograph(first[0]):
        return "" if room < 3 else None  # between ideographs a line breaks anywhere
    if room > columns(first):
        return None
    return "" if is_one_word(above, below, width) else " "


def is_one_word(above: str, below: str, width: int) -> bool:
    """Whether a word goes on in the row below, its line being broken there."""
    (*before, last), first = above.split(), below.split()[0]
    too_long = columns(last) + columns(first) > width - indent(below)
    if columns(above) >= width and too_long and (width > NARROW or not before):
        return True
    if _BREAKS_BEHIND.search(above):
        return first[0].isalnum()
    return last[-1].isalnum() and _BREAKS_BEFORE.match(first) is not None


def indent(line: str) -> int:
    """Blanks before the text."""
    return len(line) - len(line.lstrip(" "))


def _is_ideograph(char: str) -> bool:
    """Whether it is of a script that is written without blanks; Hangul has them."""
    return columns(char) == 2 and char.isalpha() and not "\uac00" <= char <= "\ud7a3"
