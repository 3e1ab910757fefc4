"""The window of a prompt: the messages that it holds raw, and which of them an agent knows then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from contract.briefing import Briefing, Budget, Header
from contract.values import dataclass
from gateway.core.ledger import Turn
from gateway.sessions.sessions import SessionContext
from memory.given import LAST, GivenText, ranges
from memory.summaries.rows import LABEL_CHARS
from store.rows import StoredMessage
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Window:
    """lines: oldest first, the trigger among them unless it was deleted. again: a living session
    gets only what it was not given yet. since: nothing after this message is left out, but for what
    waits. covered: the last message that the summary has to cover; 0: none is to be shown.
    """

    lines: Sequence[StoredMessage]
    again: bool
    since: int = 0
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

    def goes_on(self, session: SessionContext) -> bool:
        """True where a session's next window holds only what is new to its agent."""
        return session.given > 0 and not self.full

    async def choose(self, turn: Turn, session: SessionContext) -> Window:
        """The window of a turn in a session."""
        if not self.goes_on(session):
            covered = await self.covered(turn.scope)
            return self._window(await self._after(turn, covered), covered, False, covered)
        new = await self._after(turn, session.given, more=1)
        most = self.budget.window_messages
        over = len(new) > most or self._chars(new) > self.budget.transcript
        covered = 0
        if over or session.compacted:
            covered = await self.covered(turn.scope)
            if over and covered > session.given:
                return self._window(await self._after(turn, covered), covered, True, covered)
        first = len(new) - most
        newest = [m for i, m in enumerate(new) if i >= first or m.seq == turn.message_seq]
        return self._window(newest, session.given, True, covered if session.compacted else 0)

    async def without_summary(self, turn: Turn, session: SessionContext, window: Window) -> Window:
        """The same when the summary could not be had: nothing is left out for it."""
        after = session.given if window.again else 0
        found = self._window(await self._after(turn, after), after, window.again)
        return await self.with_edited(turn, session, found) if session.edited else found

    async def with_edited(self, turn: Turn, session: SessionContext, window: Window) -> Window:
        """The same with the messages that the agent knows by another text; not those that wait for
        a turn of their own in its session, which it was never shown."""
        old = session.edited.difference(line.seq for line in window.lines)
        if not old:
            return window
        thread = turn.session_thread
        within = self.transcript.seqs_within(turn.scope, min(old), max(old), turn.persona, thread)
        found = [await self.transcript.get(seq) for seq in sorted(old.intersection(await within))]
        edited = [message for message in found if message is not None and not message.deleted]
        return replace(window, lines=[*edited, *window.lines])

    def _window(
        self, lines: Sequence[StoredMessage], after: int, again: bool, covered: int = 0
    ) -> Window:
        """The window of these lines, which are the newest that stand after a message."""
        new = [line for line in lines if line.seq > after]
        most = self.budget.window_messages
        since = after if len(new) < most else new[-most].seq - 1
        return Window(lines, again, since, covered)

    def _chars(self, lines: Sequence[StoredMessage]) -> int:
        """About as many as they take in a header."""
        return sum(min(len(m.content), self.budget.message) + LABEL_CHARS for m in lines)

    async def _after(self, turn: Turn, seq: int, more: int = 0) -> list[StoredMessage]:
        found = await self.transcript.window(
            turn.scope,
            persona=turn.persona,
            thread=turn.session_thread,
            size=self.budget.window_messages + more,
            after=seq,
            trigger=turn.message_seq,
        )
        return _without_asides(found, turn) if turn.room.kind == "dm" else found

    # ── What an agent knows by it ───────────────────────────────────────────────────────

    def to_show(self, trigger: int, window: Window, thread: Sequence[StoredMessage]) -> GivenText:
        """The messages that a header will show, as far as they fit, and those that come after them:
        a later prompt brings these."""
        lines = window.lines
        fits = next(
            (i for i in range(len(lines)) if self._chars(lines[i:]) <= self.budget.transcript),
            len(lines),
        )
        alone = [trigger, *(m.seq for m in thread[-self.budget.thread_shown :])]
        spans = ranges(window.since + 1, LAST, [m.seq for m in lines[:fits]])
        return GivenText(spans) | GivenText(tuple((seq, seq) for seq in alone))

    async def shown(
        self, turn: Turn, window: Window, briefing: Briefing, header: Header
    ) -> GivenText:
        """All that a header shows of the conversation and of what is known."""
        last = window.lines[-1].seq
        cut = {line.id for line in briefing.transcript}.difference(header.lines)
        known = [m.seq for m in window.lines if str(m.seq) not in cut]
        missing = {m.seq for m in window.lines}.difference(known)
        if last > turn.message_seq:  # only after the trigger anything else is left out of a window
            first, thread = window.since + 1, turn.session_thread
            within = self.transcript.seqs_within(turn.scope, first, last, turn.persona, thread)
            missing |= set(await within).difference(known)
        spans = ranges(window.since + 1, last, missing)
        alone = tuple((seq, seq) for seq in known if seq <= window.since)  # an older trigger
        facts = frozenset(filter(None, header.facts))
        return GivenText(spans, facts) | GivenText(alone)


def _without_asides(found: list[StoredMessage], turn: Turn) -> list[StoredMessage]:
    """In a direct message each question has a turn of its own. Whatever else its sender typed after
    it was for Moot, e.g. the code of somebody who wasn't let in yet, and must not pass for it."""
    asker = next((m.by.id for m in found if m.seq == turn.message_seq), None)
    return [m for m in found if m.seq <= turn.message_seq or m.by.id != asker]
