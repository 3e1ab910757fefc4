"""A model's words in one turn, while they grow: one part a message, between its uses of tools."""

from __future__ import annotations

import time
from collections.abc import Callable

DRAFT_S = 0.1  # the page shows at most so many; platforms fewer


class Speech:
    """Collects the text of a turn, and shows it now and then."""

    def __init__(
        self, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show = show
        self._clock = clock
        self._parts: list[list[str]] = []
        self._next_s = 0.0
        self._shown = ""
        self._between = False  # something that is not text came since

    def clear(self) -> None:
        """Forget all of it: nothing of it counts."""
        self._parts.clear()

    def begin(self) -> None:
        """A message of the model begins."""
        self._parts.append([])
        self._between = False

    def again(self) -> None:
        """The message that began last is said again."""
        self._parts[-1].clear()
        self._between = False

    def begin_block(self, kind: str) -> None:
        """A further block of the message begins: text behind something else is a new paragraph."""
        part = self._parts[-1]
        if kind == "text" and self._between and part:
            part.append("\n\n")
        self._between = kind != "text"

    def add(self, text: str) -> None:
        """Append what came."""
        self._parts[-1].append(text)
        now = self._clock()
        if now >= self._next_s:
            self._next_s = now + DRAFT_S
            self.show()

    def show(self) -> None:
        """Show all that was said so far, when it is more than nothing and new."""
        said = self.all()
        if said.strip() and said != self._shown:
            self._shown = said
            self._show(said)

    def all(self) -> str:
        """All words so far, the parts a blank line apart."""
        return "\n\n".join(said for part in self._parts if (said := "".join(part)).strip())

    def last(self) -> str:
        """The last part, exactly: what was said before the uses of tools was on the way to it."""
        parts = ("".join(part) for part in reversed(self._parts))
        return next((said for said in parts if said.strip()), "")
