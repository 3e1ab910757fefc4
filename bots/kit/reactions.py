"""What a bot shows with a single character: acknowledgements, choices, pins."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from bots.bot import Reaction

K = TypeVar("K", bound=Hashable)

MARKS: dict[Reaction, str] = {"waiting": "⏳", "working": "👀", "done": "✅", "failed": "❌"}

# What a mark may stand on when an earlier process put it there.
BEFORE: dict[Reaction, tuple[Reaction, ...]] = {
    "waiting": (),
    "working": ("waiting",),
    "done": ("waiting", "working"),
    "failed": ("waiting", "working"),
}

DIGITS = tuple(f"{digit}\ufe0f\u20e3" for digit in range(1, 10))
"""Keycaps: a reaction that chooses an option of a question, the first one for the first."""

PIN = "📌"


_REMEMBERED = 1_000


class ShownReactions(Generic[K]):
    """Which mark stands on which of the last messages."""

    def __init__(self) -> None:
        self._marks: OrderedDict[K, Reaction] = OrderedDict()

    def __contains__(self, message: K) -> bool:
        return message in self._marks

    def change(self, message: K, mark: Reaction) -> tuple[Reaction, ...] | None:
        """The marks to take back once the new one stands; None: it stands there already."""
        last = self._marks.get(message)
        if last == mark:
            return None
        self._marks[message] = mark
        self._marks.move_to_end(message)
        if len(self._marks) > _REMEMBERED:
            self._marks.popitem(last=False)
        return (last,) if last else BEFORE[mark]


def option_of(emoji: str) -> int | None:
    """The option that a reaction chooses, from 0; None when it is no keycap."""
    plain = emoji.replace("\ufe0f", "")
    keycaps = [digit.replace("\ufe0f", "") for digit in DIGITS]
    return keycaps.index(plain) if plain in keycaps else None
