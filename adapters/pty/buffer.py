"""A program's output: scanned for signals at once, drawn when somebody needs to see it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from adapters.screen.screen import Screen
from adapters.screen.signals import Signal, Signals

SLICE_BYTES = 4_096  # 1 to 3 ms of drawing, if it is the output of a sane program
LONG_BYTES = 64 * 1024
FULL_BYTES = 512 * 1024


class OutputBuffer:
    """Output that is not drawn yet, and the screen behind it. No byte is ever left out.

    size_bytes: what waits. `long`: it is time to draw some. `full`: before more is read.
    `asked`: the program waits for where its cursor is, which only drawing can tell.
    """

    def __init__(self, cols: int, rows: int) -> None:
        self.signals = Signals(cols, rows)
        self.size_bytes = 0
        self.asked = 0
        self._waiting: deque[bytes | Signal] = deque()  # output, and what to answer behind it
        self._slice_bytes = 0
        self._slice: Iterator[bytes] = iter(())  # what is being drawn
        self._answers: list[bytes] = []
        self._screen = Screen(cols, rows, answers=False)

    @property
    def long(self) -> bool:
        """True when so much waits that somebody who looks would have to wait as well."""
        return self.size_bytes > LONG_BYTES

    @property
    def full(self) -> bool:
        """True when more waits than it should keep."""
        return self.size_bytes > FULL_BYTES

    def feed(self, data: bytes) -> list[Signal]:
        """Take output; the signals in it."""
        signals = self.signals.feed(data)
        start = 0
        for signal in signals:
            if signal.kind == "cursor":
                end = len(data) - signal.behind
                self._keep(data[start:end])
                start = max(start, end)
                self.asked += 1
                self._waiting.append(signal)
            elif signal.kind == "query":
                if self.asked:  # programs count on answers in the order of their questions
                    self._waiting.append(signal)
                else:
                    self._answers.append(signal.answer)
        self._keep(data[start:])
        return signals

    def _keep(self, data: bytes) -> None:
        if data:
            self._waiting.append(data)
            self.size_bytes += len(data)

    def answers(self) -> bytes:
        """The bytes to send to the program now, given out once."""
        answers, self._answers = b"".join(self._answers), []
        return answers

    def draw(self, budget_s: float) -> bool:
        """Draw what waits, at most about so long; True when all is drawn."""
        end = time.monotonic() + budget_s
        while self._slice_bytes or self._waiting:
            for _ in self._slice:
                if time.monotonic() >= end:
                    return False
            self.size_bytes -= self._slice_bytes
            self._slice_bytes = 0
            self._next_slice()
            if time.monotonic() >= end:  # a slice may have no bits
                break
        return not (self._slice_bytes or self._waiting)

    def _next_slice(self) -> None:
        """Begin with what comes next."""
        while self._waiting and isinstance(signal := self._waiting[0], Signal):
            self._answer(signal)
            self._waiting.popleft()
        data = b""
        while self._waiting and isinstance(piece := self._waiting[0], bytes):
            if data and len(data) + len(piece) > SLICE_BYTES:
                break
            data += piece
            self._waiting.popleft()
        if len(data) > SLICE_BYTES:
            self._waiting.appendleft(data[SLICE_BYTES:])
            data = data[:SLICE_BYTES]
        self._slice, self._slice_bytes = self._screen.digest(data), len(data)

    def _answer(self, signal: Signal) -> None:
        if signal.kind == "cursor":
            self.asked -= 1
            self._answers.append(self._screen.cursor_report(signal.text))
        else:
            self._answers.append(signal.answer)

    @property
    def screen(self) -> Screen:
        """The screen as far as it is drawn."""
        return self._screen
