"""Episodic summaries: what a window has no room for any more, and what a session was about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from datetime import datetime, tzinfo

import structlog
from sqlalchemy import Connection, bindparam, exists, select

from contract.briefing import Budget
from contract.errors import ModelError, MootError
from contract.values import dataclass
from memory.cursors import failed, read_cursor
from memory.layers import AnsweredTurn, BriefRequest, EndedSession, LayerAnswers, ends_a_run
from memory.model import ModelOf
from memory.private import public
from memory.readable import MessageRange, ReadableMessage, ReadableMessages
from memory.summaries.rows import (
    LAYER,
    NewEpisode,
    Progress,
    SessionRecord,
    add_episode,
    add_record,
    last_answer,
    move_on,
    newest_episode,
    passed,
    progress,
    recorded,
    unread_uses,
    weights,
    written_episode,
)
from memory.summaries.writing import (
    PROMPT_CHARS,
    RECORDING,
    SUMMARIZE,
    checked_record,
    checked_summary,
    last_part,
    plain_record,
    plain_summary,
    record_tool,
    used_files,
    written,
)
from store.database import Store
from store.schema import episodes
from store.timestamps import micros

log = structlog.stdlib.get_logger("moot.memory")

CALLS_AT_ONCE = 5  # summaries one after the other; a longer backlog goes on with the next turn
FILES_KEPT = 200  # of one session
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class _Owed:
    """A session's end of which the summary failed, and the last message that belongs to it."""

    session: EndedSession
    until: int


@dataclass(slots=True)
class _Files:
    """Files that an agent used since its last record: path to whether it edited it."""

    paths: dict[str, bool] = field(default_factory=dict)

    def take(self, tool: str, given: str) -> None:
        """Note what one use of a tool touched."""
        for path, edits in used_files(tool, given):
            if len(self.paths) < FILES_KEPT or path in self.paths:
                self.paths[path] = edits or self.paths.get(path, False)


