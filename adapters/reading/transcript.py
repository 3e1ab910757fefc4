"""The rows above the input box, now and, for full-screen programs, since they began.

A program on the alternate screen keeps no scrollback: what left its top is gone from the
screen. A `TranscriptView` that looks at every frame pieces it together again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile

from adapters.reading.question import find_question
from adapters.reading.visible import VisibleRow, is_muted, visible_rows
from adapters.screen.screen import Screen
from adapters.screen_profile import ScreenProfile

QUESTION_ROWS = 80  # a question with all it shows is not longer
FOOT_ROWS = 15  # an input box with its footer is not longer
ROLL_ROWS = 10_000
GAP = VisibleRow("…")  # by identity: here rows are missing that were never on a frame that was seen
_PLACEHOLDER = re.compile(r"(?i)(?:type|ask|send|enter|write|message)\b")
HEADER_ROWS, WITNESSES = 6, 5  # a header is not longer; rows that prove that others scrolled
SCREENS_BACK = 3  # how far back a frame is looked for


def rows_above_input(screen: Screen, look: ScreenProfile, since: int = 0) -> list[VisibleRow]:
    """All rows, scrollback included, above the input box or the question in its place.

    since: see `Screen.lines`.
    """
    rows = visible_rows(screen.lines(since), screen.cols, look)
    while rows and rows[-1].blank:
        rows.pop()
    last = rows[-QUESTION_ROWS:]
    if question := find_question(last, look):
        return rows[: len(rows) - len(last) + question.start]
    for i in range(len(rows) - 1, max(-1, len(rows) - 1 - FOOT_ROWS), -1):
        if _is_input(rows[i], look) and not _is_within_echo(rows, i, look):
            while i and (rows[i - 1].blank or look.prompt.above.match(rows[i - 1].text)):
                i -= 1
            return rows[:i]
    return rows


TITLE_ROWS = 2  # may change while what is below them stays, e.g. a clock
LEFT_ROWS = 2  # with fewer left of what has scrolled nothing proves that it has


def first_new(before: Sequence[str], now: Sequence[str]) -> int:
    """The index of the first row that wasn't there before. No row ends in blanks.

    A screen may have scrolled meanwhile, so that the first rows of `before` are gone, below a
    header that stays. Where the two don't fit together all rows are new.
    """
    most = end = 0
    for gone in range(len(before)):
        surplus, behind = _alike(islice(before, gone, None), now)
        if surplus > most and surplus >= (LEFT_ROWS if gone else 1):
            most, end = surplus, behind
    return end


def _alike(old: Iterable[str], new: Iterable[str]) -> tuple[int, int]:
    """How many more rows stayed than changed, and the index behind the last that stayed.

    0 where others changed among them: a conversation repeats itself, and the wrong rows may
    look alike. What stands where nothing stood begins what is new, e.g. above a status line.
    """
    alike = others = behind = 0
    changed = False
    for i, (was, is_now) in enumerate(zip(old, new, strict=False)):
        if was == is_now:
            if is_now and changed:
                return 0, 0
            if is_now:
                alike, behind = alike + 1, i + 1
        elif not was:
            break
        else:
            others += not alike
            changed |= i >= (TITLE_ROWS if alike else HEADER_ROWS)
    return alike - others, behind


def _is_within_echo(rows: list[VisibleRow], i: int, look: ScreenProfile) -> bool:
    """True when it is an empty row of a prompt that goes on below."""
    pair = rows[i : i + 2]
    return len(pair) == 2 and all(look.prompt.echo.match(row.text) for row in pair)


def _is_input(row: VisibleRow, look: ScreenProfile) -> bool:
    match = look.prompt.input.match(row.text)
    if not match or not look.prompt.input_muted:
        return match is not None
    held = row.text[match.end() :].strip(" \xa0│┃")
    start = row.text.find(held, match.end()) + 1
    return not held or bool(_PLACEHOLDER.match(held)) or is_muted(row.style_at(start))


class TranscriptView:
    """The rows that a full-screen program showed above its input box, oldest first."""

    def __init__(self, look: ScreenProfile) -> None:
        self._look = look
        self._frame: list[VisibleRow] = []
        self._fixed = 0  # rows at the top that do not scroll
        self.rows: list[VisibleRow] = []

    def see(self, screen: Screen) -> None:
        """Look at a frame; call it often enough that frames overlap. Costs 1 to 2 ms."""
        if not screen.alternate:
            self.rows, self._frame, self._fixed = [], [], 0
        elif not screen.synchronized:
            frame = rows_above_input(screen, self._look)
            self._fixed = _standing(self._frame, frame) or self._fixed
            self._frame = frame
            if scrolling := frame[self._fixed :]:
                place = self._place(scrolling)
                self.rows[place:] = scrolling if place < len(self.rows) else [GAP, *scrolling]
                del self.rows[:-ROLL_ROWS]

    def _place(self, frame: Sequence[VisibleRow]) -> int:
        """The place in the roll where the frame belongs: where most of its rows are already."""
        first = max(0, len(self.rows) - SCREENS_BACK * max(40, len(frame)))
        known, new = [_key(row) for row in self.rows[first:]], [_key(row) for row in frame]
        best, most = len(known), 0
        for place in range(len(known) - 1, -1, -1):
            pairs = list(zip(known[place:], new, strict=False))
            same = sum(_goes_on(*pair) for pair in pairs)
            if same > most and 2 * same >= sum(bool(old) for old, _ in pairs):
                best, most = place, same
        return first + best


def _key(row: VisibleRow) -> str:
    """The part of a row that stays when a table around it gets wider."""
    return "".join(filter(str.isalnum, row.text))


def _goes_on(old: str, new: str) -> bool:
    """True when it is the same row, or one that was being written."""
    return bool(old) and (new == old or (len(old) > 3 and new.startswith(old)))


def _standing(old: Sequence[VisibleRow], new: Sequence[VisibleRow]) -> int:
    """The number of rows at the top that stood still while those below scrolled up."""
    same = takewhile(lambda pair: pair[0].text == pair[1].text, zip(old, new, strict=False))
    count = len(list(same))
    below = [row.text for row in new[count : count + WITNESSES]]
    if not 0 < count <= HEADER_ROWS or len(below) < WITNESSES or len(set(below)) < 3:
        return 0
    moved = range(count + 1, len(old) - WITNESSES + 1)
    texts = [row.text for row in old]
    return count if any(texts[i : i + WITNESSES] == below for i in moved) else 0
