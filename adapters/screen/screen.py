"""An emulated terminal: bytes in, lines out. No I/O, never raises, bounded.

pyte was the first choice and is the witness in the tests. But its parser, its drawing, its
display, its erasing and its reports all had to be replaced, and what remained was a dictionary
of cells; rows of lists take a run of text as one slice assignment instead.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from adapters.screen.cells import DEC_GRAPHICS
from adapters.screen.controls import ON_GRID
from adapters.screen.grid import Grid
from adapters.screen.queries import (
    MODES,
    SOFT_RESET,
    Csi,
    answer_csi,
    answer_osc,
    answer_string,
    cursor_report,
    parse,
)
from adapters.screen.rows import BLANK, ScreenLine, join_wrapped
from adapters.screen.signals import title
from adapters.screen.style import PLAIN, Style, restyle
from adapters.screen.tokens import ASCII, CONTROL, CSI, ESCAPE, OSC, STRING, TEXT, Tokenizer

EVENTS_KEPT = 256
MIN_COLS = 2  # a wide character must fit


class Osc(NamedTuple):
    """An operating system command other than a title or a question, e.g. 9, 133, 777, 7501."""

    number: int
    payload: str


class Saved(NamedTuple):
    """The values that ESC 7 saves and ESC 8 brings back."""

    x: int = 0
    y: int = 0
    style: Style = PLAIN
    origin: bool = False
    graphics: tuple[bool, bool] = (False, False)
    shifted: bool = False


class Screen:
    """A terminal of `cols` × `rows` with its scrollback.

    answers: False when somebody else answers the program's queries (see `Signals`); `feed`
    then returns nothing. Public besides the methods: title, events (the last OSCs, oldest
    first), bells (how often it rang).
    """

    def __init__(
        self, cols: int, rows: int, history_lines: int = 10_000, *, answers: bool = True
    ) -> None:
        self._grid = Grid(max(MIN_COLS, cols), max(1, rows), max(0, history_lines))
        self._tokens = Tokenizer()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._answers = answers
        self.title = ""
        self.events: deque[Osc] = deque(maxlen=EVENTS_KEPT)
        self.bells = 0
        self._reset()

    def _reset(self) -> None:
        self._grid.reset()
        self._modes = MODES.copy()
        self._saved = {False: Saved(), True: Saved()}  # of the main and the alternate screen
        self._newline = False
        self._graphics = (False, False)  # whether G0, G1 are DEC special graphics
        self._shifted = False  # whether G1 is in use

    # ── In ──────────────────────────────────────────────────────────────────────────────

    def feed(self, data: bytes) -> bytes:
        """Digest output of the program, cut anywhere; returns the answers to its queries."""
        answers = b"".join(self.digest(data))
        return answers if self._answers else b""

    def digest(self, data: bytes) -> Iterator[bytes]:
        """The same bit by bit: pauses, with an answer or b"", where others may have their turn.

        Between two bits is some 0.01 ms of work, seldom 1 ms. Exhaust it before the next output.
        """
        grid = self._grid
        for kind, text, _ in self._tokens.split(self._decoder.decode(data)):
            if kind == ASCII:
                if self._graphics[self._shifted]:
                    grid.write_text(text.translate(DEC_GRAPHICS))
                else:
                    grid.write_ascii(text)
            elif kind == CSI:
                if text[-1] == "m":
                    grid.style = restyle(grid.style, text[:-1])
                else:
                    yield self._csi(text)
            elif kind == CONTROL:
                self._control(text)
                yield b""
            elif kind == TEXT:
                grid.write_text(text)
                yield b""
            elif kind == ESCAPE:
                self._escape(text)
                yield b""
            elif kind == OSC:
                yield self._osc(text)
            elif kind == STRING:
                yield answer_string(text)

    def _control(self, char: str) -> None:
        grid = self._grid
        if char == "\r":
            grid.x = 0
        elif char in "\n\v\f":
            grid.index()
            if self._newline:
                grid.x = 0
        elif char == "\b":
            grid.move(min(grid.x, grid.cols - 1) - 1, grid.y)
        elif char == "\t":
            grid.tab(1)
        elif char == "\a":
            self.bells += 1
        elif char in "\x0e\x0f":
            self._shifted = char == "\x0e"

    def _escape(self, text: str) -> None:
        grid = self._grid
        if text == "c":
            self._reset()
        elif text in ("D", "E"):
            grid.index()
            grid.x = 0 if text == "E" else grid.x
        elif text == "M":
            grid.reverse_index()
        elif text == "7":
            self._save()
        elif text == "8":
            self._restore()
        elif text == "H":
            grid.tabs.add(grid.x)
        elif text == "#8":
            grid.fill("E")
        elif len(text) == 2 and text[0] in "()":
            graphics = list(self._graphics)
            graphics[text[0] == ")"] = text[1] == "0"
            self._graphics = (graphics[0], graphics[1])

    def _osc(self, payload: str) -> bytes:
        code, _, rest = payload.partition(";")
        if code in ("0", "2"):
            self.title = title(rest)
        elif answer := answer_osc(payload):
            return answer
        elif code.isascii() and code.isdigit() and len(code) < 6:
            self.events.append(Osc(int(code), rest))
        return b""

    def _csi(self, text: str) -> bytes:
        csi, grid = parse(text), self._grid
        if handler := ON_GRID.get(csi.key):
            handler(grid, csi)
        elif csi.key in ("?h", "?l", "h", "l"):
            self._set_modes(csi)
        elif csi.key in ("H", "f"):
            self._go(csi.numbers[1] if len(csi.numbers) > 1 else 1, csi.numbers[0])
        elif csi.key == "d":
            self._go(min(grid.x, grid.cols - 1) + 1, csi.numbers[0])
        elif csi.key == "r":
            self._set_margins(csi)
        elif act := _PLAIN_CSI.get(csi.key):
            act(self)
        elif text in ("6n", "?6n"):
            return self.cursor_report(text)
        return answer_csi(text, self._modes, grid.cols, grid.rows)

    def _set_modes(self, csi: Csi) -> None:
        """Set or reset modes, the private ones (`?`) and the two others that are known."""
        on = csi.key.endswith("h")
        for number in csi.numbers:
            if csi.key.startswith("?"):
                self._switch(number, on)
            elif number == 4:
                self._grid.inserting = on
            elif number == 20:
                self._newline = on

    def _go(self, column: int, row: int) -> None:
        """To a position counted from 1; from the top margin in origin mode."""
        grid = self._grid
        y = max(1, row) - 1
        if self._modes[6]:
            y = min(grid.top + y, grid.bottom)
        grid.move(max(1, column) - 1, y)

    def _set_margins(self, csi: Csi) -> None:
        grid = self._grid
        top, bottom = (*csi.numbers, 0)[:2]
        top, bottom = max(1, top) - 1, min(bottom or grid.rows, grid.rows) - 1
        if top < bottom:
            grid.top, grid.bottom = top, bottom
            self._go(1, 1)

    def _switch(self, number: int, on: bool) -> None:
        """Set or reset a private mode."""
        grid = self._grid
        if number in self._modes:
            self._modes[number] = on
        if number == 7:
            grid.autowrap = on
        elif number == 6:
            self._go(1, 1)
        elif number == 1048:
            self._save() if on else self._restore()
        elif number in (47, 1047, 1049):
            if number == 1049 and on and not grid.alternate:
                self._save()
            back = grid.alternate and not on
            grid.show_alternate(on)
            if number == 1049 and back:
                self._restore()

    def _save(self) -> None:
        grid, origin = self._grid, self._modes[6]
        self._saved[grid.alternate] = Saved(
            grid.x, grid.y, grid.style, origin, self._graphics, self._shifted
        )

    def _restore(self) -> None:
        saved = self._saved[self._grid.alternate]
        self._grid.move(saved.x, saved.y)
        self._grid.style = saved.style
        self._modes[6] = saved.origin
        self._graphics, self._shifted = saved.graphics, saved.shifted

    def _soft_reset(self) -> None:
        grid = self._grid
        grid.top, grid.bottom, grid.style = 0, grid.rows - 1, PLAIN
        grid.autowrap, grid.inserting = True, False
        self._modes |= SOFT_RESET
        self._graphics, self._shifted = (False, False), False
        self._saved[grid.alternate] = Saved()

    def resize(self, cols: int, rows: int) -> None:
        """Change the size; nothing is wrapped again, since programs draw again."""
        self._grid.resize(max(MIN_COLS, cols), max(1, rows))

    # ── Out ─────────────────────────────────────────────────────────────────────────────

    @property
    def cols(self) -> int:
        """Columns."""
        return self._grid.cols

    @property
    def rows(self) -> int:
        """Rows."""
        return self._grid.rows

    @property
    def cursor(self) -> tuple[int, int]:
        """(column, row), from 0."""
        return min(self._grid.x, self._grid.cols - 1), self._grid.y

    def cursor_row(self) -> str:
        """The row that the cursor is in, without the blanks at its end."""
        return "".join(self._grid.lines[self._grid.y].chars).rstrip(" ")

    @property
    def cursor_visible(self) -> bool:
        """True when the cursor shows (mode 25)."""
        return self._modes[25]

    @property
    def application_cursor(self) -> bool:
        """True when the program wants arrows as ESC O A to ESC O D (mode 1)."""
        return self._modes[1]

    @property
    def bracketed_paste(self) -> bool:
        """True when the program wants pastes marked (mode 2004)."""
        return self._modes[2004]

    @property
    def synchronized(self) -> bool:
        """True when the program is in the middle of a frame (mode 2026)."""
        return self._modes[2026]

    @property
    def alternate(self) -> bool:
        """True when the alternate screen shows."""
        return self._grid.alternate

    def cursor_report(self, query: str = "6n") -> bytes:
        """The answer to `6n` or `?6n` at this moment."""
        x, y = self.cursor
        return cursor_report(query, x, y - self._grid.top if self._modes[6] else y)

    def display(self) -> list[str]:
        """The screen's rows from top to bottom, without the blanks at their ends."""
        nothing = self._grid.nothing
        return [
            "" if row is nothing else "".join(row.chars).rstrip(" ") for row in self._grid.lines
        ]

    @property
    def scrolled(self) -> int:
        """The number of lines that ever left at the top."""
        return self._grid.history.total

    def lines(self, since: int = 0) -> list[ScreenLine]:
        """Scrollback and screen, row by row, oldest first; the alternate screen has no other.

        since: what `scrolled` was; lines that had left before are left out.
        """
        nothing = self._grid.nothing
        shown = [BLANK if row is nothing else row.line() for row in self._grid.lines]
        return shown if self.alternate else [*self._grid.history.since(since), *shown]

    def text(self) -> list[str]:
        """The same as lines; rows that the terminal itself wrapped are one."""
        return [joined.rstrip(" ") for joined in join_wrapped(self.lines())]

    def picture(self) -> list[list[tuple[str, str]]]:
        """The screen's rows as runs of (text, CSS classes; see `Style.css`)."""
        return [[(text, style.css) for text, style in row.line().runs] for row in self._grid.lines]


_PLAIN_CSI = {"s": Screen._save, "u": Screen._restore, "!p": Screen._soft_reset}
"""Sequences that say nothing more."""
