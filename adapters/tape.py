"""A program's output: scanned for signals at once, drawn when somebody needs to see it."""

from __future__ import annotations

import time
from collections import deque

from adapters.screen import Screen
from adapters.signals import Signal, Signals

SLICE_BYTES = 8_192  # 1 to 4 ms of drawing
LONG_BYTES = 64 * 1024
FULL_BYTES = 512 * 1024


class Tape:
    """Output that is not drawn yet, and the screen behind it. No byte is ever left out.

    size_bytes: what waits. `long`: it is time to draw some. `full`: before more is read.
    """

    def __init__(self, cols: int, rows: int) -> None:
        self.signals = Signals(cols, rows)
        self.size_bytes = 0
        self._waiting: deque[bytes] = deque()
        self._screen = Screen(cols, rows, answers=False)

    @property
    def long(self) -> bool:
        """Whether so much waits that somebody who looks would have to wait as well."""
        return self.size_bytes > LONG_BYTES

    @property
    def full(self) -> bool:
        """Whether more waits than it should keep."""
        return self.size_bytes > FULL_BYTES

    def feed(self, data: bytes) -> tuple[list[Signal], bytes]:
        """The signals in the data, and what must be sent back at once."""
        signals = self.signals.feed(data)
        answers: list[bytes] = []
        start = 0
        for signal in signals:
            if signal.kind == "query":
                answers.append(signal.answer)
            elif signal.kind == "cursor":
                end = len(data) - signal.behind
                self._keep(data[start:end])
                start = max(start, end)
                self.draw(float("inf"))
                answers.append(self._screen.cursor_report(signal.text))
        self._keep(data[start:])
        return signals, b"".join(answers)

    def _keep(self, data: bytes) -> None:
        if data:
            self._waiting.append(data)
            self.size_bytes += len(data)

    def draw(self, budget_s: float) -> bool:
        """Draw what waits, at most about so long; True when all is drawn."""
        end = time.monotonic() + budget_s
        while self._waiting:
            self._draw_slice()
            if time.monotonic() >= end:
                break
        return not self._waiting

    def _draw_slice(self) -> None:
        data = self._waiting.popleft()
        while self._waiting and len(data) + len(self._waiting[0]) <= SLICE_BYTES:
            data += self._waiting.popleft()
        if len(data) > SLICE_BYTES:
            self._waiting.appendleft(data[SLICE_BYTES:])
            data = data[:SLICE_BYTES]
        self.size_bytes -= len(data)
        self._screen.feed(data)

    @property
    def screen(self) -> Screen:
        """The screen as far as it is drawn."""
        return self._screen
