"""Tables drawn on a screen turned back into Markdown, cells that were wrapped joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from adapters.reading.visible import columns

# Programs that break lines as Unicode says need no blank behind or before these.
_BREAKS_BEHIND, _BREAKS_BEFORE = re.compile(r"\S[-/—–|]$"), re.compile(r"[—–]\w")

NARROW = 24  # where a word alone in its row is more likely broken than one behind others


def seam(above: str, below: str, width: int) -> str | None:
    """The characters between two rows if the line was broken there: "", " "; None if it was not.

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
    """True when a word goes on in the row below, its line being broken there."""
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
    """True when it is of a script that is written without blanks; Hangul has them."""
    return columns(char) == 2 and char.isalpha() and not "\uac00" <= char <= "\ud7a3"


_TOP = re.compile(r" *[┌╭┏╔][─━═]+(?:[┬┳╦][─━═]+)*[┐╮┓╗]$")
_MIDDLE = re.compile(r" *[├┝┠┣╠╞][─━═┼╋╬╪┿]+[┤┥┨┫╣╡]$")
_BOTTOM = re.compile(r" *[└╰┗╚][─━═]+(?:[┴┻╩][─━═]+)*[┘╯┛╝]$")
_ROW = re.compile(r" *[│┃║](.*)[│┃║]$")
_BAR = re.compile(r"[│┃║]")
# A heading's rule: Codex draws one piece for each column, rich one below all of them.
_HEAD_RULE = re.compile(r" *━{2,}(?:  +━{2,})*$")
_BODY_RULE = re.compile(r" *─{2,}(?:  +─{2,})*$")
_PARTING = re.compile(r"─{10,}$")
_KEY = re.compile(r"(\S[^:]{0,60}):(?: |$)")
_RICH_RULE = re.compile(r" ─{3,} ?$")


PADDING = 2  # blanks around a cell
TABLE_ROWS = 500  # on the screen; a longer one stays as it is drawn, and reading stays fast
HEADING_ROWS = 8  # rows above the first rule


class DrawnTable(NamedTuple):
    """A table's Markdown, and the row behind it."""

    lines: list[str]
    end: int


Cells = list[str]


def read_table(rows: Sequence[str], start: int) -> DrawnTable | None:
    """The table that begins at this row, if one does."""
    return _boxed(rows, start) or _ruled(rows, start) or _rich(rows, start) or _upright(rows, start)


def _boxed(rows: Sequence[str], start: int) -> DrawnTable | None:
    """Drawn with lines around every cell; its first rows may be missing."""
    topped = _TOP.match(rows[start]) is not None
    groups: list[list[Cells]] = [[]]
    for end in range(start + topped, min(len(rows), start + TABLE_ROWS)):
        row = rows[end]
        if _BOTTOM.match(row):
            return _table(groups, end + 1, topped)
        if _MIDDLE.match(row):
            groups.append([])
        elif match := _ROW.match(row):
            groups[-1].append(_BAR.split(match[1]))
        else:
            return None
    return None


def _table(groups: list[list[Cells]], end: int, topped: bool) -> DrawnTable | None:
    """The table of these rows, which lines part into groups."""
    groups = [group for group in groups if group]
    if not groups or (len(groups[0][0]) == 1 and not topped):
        return None
    if len(groups) == 1 and len(groups[0][0]) == 1:  # a mere box
        return DrawnTable([cells[0].strip() for cells in groups[0]], end)
    widths = [columns(cell) - PADDING for cell in groups[0][0]]
    if len(groups) == 2:
        groups = [groups[0], *_parted(groups[1], widths)]
    return DrawnTable(_lines([_merged(group, widths) for group in groups]), end)


def _parted(body: Sequence[Cells], widths: Sequence[int]) -> list[list[Cells]]:
    """Rows without lines between them: one goes on below if its cells were broken to fit."""
    parted: list[list[Cells]] = [[body[0]]]
    for above, below in pairwise(body):
        if _goes_on(above, below, widths):
            parted[-1].append(below)
        else:
            parted.append([below])
    return parted


def _goes_on(above: Cells, below: Cells, widths: Sequence[int]) -> bool:
    pairs = [(a.strip(), b.strip(), w) for a, b, w in zip(above, below, widths, strict=False)]
    return all(not b or (a and seam(a, b, w) is not None) for a, b, w in pairs)


