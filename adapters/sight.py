"""What the driver reads from a screen, as the profile's look says."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.profiles.profile import Profile
from adapters.screen import Screen
from contract import Option, Question


def reply_on(screen: Screen, profile: Profile) -> str:
    """The last reply on the screen; "" when it shows none."""
    return "\n".join(screen.text()).strip()


def question_on(rows: Sequence[str], profile: Profile) -> Question | None:
    """The permission prompt on the screen."""
    return Question("", "?", "", (Option("Yes"), Option("No", refuses=True)))
