"""Where a program's replies stand: between the prompt's echo and its input box, and how."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from adapters.describing.rows import escaped, whole_row
from adapters.describing.watch import WatchedPrompt
from adapters.reading.reply import letters_of
from adapters.reading.tables import indent
from adapters.reading.visible import columns
from contract.values import dataclass

HEAD, TAIL = 24, 12  # letters by which a prompt's line is found
WIDE = 0.6  # of the columns: a row beyond that may be broken at the margin,
ECHO_WIDE = 0.85  # and the echo's, which may be cut earlier
BREAKS = 3  # of a sentence, in rows that had no room for the next one's first word
_MARK = re.compile(r"\s*(?:[^\w\s]{1,3}|\w[\w-]{0,15}[:>])\s+(?=\S)|\s*\w[\w-]{0,15}: ")
_NAME = re.compile(r".*(?::|\.\.\.|…)$")


@dataclass(slots=True)
class ReplyPlace:
    """Settings, each empty where there is none; and what could not be seen."""

    echo: str = ""
    bullet: str = ""
    margin: int = 0
    spare: int = 0
    aside: str = ""
    notes: list[str] = field(default_factory=list)


def reply_place(turns: Sequence[WatchedPrompt], chrome: int, cols: int) -> ReplyPlace:
    """chrome: rows at the bottom that are no reply's."""
    place = ReplyPlace()
    ends = [_echo_end(turn, chrome) for turn in turns]
    place.echo = _echo(turns, chrome)
    if any(end is None for end in ends):
        place.notes.append("it doesn't repeat the prompt: a reply is what is new on its screen")
    regions = [_region(turn, end, chrome) for turn, end in zip(turns, ends, strict=True)]
    regions = [region for region in regions if region]
    if not regions:
        place.notes.append("no reply was seen: give it other prompts (--prompt)")
        return place
    asides = _asides(regions)
    place.aside = "|".join(whole_row(row)[1:] for row in asides)
    regions = [_trimmed([row for row in region if row not in asides]) for region in regions]
    regions = [region for region in regions if region]
    mark = _mark(regions)
    place.bullet = escaped(mark)
    others = [row for region in regions for row in region[bool(mark) :] if row]
    indents = [len(row) - len(row.lstrip(" ")) for row in others]
    least = min(indents, default=columns(mark))
    place.margin = min(least, columns(mark)) if mark else least
    _see_width(place, turns, regions, chrome, cols)
    return place


def _lines(turn: WatchedPrompt) -> list[str]:
    """The prompt's lines as they are found on the screen."""
    return [line for line in turn.prompt.splitlines() if line.strip()]


def _last_row_with(rows: Sequence[str], text: str, before: int) -> int | None:
    wanted = letters_of(text)
    found = [i for i in range(before) if wanted and wanted in letters_of(rows[i])]
    return found[-1] if found else None


def _echo_end(turn: WatchedPrompt, chrome: int) -> int | None:
    """The row behind the prompt's echo; None: it isn't there."""
    rows = turn.end.filled
    size = len(rows) - chrome
    tail = letters_of(_lines(turn)[-1])[-TAIL:]
    found = _last_row_with(rows, tail, size)
    if found is None:
        found = _last_row_with(rows, letters_of(_lines(turn)[0])[:HEAD], size)
    return None if found is None else found + 1


def _echo(turns: Sequence[WatchedPrompt], chrome: int) -> str:
    """A pattern for the echo's rows, where they are marked."""
    firsts: set[str] = set()
    others: set[str] = set()
    for turn in turns:
        rows = turn.end.filled
        for number, line in enumerate(_lines(turn)):
            at = _last_row_with(rows, letters_of(line)[:HEAD], len(rows) - chrome)
            if at is not None and (cut := rows[at].find(line.strip()[:4])) >= 0:
                (others if number else firsts).add(rows[at][:cut])
    marks = [mark for mark in firsts if mark.strip()]
    if len(marks) != 1 or len(firsts) != 1:
        return ""
    if {mark for mark in others if mark != marks[0] and len(mark) < 12}:
        return ""  # its other rows look like a reply's: the prompt's own words tell where it ends
    return f"{escaped(marks[0])}(.+)"


def _region(turn: WatchedPrompt, end: int | None, chrome: int) -> list[str]:
    rows = turn.end.filled
    rows = rows[: len(rows) - chrome] if chrome else rows
    if end is not None:
        return _trimmed(rows[end:])
    known = set(turn.typed.rows)
    return _trimmed([row for row in rows if not row or row not in known])


