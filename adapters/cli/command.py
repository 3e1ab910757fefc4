"""One of the program's own commands, typed as a line: no prompt, and no answer is wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adapters.agent import Reply, TurnContext
from adapters.cli.run import PromptRun
from adapters.cli.turn import Sign
from adapters.cli_profile import Profile
from adapters.session.session import refusal
from adapters.turn_signs import Footer, PromptText
from contract.agent import Question
from contract.work import Work

ECHO_S = 0.3  # of quiet before Enter: a menu of commands opens behind a typed `/`
HELD_S = (
    2.0  # a window title that shows it idle; Claude Code 2.1.330 tells no other end of /compact
)
UNSEEN_S = 5.0  # a command of which nothing shows that it began was done at once, or has no sign


class NullReply(Reply):
    """Nobody follows it; what it asks is refused."""

    occasion = TurnContext()

    def draft(self, text: str) -> None:
        """Take a draft that no one sees."""

    def work(self, work: Work) -> None:
        """Take work that no one sees."""

    async def choose(self, question: Question) -> int:
        """The option that says no."""
        return refusal(question)


class CommandRun(PromptRun):
    """Ends by the signs that end a turn; where none begins, by quiet.

    Few programs tell the end of a command exactly, so a title need not hold as long; a footer
    must, which may take a second or two to show that it began.
    """

    def __init__(self, profile: Profile, *given: Any, **more: Any) -> None:
        held_s = HELD_S if profile.signs.title else UNSEEN_S
        fallback_s = min(profile.signs.fallback_s, held_s)
        shown = profile.controls.compacting
        footer = Footer(busy=shown) if shown else profile.signs.footer
        signs = replace(profile.signs, fallback_s=fallback_s, footer=footer)
        typing = replace(profile.typing, text=PromptText(), paste=False, settle_s=ECHO_S)
        super().__init__(replace(profile, signs=signs, typing=typing), *given, **more)
        self._ending.wanted = False

    def partial(self) -> str:
        """Nothing: what it shows is no answer."""
        return ""

    async def _look(self) -> Sign | None:
        if sign := await super()._look():
            return sign
        quiet_s = min(self._console.quiet_s(), self._time() - self._entered_at)
        return "footer" if not self.turn.began and quiet_s >= UNSEEN_S else None
