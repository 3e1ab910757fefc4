"""Characters in cells: their widths, and which of them share one cell."""

from __future__ import annotations

from functools import lru_cache

from wcwidth import wcswidth, wcwidth

JOINER = "\u200d"
SHORT = 200  # characters of a run whose cells are remembered: rules and boxes, again and again
CLUSTER_LIMIT = 128  # characters in one cell; a family emoji has 11, stacked marks some dozens

# DEC special graphics: what ` to ~ mean after ESC ( 0.
DEC_GRAPHICS = dict(zip(range(0x5F, 0x7F), "\u00a0◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))


@lru_cache(maxsize=8192)
def width(char: str) -> int:
    """Columns of one character: 0, 1 or 2. A soft hyphen shows nothing."""
    return 0 if char == "\xad" else max(0, wcwidth(char))


@lru_cache(maxsize=8192)
def cluster_width(cluster: str) -> int:
    """Columns of one cell's content: the widest of its base and its emoji presentation."""
    return min(2, max(wcswidth(cluster), *map(width, cluster[:1])))


def joins(cell: str, char: str) -> bool:
    """True when `char` belongs into the cell before it: marks, emoji parts, flags."""
    if width(char) == 0:
        return True
    if cell.isascii():
        return False
    if cell.endswith(JOINER):
        return char >= "\u2190" and not char.isalpha()
    if "\U0001f3fb" <= char <= "\U0001f3ff":  # skin tones
        return cell[0] >= "\u261d" and not cell[0].isalpha()
    return _is_regional(char) and len(cell) == 1 and _is_regional(cell)


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def plain_cells(run: str) -> tuple[str, ...] | None:
    """The run's cells, "" for the second half of a wide one; None if characters share cells."""
    return _short_cells(run) if len(run) <= SHORT else _cells(run)


def _cells(run: str) -> tuple[str, ...] | None:
    cells: list[str] = []
    for char in run:
        columns = width(char)
        if (
            columns == 0
            or "\U0001f1e6" <= char <= "\U0001f1ff"
            or "\U0001f3fb" <= char <= "\U0001f3ff"
        ):
            return None
        cells += (char,) if columns == 1 else (char, "")
    return tuple(cells)


_short_cells = lru_cache(maxsize=4096)(_cells)