def _ruled(rows: Sequence[str], start: int) -> DrawnTable | None:
    """Codex: columns are as wide as the pieces of the rule below the heading."""
    ahead = range(start, min(len(rows), start + HEADING_ROWS))
    rule = next((i for i in ahead if not rows[i].strip() or "━━" in rows[i]), 0)
    if rule <= start or not _HEAD_RULE.match(rows[rule]) or "  " not in rows[rule].strip():
        return None
    spans = [match.span() for match in re.finditer(r"━+", rows[rule])]
    groups: list[list[Cells]] = [[_cut(row, spans) for row in rows[start:rule]], []]
    end = rule + 1
    while end < len(rows) and rows[end].strip():
        if _BODY_RULE.match(rows[end]):
            groups.append([])
        else:
            groups[-1].append(_cut(rows[end], spans))
        end += 1
    widths = [stop - begin - PADDING for begin, stop in spans]
    return DrawnTable(_lines([_merged(group, widths) for group in groups if group]), end)


def _rich(rows: Sequence[str], start: int) -> DrawnTable | None:
    """rich: blanks between columns, one rule below the heading."""
    if start + 2 >= len(rows) or not _RICH_RULE.match(rows[start + 1]):
        return None
    end = start + 2
    while end < len(rows) and rows[end].strip():
        end += 1
    body = [rows[start], *rows[start + 2 : end]]
    spans = _columns(body)
    if len(spans) < 2:
        return None
    return DrawnTable(_lines([_cut(row, spans) for row in body]), end)


def _columns(rows: Sequence[str]) -> list[tuple[int, int]]:
    """The columns of a table: where those begin and end that are two blanks apart in every row."""
    length = max(len(row) for row in rows)
    padded = [row.ljust(length) for row in rows]
    empty = [all(row[i] == " " for row in padded) for i in range(length)] + [True, True]
    gaps = [i for i in range(length) if empty[i] and empty[i + 1]]
    edges = [0, *(i + 1 for i in gaps if i and not empty[i - 1]), length]
    return [(a, b) for a, b in pairwise(edges) if a < b]


def _upright(rows: Sequence[str], start: int) -> DrawnTable | None:
    """Claude Code on a narrow screen: `heading: cell` rows, a rule between the table's rows."""
    ahead = rows[start : start + HEADING_ROWS * 4]
    if not _KEY.match(rows[start]) or not any(map(_PARTING.match, ahead)):
        return None
    groups, end = _parted_groups(rows, start)
    if len(groups) < 2 or not all(groups):
        return None
    keys = _common_keys(groups)
    if len(keys) < 2 or any(not group[0].startswith(f"{keys[0]}:") for group in groups):
        return None
    return DrawnTable(_lines([keys, *(_values(group, keys) for group in groups)]), end)


def _parted_groups(rows: Sequence[str], start: int) -> tuple[list[list[str]], int]:
    """The rows between the rules, and where the table ends."""
    groups: list[list[str]] = [[]]
    end = start
    while end < len(rows) and (rows[end].strip() or indent("".join(rows[end + 1 : end + 2])) > 1):
        if _PARTING.match(rows[end]):
            groups.append([])
        elif rows[end].strip():
            groups[-1].append(rows[end])
        end += 1
    return groups, end


def _common_keys(groups: Sequence[Sequence[str]]) -> list[str]:
    found = [[match[1] for row in group if (match := _KEY.match(row))] for group in groups]
    return [key for key in found[0] if all(key in others for others in found)]


def _values(group: Sequence[str], keys: Sequence[str]) -> Cells:
    """The cells behind the keys, in the keys' order; further rows belong to the cell above."""
    values: Cells = []
    for row in group:
        if len(values) < len(keys) and row.startswith(f"{keys[len(values)]}:"):
            values.append(row[len(keys[len(values)]) + 1 :].strip())
        else:
            values[-1] += f" {row.strip()}"
    return values


def _cut(row: str, spans: Sequence[tuple[int, int]]) -> Cells:
    """The row's text at these columns; the last cell takes the rest."""
    cells = ["" for _ in spans]
    column = 0
    for char in row:
        index = max((i for i, (start, _) in enumerate(spans) if start <= column), default=0)
        cells[index] += char
        column += columns(char)
    return cells


def _merged(group: Sequence[Cells], widths: Sequence[int]) -> Cells:
    """One row of cells out of the screen's rows that it was wrapped into."""
    count = max(len(cells) for cells in group)
    pieces = [[cells[i].strip() for cells in group if i < len(cells)] for i in range(count)]
    return [_joined(*pair) for pair in zip(pieces, [*widths, *[0] * count], strict=False)]


def _joined(pieces: Sequence[str], width: int) -> str:
    text = last = ""
    for piece in filter(None, pieces):
        glue = "" if not last or is_one_word(last, piece, width) else " "
        text, last = text + glue + piece, piece
    return text


def _lines(body: Sequence[Cells]) -> list[str]:
    count = max(len(cells) for cells in body)
    spelled = [[cell.strip().replace("|", "\\|") for cell in cells] for cells in body]
    spelled = [cells + [""] * (count - len(cells)) for cells in spelled]
    lines = ["| " + " | ".join(cells) + " |" for cells in spelled]
    return [lines[0], "|" + " --- |" * count, *lines[1:]]
