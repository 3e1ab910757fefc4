"""The terminal's cells: rows with a cursor and margins, and the lines scrolled off the top.

Every method is total: positions and counts may be anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapters.screen.cells import CLUSTER_LIMIT, JOINER, cluster_width, joins, plain_cells, width
from adapters.screen.rows import CellRow
from adapters.screen.scrollback import Scrollback
from adapters.screen.style import PLAIN, Style
from contract.values import dataclass


@dataclass(frozen=True, slots=True)
class Lead:
    """Zero-width characters written where no cell is before them, until one comes."""

    text: str
    x: int
    y: int


class Grid:
    """x, y: the cursor, from 0; x == cols means that the next character wraps first."""

    def __init__(self, cols: int, rows: int, history_lines: int) -> None:
        self.cols, self.rows = cols, rows
        self.nothing = CellRow(cols)  # every plain blank row, until something is written to it
        self.history = Scrollback(history_lines)
        self.alternate = False
        self._main: list[CellRow] = []  # the main screen's rows while the alternate one shows
        self.reset()

    def reset(self) -> None:
        """Begin as after power-on, on the main screen; the scrollback stays."""
        self.style = PLAIN
        self.lines = self._blank_rows(self.rows)
        self.alternate = False
        self.x = self.y = 0
        self.top, self.bottom = 0, self.rows - 1
        self.autowrap, self.inserting = True, False
        self.last_run = ""
        self._lead: Lead | None = None
        self.tabs = set(range(8, self.cols, 8))

    def _blank_rows(self, count: int) -> list[CellRow]:
        if self.blank is PLAIN:
            return [self.nothing] * count
        return [CellRow(self.cols, self.blank) for _ in range(count)]

    def _row(self) -> CellRow:
        """The cursor's row, to be written to."""
        row = self.lines[self.y]
        if row is self.nothing:
            row = self.lines[self.y] = CellRow(self.cols)
        return row

    @property
    def blank(self) -> Style:
        """The look of erased cells: the current background and nothing else."""
        return Style(bg=self.style.bg) if self.style.bg else PLAIN

    # ── Writing ─────────────────────────────────────────────────────────────────────────

    def write_ascii(self, run: str) -> None:
        """Write printable ASCII at the cursor, one column each."""
        x, end = self.x, self.x + len(run)
        if end >= self.cols or self.inserting or self._lead:
            self._write_cells(run)
        else:
            row = self.lines[self.y]
            if row is self.nothing:
                row = self._row()
            chars = row.chars
            if not chars[x]:
                chars[x - 1] = " "
            if not chars[end]:
                chars[end] = " "
            chars[x:end] = run
            row.styles[x:end] = [self.style] * (end - x)
            self.x = end
        self.last_run = run

    def write_text(self, run: str) -> None:
        """Write any printable characters at the cursor, each into the cell where it belongs."""
        cells = plain_cells(run)
        if cells is None or self._before().endswith(JOINER):
            for char in run:
                self._write_char(char)
        else:
            self._write_cells(cells)
        self.last_run = run

    def _before(self) -> str:
        """The content of the cell before the cursor; "" at a row's beginning."""
        row = self.lines[self.y]
        return row.chars[row.base(self.x)] if self.x else ""

    def _write_char(self, char: str) -> None:
        before = self._before()
        if before and joins(before, char):
            self._attach(char)
        elif width(char):
            self._write_cells([char] if width(char) == 1 else [char, ""])
        else:
            lead = self._lead.text if self._lead else ""
            self._lead = Lead((lead + char)[:CLUSTER_LIMIT], self.x, self.y)

    def _attach(self, char: str) -> None:
        """Add a character to the cell before the cursor, which may become a wide one by it."""
        row = self._row()
        base = row.base(self.x)
        cluster = row.chars[base] = (row.chars[base] + char)[:CLUSTER_LIMIT]
        narrow = base == self.x - 1
        if narrow and self.x < self.cols and cluster_width(cluster) == 2:
            style = row.styles[base]
            row.put(self.x, [" "], style)
            row.chars[self.x] = ""
            self.x += 1

    def _write_cells(self, cells: Sequence[str]) -> None:
        """Write cells ("" follows a wide character), wrapping at the right margin."""
        if self._lead:
            if (self._lead.x, self._lead.y) == (self.x, self.y):
                cells = [self._lead.text + cells[0], *cells[1:]]
            self._lead = None
        if not self.autowrap:
            cells = self._clipped(cells)
        done, total = 0, len(cells)
        while done < total:
            if self.x >= self.cols:
                self._wrap(1)
            count = min(self.cols - self.x, total - done)
            straddles = done + count < total and not cells[done + count]
            part = cells[done : done + count - straddles]
            row = self._row()
            if self.inserting:
                row.insert(self.x, len(part), self.blank)
            row.put(self.x, part, self.style)
            self.x += len(part)
            done += len(part)
            if straddles:
                self._wrap(2)

    def _clipped(self, cells: Sequence[str]) -> Sequence[str]:
        """Without autowrap, what passes the margin overwrites the last column."""
        self.x = min(self.x, self.cols - 1)
        room = self.cols - self.x
        if len(cells) <= room:
            return cells
        kept = [*cells[: room - 1], cells[-1] or " "]
        if room > 1 and not cells[room - 1]:
            kept[-2] = " "
        return kept

    def _wrap(self, how: int) -> None:
        self._row().wrapped = how
        self.x = 0
        self.index()

    def repeat(self, count: int) -> None:
        """Write the last character again."""
        char = next((c for c in reversed(self.last_run) if width(c)), "")
        if char:
            last = self.last_run
            count = min(count, self.cols * self.rows)
            self._write_cells([char] * count if width(char) == 1 else [char, ""] * count)
            self.last_run = last

    # ── The cursor ──────────────────────────────────────────────────────────────────────

    def move(self, x: int, y: int) -> None:
        """Set the cursor, kept within the screen."""
        self.x = max(0, min(x, self.cols - 1))
        self.y = max(0, min(y, self.rows - 1))

    def move_rows(self, count: int) -> None:
        """Move up (negative) or down; a margin in the way stops it."""
        low = self.top if self.y >= self.top else 0
        high = self.bottom if self.y <= self.bottom else self.rows - 1
        self.move(self.x, max(low, min(self.y + count, high)))

    def tab(self, count: int) -> None:
        """To the count-th tab stop ahead, or behind when negative."""
        stops = [0, *sorted(stop for stop in self.tabs if stop < self.cols), self.cols - 1]
        x = min(self.x, self.cols - 1)
        if count > 0:
            ahead = [stop for stop in stops if stop > x]
            self.x = ahead[min(count, len(ahead)) - 1] if ahead else x
        elif count < 0:
            behind = [stop for stop in reversed(stops) if stop < x]
            self.x = behind[min(-count, len(behind)) - 1] if behind else 0

    def index(self) -> None:
        """Down a row, scrolling at the bottom margin."""
        self.x = min(self.x, self.cols - 1)
        if self.y == self.bottom:
            self.scroll_up(1)
        elif self.y < self.rows - 1:
            self.y += 1

    def reverse_index(self) -> None:
        """Up a row, scrolling at the top margin."""
        self.x = min(self.x, self.cols - 1)
        if self.y == self.top:
            self.scroll_down(1)
        elif self.y:
            self.y -= 1

    # ── Scrolling, inserting, erasing ───────────────────────────────────────────────────

    def scroll_up(self, count: int) -> None:
        """Scroll within the margins; what leaves the top of the main screen is kept."""
        count = max(0, min(count, self.bottom - self.top + 1))
        if self.top == 0 and not self.alternate:
            self.history.extend(row.line() for row in self.lines[:count])
        self._shift(self.top, self.top + count, self.bottom + 1 - count)

    def scroll_down(self, count: int) -> None:
        """Scroll down within the margins."""
        count = max(0, min(count, self.bottom - self.top + 1))
        self._shift(self.bottom + 1 - count, self.bottom + 1, self.top)

    def _shift(self, start: int, end: int, at: int) -> None:
        """Take the rows from start to before end away and put as many blank ones in at `at`."""
        del self.lines[start:end]
        self.lines[at:at] = self._blank_rows(end - start)

    def insert_lines(self, count: int) -> None:
        """Blank rows at the cursor; those below move down to the bottom margin."""
        if self.top <= self.y <= self.bottom:
            count = max(0, min(count, self.bottom - self.y + 1))
            self._shift(self.bottom + 1 - count, self.bottom + 1, self.y)
            self.x = 0

    def delete_lines(self, count: int) -> None:
        """Take rows away at the cursor; those below move up."""
        if self.top <= self.y <= self.bottom:
            count = max(0, min(count, self.bottom - self.y + 1))
            self._shift(self.y, self.y + count, self.bottom + 1 - count)
            self.x = 0

    def insert_cells(self, count: int) -> None:
        """Blanks at the cursor."""
        self.x = min(self.x, self.cols - 1)
        self._row().insert(self.x, count, self.blank)

    def delete_cells(self, count: int) -> None:
        """Take cells away at the cursor."""
        self.x = min(self.x, self.cols - 1)
        self._row().delete(self.x, count, self.blank)

    def erase_cells(self, start: int, end: int) -> None:
        """Blank columns of the cursor's row, from start to before end."""
        self._row().erase(start, end, self.blank)

    def erase_rows(self, start: int, end: int) -> None:
        """Blank whole rows, from start to before end."""
        self.lines[start:end] = self._blank_rows(len(self.lines[start:end]))

    def fill(self, char: str) -> None:
        """Put one character into every cell."""
        self.lines = [CellRow(self.cols) for _ in self.lines]
        for row in self.lines:
            row.put(0, char * self.cols, PLAIN)

    def keep_screen(self) -> None:
        """Move what the main screen shows into the scrollback, blank rows at its end left out."""
        if not self.alternate:
            shown = [row.line() for row in self.lines]
            while shown and not shown[-1].text:
                shown.pop()
            self.history.extend(shown)

    # ── Screens ─────────────────────────────────────────────────────────────────────────

    def show_alternate(self, on: bool) -> None:
        """Change to the alternate screen, which begins blank, or back."""
        if on and not self.alternate:
            self._main, self.lines = self.lines, self._blank_rows(self.rows)
        elif not on and self.alternate:
            self.lines, self._main = self._main, []
        self.alternate = on

    def resize(self, cols: int, rows: int) -> None:
        """Change the size; nothing is wrapped again. Rows leave at the top, to the scrollback."""
        main = self._main if self.alternate else self.lines
        surplus = max(0, min(self.y, self.rows - 1) + 1 - rows)
        if not self.alternate:
            self.history.extend(row.line() for row in main[:surplus])
        self.cols = cols
        self.nothing.resize(cols)
        for lines in (self.lines, self._main):
            if lines:
                del lines[:surplus]
                del lines[rows:]
                for row in lines:
                    row.resize(cols)
                lines += [CellRow(cols) for _ in range(rows - len(lines))]
        self.tabs |= set(range(8, cols, 8))
        self.rows = rows
        self.top, self.bottom = 0, rows - 1
        self.move(self.x, self.y - surplus)
