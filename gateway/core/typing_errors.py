"""Commands that were mistyped: recognised, and answered with the one that was meant."""

from __future__ import annotations

import difflib

from contract.language import say
from gateway.core.command_table import NAMES

SHORTEST_TYPO = 4  # of a word that is answered without being addressed: `!pon` may be anything


def unknown(name: str) -> str:
    """The reply to a command that does not exist."""
    near = nearest(name)
    hint = (
        say(" Did you mean `!{near}`?", near=near) if near else say(" `!help` lists what I know.")
    )
    return say("I don't know `!{name}`.{hint}", name=name, hint=hint)


def nearest(name: str) -> str | None:
    """The command that a mistyped one most likely is."""
    typo = next((known for known in NAMES if _is_typo(name, known)), None)
    return typo or next(iter(difflib.get_close_matches(name, NAMES, 1)), None)


def surely_meant(name: str, rest: str) -> bool:
    """True if a word that nobody addressed to us is one of our commands, mistyped.

    Two letters that changed places make one in any message; one letter too many or too few only in
    a message that says nothing else. Another letter makes another word: `!shame`, `!held`.
    """
    near = nearest(name)
    if near is None or len(near) < SHORTEST_TYPO or not _is_typo(name, near):
        return False
    return len(name) == len(near) or not rest


def _is_typo(name: str, known: str) -> bool:
    """True if one letter is doubled, missing or too many, or two neighbours changed places."""
    if len(name) == len(known):
        swaps = (
            known[:at] + known[at + 1] + known[at] + known[at + 2 :] for at in range(len(known) - 1)
        )
        return name != known and name in swaps
    shorter, longer = sorted((name, known), key=len)
    return len(longer) - len(shorter) == 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(1, len(longer))
    )
