"""Single characters that say something: acknowledgements, choices, pins."""

from __future__ import annotations

from collections.abc import Awaitable, Hashable
from typing import TypeVar

import structlog

from bots.bot import Reaction
from bots.kit.recent import Recent
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

K = TypeVar("K", bound=Hashable)

_MESSAGES = 1_000  # whose reaction is remembered

EMOJI: dict[Reaction, str] = {"waiting": "⏳", "working": "👀", "done": "✅", "failed": "❌"}

SHORT_NAMES: dict[Reaction, str] = {
    "waiting": "hourglass_flowing_sand",
    "working": "eyes",
    "done": "white_check_mark",
    "failed": "x",
}
"""The same by the names that Slack and Rocket.Chat have for them."""

# The reactions that may stand there already when an earlier process put them.
BEFORE: dict[Reaction, tuple[Reaction, ...]] = {
    "waiting": (),
    "working": ("waiting",),
    "done": ("waiting", "working"),
    "failed": ("waiting", "working"),
}

DIGITS = tuple(f"{digit}\ufe0f\u20e3" for digit in range(1, 10))
"""Keycaps: a reaction that chooses an option of a question, the first one for the first."""

PIN = "📌"


def option_of(emoji: str) -> int | None:
    """The option that a reaction chooses, from 0; None when it is no keycap."""
    plain = emoji.replace("\ufe0f", "")
    keycaps = [digit.replace("\ufe0f", "") for digit in DIGITS]
    return keycaps.index(plain) if plain in keycaps else None


async def tried(call: Awaitable[object]) -> bool:
    """True if a call succeeded. A sign is worth no error: its failure stands in the log alone."""
    try:
        await call
    except PlatformError as error:
        log.info("sign.failed", reason=error)
        return False
    return True


class ShownReactions(Recent[K, Reaction]):
    """The reaction that stands on each of the last messages."""

    def __init__(self) -> None:
        super().__init__(_MESSAGES)

    def change(self, message: K, reaction: Reaction) -> tuple[Reaction, ...] | None:
        """The reactions to take back once the new one stands; None: it stands there already."""
        last = self.get(message)
        if last == reaction:
            return None
        self[message] = reaction
        return (last,) if last else BEFORE[reaction]
