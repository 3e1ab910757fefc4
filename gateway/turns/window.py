"""Which messages an agent is given raw, and whether a summary stands for those before them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from contract.briefing import Budget
from gateway.core.ledger import Turn
from gateway.sessions.sessions import SessionContext
from memory.summaries.rows import LABEL_CHARS
from store.transcript import StoredMessage, Transcript


@dataclass(frozen=True, slots=True)
class Window:
    """lines: oldest first, the trigger among them unless it was deleted. again: a living session
    gets only what it was not given yet. covered: the last message that the summary has to cover;
    0: none is to be shown.
    """

    lines: Sequence[StoredMessage]
    again: bool
    covered: int = 0


@dataclass(frozen=True, slots=True)
class Windows:
    """Chooses the window of a turn.

    - A fresh session, one resumed from cold and, by configuration, every one gets the newest
      summary and the messages after it. None that it took in is repeated, but for the trigger.
    - A living session has seen what a summary tells, so it gets none, and the messages that are
      new to it. Two things change that: its program compacted its own context, then the newest
      summary is shown once; or more is new to it than the window holds, then a summary that
      reaches into that is shown, and the messages after it.

    So a summary is paid for only where raw messages that the agent knew, or would have been given,
    are missing. It depends on nothing but what is on record and what the session was given.
    """

    transcript: Transcript
    covered: Callable[[str], Awaitable[int]]
    budget: Budget
    full: bool

    async def choose(self, turn: Turn, session: SessionContext) -> Window:
        """The window of a turn in a session."""
        again = session.given > 0 and not self.full
        if not again:
            covered = await self.covered(turn.scope)
            return Window(await self._after(turn, covered), False, covered)
        new = await self._after(turn, session.given, more=1)
        over = self._over(new)
        if over or session.compacted:
            covered = await self.covered(turn.scope)
            if over and covered > session.given:
                return Window(await self._after(turn, covered), True, covered)
            if session.compacted:
                return Window(self._newest(new, turn), True, covered)
        return Window(self._newest(new, turn), True)

    async def without_summary(self, turn: Turn, session: SessionContext, window: Window) -> Window:
        """The same when the summary could not be had: nothing is left out for it."""
        after = session.given if window.again else 0
        return Window(await self._after(turn, after), window.again)

    async def _after(self, turn: Turn, seq: int, more: int = 0) -> list[StoredMessage]:
        return await self.transcript.window(
            turn.scope,
            persona=turn.persona,
            size=self.budget.window_messages + more,
            after=seq,
            trigger=turn.message_seq,
        )

    def _over(self, lines: Sequence[StoredMessage]) -> bool:
        """Whether a header would leave some of them out."""
        chars = sum(min(len(m.content), self.budget.message) + LABEL_CHARS for m in lines)
        return len(lines) > self.budget.window_messages or chars > self.budget.transcript

    def _newest(self, lines: Sequence[StoredMessage], turn: Turn) -> list[StoredMessage]:
        """As many as the window holds, and the trigger."""
        first = len(lines) - self.budget.window_messages
        return [m for i, m in enumerate(lines) if i >= first or m.seq == turn.message_seq]
