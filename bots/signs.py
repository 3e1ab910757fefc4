"""What a bot shows with a single character: acknowledgements, choices, pins."""

from __future__ import annotations

from bots.bot import Mark

MARKS: dict[Mark, str] = {"waiting": "⏳", "working": "👀", "done": "✅", "failed": "❌"}

# What a mark may stand on when an earlier process put it there.
BEFORE: dict[Mark, tuple[Mark, ...]] = {
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
