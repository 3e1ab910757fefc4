"""One turn of the demo agent: its steps, carried out a frame at a time."""

from __future__ import annotations

from collections import namedtuple

from adapters.demo.answers import Ask, Crash, Fail, Say, Steps, Use

FRAME_S = 0.02
FRAMES = 60  # of a long stream, so that it does not draw for nobody

Over = namedtuple("Over", "how message")


class Turn:
    """`advance` does what is due and tells when to be called again.

    text: the reply so far. ask: the question that waits for `choose`. over: set at the end.
    pace: 1.0 as written, 0.0 without any waiting.
    """

    def __init__(self, number: int, steps: Steps, pace: float) -> None:
        self.number = number
        self.text = ""
        self.ask: Ask | None = None
        self.over: Over | None = None
        self.crash: int | None = None
        self.tools: list[Use] = []
        self._steps = steps
        self._pace = pace
        self._saying = ""
        self._started = 0.0
        self._seconds = 0.0

    def advance(self, now: float) -> float | None:
        """Do what is due at `now`; return the time of the next call, None when none is due."""
        while not self.over and not self.ask and self.crash is None:
            if self._saying:
                if due := self._stream(now):
                    return due
            else:
                self._next(None, now)
        return None

    def choose(self, option: int, now: float) -> None:
        """The person decided."""
        self.ask = None
        self._next(option, now)

    def interrupt(self) -> None:
        """Break off."""
        self.ask = None
        self._steps.close()
        self.over = Over("interrupted", "")

    def _next(self, value: int | None, now: float) -> None:
        try:
            step = self._steps.send(value)
        except StopIteration:
            self.over = Over("done", "")
            return
        if isinstance(step, Say):
            self._saying, self._started = step.text, now
            self._seconds = step.seconds * self._pace
        elif isinstance(step, Ask):
            self.ask = step
        elif isinstance(step, Use):
            self.tools.append(step)
        elif isinstance(step, Crash):
            self.crash = step.code
        elif isinstance(step, Fail):
            self.over = Over("error", step.message)

    def _stream(self, now: float) -> float | None:
        """Say as much as is due; the time of the next frame, or None when all is said."""
        passed = now - self._started
        share = 1.0 if passed >= self._seconds else passed / self._seconds
        if share >= 1.0:
            self.text += self._saying
            self._saying = ""
            return None
        return now + max(FRAME_S, self._seconds / FRAMES)

    def visible(self, now: float) -> str:
        """The reply so far, including the part of the step that is being streamed."""
        if not self._saying or self._seconds <= 0:
            return self.text
        count = int(len(self._saying) * (now - self._started) / self._seconds)
        return self.text + self._saying[:count]