def _trimmed(rows: Sequence[str]) -> list[str]:
    kept = list(rows)
    while kept and not kept[0]:
        kept.pop(0)
    while kept and not kept[-1]:
        kept.pop()
    return kept


def _asides(regions: Sequence[Sequence[str]]) -> list[str]:
    """Rows above and below each reply that are always the same, e.g. a name, or the same but for
    their numbers, e.g. a time."""
    found: list[str] = []
    if len(regions) < 2:
        return found
    for ordered in (1, -1):
        for rows in zip(*(region[::ordered] for region in regions), strict=False):
            if not (_is_name if ordered > 0 else _is_footer)(rows, regions):
                break
            if rows[0] and not all(len(region) == 1 for region in regions):
                found.append(rows[0])
    return found


def _is_footer(rows: Sequence[str], _: Sequence[Sequence[str]]) -> bool:
    """True for blank rows, labels, and rows that differ in their numbers alone."""
    alike = len({escaped(row) for row in rows}) == 1
    return alike and bool(not rows[0] or _NAME.match(rows[0]) or len({*rows}) > 1)


def _is_name(rows: Sequence[str], regions: Sequence[Sequence[str]]) -> bool:
    """True for blank rows, labels, and a row before the column of all that follows."""
    first = rows[0]
    if len({escaped(row) for row in rows}) > 1 or not first or _NAME.match(first):
        return len({escaped(row) for row in rows}) == 1
    below = [row for region in regions for row in region if row and row != first]
    begin = indent(first)
    heads = all(region[0] == first for region in regions)
    return heads and bool(below) and all(indent(row) > begin for row in below)


def _mark(regions: Sequence[Sequence[str]]) -> str:
    """The text that begins each reply, and no other row of it."""
    marks = {match[0] if (match := _MARK.match(region[0])) else "" for region in regions}
    mark = marks.pop() if len(marks) == 1 else ""
    again = any(row.startswith(mark) for region in regions for row in region[1:])
    return "" if not mark or again else mark


def _see_width(
    place: ReplyPlace,
    turns: Sequence[WatchedPrompt],
    regions: Sequence[Sequence[str]],
    chrome: int,
    cols: int,
) -> None:
    """The columns that it leaves empty at the right, where a broken row shows them: a reply's,
    else one of the prompt's echo."""
    wrapped = {
        line.text for turn in turns for line in turn.screen.lines(turn.since) if line.wrapped
    }
    room = cols - place.margin
    column = max((_column(region, wrapped) for region in regions), default=0)
    sizes = [columns(row) - place.margin for region in regions for row in region]
    broken = [
        columns(row) - place.margin
        for region in regions
        for row, below in pairwise(region)
        if below and row not in wrapped and columns(row) > WIDE * cols
    ]
    echoed = [size for turn in turns for size in _echo_sizes(turn, place, chrome, cols, wrapped)]
    if broken:
        place.spare = max(0, room - max(broken))
    elif column:
        place.spare = cols - column
    elif any(columns(row) >= cols - 1 for turn in turns for row in turn.end.filled):
        pass  # the terminal breaks its lines
    elif echoed and max(sizes) <= max(echoed):
        place.spare = max(0, room - max(echoed))
    else:
        place.notes.append(
            "no reply had a row that is broken at the right margin: if long lines come apart, "
            "run it again with a --prompt that makes it write one"
        )


def _column(region: Sequence[str], wrapped: Container[str]) -> int:
    """The column at which it breaks its lines, narrower than the terminal; 0: none is seen."""
    found, run = 0, [""]
    for row in (*region, ""):
        if row and row not in wrapped and indent(row) == indent(run[0] or row):
            run = [*filter(None, run), row]
            continue
        size = max(map(columns, run))
        words = [below.split(maxsplit=1)[0] for below in run[1:]]
        full = all(columns(f"{row} {word}") > size for row, word in zip(run, words, strict=False))
        if full and sum(word[0].islower() for word in words) >= BREAKS:
            found = max(found, size)
        run = [row]
    return found


def _echo_sizes(
    turn: WatchedPrompt, place: ReplyPlace, chrome: int, cols: int, wrapped: Container[str]
) -> Iterator[int]:
    """The columns of text in rows of the echo that go on in the next row."""
    rows = turn.end.filled
    end = _echo_end(turn, chrome)
    said = letters_of(turn.prompt)
    for row in rows[:end]:
        if (
            letters_of(row)[-TAIL:] in said
            and columns(row) > ECHO_WIDE * cols
            and row not in wrapped
        ):
            mark = re.match(place.echo.removesuffix("(.+)"), row) if place.echo else None
            left = mark.end() if mark else len(row) - len(row.lstrip(" "))
            yield columns(row) - max(left, place.margin)