class Episodes:
    """Makes summaries and shows the newest one.

    A summary takes in the one before it, so the newest is enough; the others stay on record. How
    far it reaches is decided here, by the messages' seqs; a model has no say in it. It is made

    - when what is not summarised passes 70 % of the window, in messages or in characters: the
      newest messages that fill 30 % of it stay raw, so that a header shows every message or a
      summary that took it in;
    - when a session ends: then it takes in everything up to the agent's last answer, and a record
      of eight fields is put beside it. What others went on to say is not of that session.

    When the model fails, nothing changes but the count of failures, and it is tried again with a
    later turn, after a minute at first and an hour at last. Without a model the summary is made
    of quoted lines, and says so; it is for people on the page. No header shows it: the raw lines
    in its place, and recall for those before them, answer as many questions with more precision.
    """

    name = LAYER
    reads_chat = True
    deadline_s = 1.0
    held = exists(
        select(episodes.c.seq).where(episodes.c.scope == bindparam("home"), ~episodes.c.plain)
    )

    def __init__(
        self,
        store: Store,
        slices: ReadableMessages,
        model: ModelOf | None,
        *,
        budget: Budget,
        zone: tzinfo,
        clock: Callable[[], datetime],
        before_compaction: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """zone: in which headers tell the time. before_compaction: told the scope of which older
        messages are about to be summarised."""
        self._store = store
        self._slices = slices
        self._model = model
        self._budget = budget
        self._zone = zone
        self._clock = clock
        self._before_compaction = before_compaction
        self._owed: dict[str, _Owed] = {}
        self._files: dict[tuple[str, str], _Files] = {}

    # ── Before a turn ───────────────────────────────────────────────────────────────────

    async def covered(self, scope: str) -> int:
        """The last message that the newest summary which is shown took in; 0: there is none."""
        newest = await self._store.read(lambda c: written_episode(c, scope), small=True)
        return newest.last_seq if newest is not None else 0

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """The newest summary, if one is wanted and it reaches as far as was asked for."""
        if not ask.covered:
            return LayerAnswers()
        newest = await self._store.read(
            lambda c: written_episode(c, ask.invocation.home), small=True
        )
        found = [newest] if newest is not None and newest.last_seq >= ask.covered else []
        return LayerAnswers(
            summary="".join(one.text for one in ask.invocation.gate.admit(self.name, found))
        )

    # ── After a turn ────────────────────────────────────────────────────────────────────

    def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
        """See Learner."""
        return ends_a_run(interaction, last=last)

    async def learn(self, interaction: AnsweredTurn) -> None:
        """Summarise what passes the window, or what an earlier failure left undone."""
        scope = interaction.scope
        files = self._files.setdefault((scope, interaction.persona), _Files())
        for use in interaction.uses:
            files.take(use.tool, use.given)
        owed = self._owed.get(scope)
        until = owed.until if owed else await self._passed(scope)
        if not until:
            return
        known = await self._store.read(lambda c: read_cursor(c, LAYER, scope), small=True)
        if known.waits(self._clock()):
            return
        if owed:
            del self._owed[scope]
            await self._end(owed)
        else:
            await self._compact(scope, until)

    async def end(self, session: EndedSession) -> None:
        """Summarise what was said until the agent's last answer, and record what it was about."""
        scope, persona = session.scope, session.persona
        if until := await self._store.read(lambda c: last_answer(c, scope, persona)):
            await self._end(_Owed(session, until))

    async def _end(self, owed: _Owed) -> None:
        if not await self._compact(owed.session.scope, owed.until):
            self._owed[owed.session.scope] = owed
            return
        await self._keep_record(owed.session)

    async def _passed(self, scope: str) -> int:
        size = self._budget.window_messages + 1
        newest = await self._store.read(lambda c: weights(c, scope, size))
        return passed(newest, self._budget)

    # ── Summaries ───────────────────────────────────────────────────────────────────────

    async def _compact(self, scope: str, until: int) -> bool:
        """Summarise up to a message, in as many steps as it takes; False when one failed."""
        known = await self._store.read(lambda c: progress(c, scope))
        if known.after >= until:
            return True
        await self._tell_before(scope)
        for _ in range(CALLS_AT_ONCE):
            known = await self._store.read(lambda c: progress(c, scope))
            found = await self._slices.after(scope, known.after, until=until, size=PAGE)
            if found is None:
                break
            part = found.first(PROMPT_CHARS, self._budget.message)
            if not part.spoken:
                await self._skip(scope, known.after, part.last_seq)
            elif not await self._summarise(part, known):
                return False
        return True

    async def _skip(self, scope: str, after: int, to: int) -> None:
        """Move on over messages of which nothing may be remembered."""
        await self._store.write(lambda c: move_on(c, scope, after, to, self._clock()))

    async def _tell_before(self, scope: str) -> None:
        if self._before_compaction is None:
            return
        try:
            await self._before_compaction(scope)
        except MootError as error:
            log.warning("memory.before_compaction", scope=scope, error=type(error).__name__)

    async def _summarise(self, part: MessageRange, known: Progress) -> bool:
        """Store the summary of one part and of what came before it."""
        before = public(known.newest.text, part.hidden) if known.newest is not None else ""
        try:
            text = await self._text(part.scope, before, part.spoken)
        except ModelError as error:
            await self._store.write(lambda c: failed(c, LAYER, part.scope, self._clock()))
            log.warning("memory.not_summarised", scope=part.scope, reason=error)
            return False
        now = self._clock()
        new = NewEpisode(
            scope=part.scope,
            first_seq=part.first_seq,
            last_seq=part.last_seq,
            text=text,
            plain=self._model is None,
            at=micros(now),
        )

        def work(connection: Connection) -> None:
            if self._slices.still_readable(connection, part):  # else the next step reads it again
                add_episode(connection, known.after, new, now)

        await self._store.write(work, small=part.small)
        return True

    async def _text(self, scope: str, before: str, said: Sequence[ReadableMessage]) -> str:
        if self._model is None:
            return plain_summary(before, said, self._zone)
        cap = self._budget.summary
        completion = await self._model(scope).complete(
            system=SUMMARIZE.format(chars=cap * 9 // 10),
            prompt=written(before, said, self._budget.message, self._zone),
        )
        return checked_summary(completion.text, cap)

    # ── Records ─────────────────────────────────────────────────────────────────────────

    async def _keep_record(self, session: EndedSession) -> None:
        """Record what a session was about, unless its agent said nothing since the last record."""
        scope, persona = session.scope, session.persona
        after = await self._store.read(lambda c: recorded(c, scope, persona))
        newest = await self._store.read(lambda c: newest_episode(c, scope))
        if newest is None:
            return
        part = await self._said(scope, after, newest.last_seq)
        if any(one.persona == persona for one in part.spoken):
            files = await self._used(session, part.hidden)
            before = public(newest.text, part.hidden)
            record = await self._record(scope, before, part.spoken, files)
            now = micros(self._clock())
            await self._store.write(lambda c: add_record(c, scope, persona, record, now))
        self._files.pop((scope, persona), None)

    async def _said(self, scope: str, after: int, until: int) -> MessageRange:
        """The newest messages of a range, as many as one call may hold."""
        said: tuple[ReadableMessage, ...] = ()
        hidden: tuple[str, ...] = ()
        first = after + 1
        while (page := await self._slices.after(scope, after, until=until, size=PAGE)) is not None:
            said = last_part((*said, *page.spoken), self._budget.message)
            hidden, after = page.hidden, page.last_seq
        return MessageRange(scope, first, until, said, hidden)

    async def _used(self, session: EndedSession, hidden: tuple[str, ...]) -> dict[str, bool]:
        """The files that the session's agent used: as told with its turns, and as on record."""
        scope, persona = session.scope, session.persona
        files = self._files.get((scope, persona), _Files())
        for tool, given in await self._store.read(lambda c: unread_uses(c, scope, persona)):
            files.take(tool, public(given, hidden))
        return files.paths

    async def _record(
        self, scope: str, before: str, said: Sequence[ReadableMessage], files: dict[str, bool]
    ) -> SessionRecord:
        """The model's record, with one retry; else the plain one."""
        known = [*(one.text for one in said), *files]
        for _ in range(2 if self._model is not None else 0):
            assert self._model is not None
            try:
                completion = await self._model(scope).complete(
                    system=RECORDING,
                    prompt=written(before, said, self._budget.message, self._zone),
                    tool=record_tool(),
                )
                return checked_record(completion, known)
            except ModelError as error:
                log.warning("memory.not_recorded", reason=error)
        return plain_record(said, files.items())
