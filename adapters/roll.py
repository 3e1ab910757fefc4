"""What stands above the input box, now and, for full-screen programs, since they began.

A program on the alternate screen keeps no scrollback: what left its top is gone from the
screen. A `Roll` that looks at every frame pieces it together again.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapters.looks import Look
from adapters.question import find_question
from adapters.screen import Screen
from adapters.shown import Shown, shown

FOOT_ROWS = 15  # an input box with its footer is not longer
ROLL_ROWS = 10_000
GAP = Shown("")  # by identity: here rows are missing that were never on a frame that was seen
SCREENS_BACK = 3  # how far back a frame is looked for


def rows_above_input(screen: Screen, look: Look) -> list[Shown]:
    """All rows, scrollback included, above the input box or the question in its place."""
    rows = shown(screen.lines(), screen.cols, look.scrollbar)
    while rows and rows[-1].blank:
        rows.pop()
    if question := find_question(rows, look):
        return rows[: question.start]
    for i in range(len(rows) - 1, max(-1, len(rows) - 1 - FOOT_ROWS), -1):
        if look.input.match(rows[i].text):
            while i and (rows[i - 1].blank or look.above.match(rows[i - 1].text)):
                i -= 1
            return rows[:i]
    return rows


class Roll:
    """The rows that a full-screen program showed above its input box, oldest first."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self.rows: list[Shown] = []

    def see(self, screen: Screen) -> None:
        """Look at a frame; call it often enough that frames overlap. Costs 1 to 2 ms."""
        if not screen.alternate:
            self.rows = []
        elif not screen.synchronized:
            frame = self._scrolling(rows_above_input(screen, self._look))
            if frame:
                place = self._place(frame)
                self.rows[place:] = frame if place < len(self.rows) else [GAP, *frame]
                del self.rows[:-ROLL_ROWS]

    def _scrolling(self, rows: list[Shown]) -> list[Shown]:
        """Without the rows at the top that stand still."""
        fixed = 0
        while fixed < len(rows) and (rows[fixed].blank or self._look.aside.match(rows[fixed].text)):
            fixed += 1
        return rows[fixed:]

    def _place(self, frame: Sequence[Shown]) -> int:
        """Where in the roll the frame belongs: where most of its rows are already."""
        best, most = len(self.rows), 0
        first = max(0, len(self.rows) - SCREENS_BACK * max(40, len(frame)))
        for place in range(len(self.rows) - 1, first - 1, -1):
            known = self.rows[place : place + len(frame)]
            same = sum(_goes_on(old, new) for old, new in zip(known, frame, strict=False))
            if same > most and 2 * same >= sum(not row.blank for row in known):
                best, most = place, same
        return best


def _goes_on(old: Shown, new: Shown) -> bool:
    """Whether it is the same row, or one that was being written."""
    return not old.blank and new.text.startswith(old.text)
