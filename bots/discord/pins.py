"""What is pinned in Discord, and what was edited: one event tells both, and neither plainly. Pure.

A pin comes as an update of the message that doesn't say whose doing it was, and as a message of
Discord's own that does; in either order. Taking it back comes as an update alone.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

from bots.discord.events import MessageUpdate, Person, PinChange

_REMEMBERED = 5_000
V = TypeVar("V")


class UpdateTracker:
    """What is known of messages: their text, and who pinned them."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._pins: OrderedDict[str, Person] = OrderedDict()

    def read(self, message: str, text: str) -> None:
        """The text of a message as it was told last."""
        _keep(self._texts, message, text)

    def edited(self, update: MessageUpdate) -> bool:
        """Whether the update is an edit; a preview that unfolds changes no text."""
        if update.content is None:
            return False
        known = self._texts.get(update.id)
        if known == update.content or (known is None and update.edited_at is None):
            return False
        self.read(update.id, update.content)
        return True

    def pinned(self, sign: PinChange) -> bool:
        """Whether the sign is news."""
        if sign.pinned:
            new = sign.id not in self._pins
            _keep(self._pins, sign.id, sign.by)
            return new
        self._pins.pop(sign.id, None)
        return True

    def pin_of(self, update: MessageUpdate) -> PinChange | None:
        """The pin that an update tells, if it is news: by its author, where nobody said who."""
        if update.pinned is None or update.pinned == (update.id in self._pins) or not update.by.id:
            return None
        by = self._pins.get(update.id, update.by)
        return PinChange(update.channel, update.guild, update.id, update.pinned, by)


def _keep(memory: OrderedDict[str, V], key: str, value: V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)
