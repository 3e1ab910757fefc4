"""Dialogs that nobody asked for: what the profile's rules say about a screen. Pure."""

from __future__ import annotations

import re
from typing import Literal

from adapters.cli_profile import Profile
from adapters.turn_signs import DialogRule
from contract.errors import AgentError

Phase = Literal["start", "turn"]


class Dialogs:
    """Remembers which dialogs were answered, so that each is answered once while it stands."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._answered: set[int] = set()

    def keys(self, text: str, phase: Phase) -> bytes:
        """What to press for dialogs that newly stand on the screen."""
        pressed = b""
        for number, dialog in enumerate(self._profile.shown.dialogs):
            if not dialog.keys or dialog.when not in (phase, "always"):
                continue
            if not dialog.pattern.search(text):
                self._answered.discard(number)
            elif number not in self._answered:
                self._answered.add(number)
                pressed += dialog.keys
        return pressed

    def deaf_s(self, text: str) -> float:
        """How long the dialogs that stand on the screen take no key."""
        standing = (dialog for dialog in self._profile.shown.dialogs if dialog.pattern.search(text))
        return max((dialog.deaf_s for dialog in standing), default=0.0)

    def fault(self, text: str, phase: Phase, *, breaks: bool = False) -> AgentError | None:
        """What the screen says went wrong, if a rule knows it. breaks: one that ends a turn."""
        for dialog in self._profile.shown.dialogs:
            if dialog.fault and dialog.when in (phase, "always") and dialog.breaks >= breaks:
                match = dialog.pattern.search(text)
                if match:
                    return self._error(dialog, match)
        return None

    def _error(self, dialog: DialogRule, match: re.Match[str]) -> AgentError:
        profile = self._profile
        assert dialog.fault
        seen = match["seen"] if "seen" in match.re.groupindex else match[0]
        say = dialog.say.replace("{0}", seen)
        if not say and dialog.fault == "login":
            say = f"{profile.title} is not logged in. {profile.setup.login}"
        return AgentError(dialog.fault, f"{profile.name}: {seen}", say=say or None)
