"""A turn as the room sees it: typing, drafts and questions while it runs, then its answer, which is
recorded and posted, and what follows from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from adapters.agent import TurnContext
from bots.kit.questions import fenced
from composer.header import untyped
from contract.agent import Question
from contract.chat import MOOT, SenderType, persona_speaker
from contract.errors import PlatformError
from contract.language import speaking
from contract.work import Draft, Work
from gateway.access.accounts import Presence
from gateway.core import views
from gateway.core.events import DraftChanged, MessagePosted, WorkChanged
from gateway.core.ledger import Post, PostKind, Turn
from gateway.core.log_context import keep_to_turn, turn_log_context
from gateway.core.redaction import Redactor
from gateway.core.sql_ledger import SqlLedger
from gateway.questions.delivery import deliver, pieces, plan
from gateway.questions.questions import Questions
from gateway.turns.admission import HandOver
from gateway.turns.progress import TurnProgress, TurnRun
from gateway.turns.work import ShownWork
from store.health import StoreRefusal
from store.leading import LeadLost

log = structlog.stdlib.get_logger("moot.turn")

TYPING_AFTER_S = 0.3  # a quicker answer needs no sign that it is coming
TYPING_EVERY_S = 8.0  # platforms let the sign lapse after 10 to 15 s
FIRST_DRAFT_AFTER_S = 1.5
PAGE_DRAFTS_S = 0.1
SOON_S = 0.0015  # what is posted is noted so late, with what is asked next if that comes sooner
BUSY_S = 0.005  # while the next turn is at work, whose prompt is on its way sooner


class LiveReply:
    """The room's side of one turn; what the agent's driver calls while it works."""

    def __init__(
        self,
        run: TurnRun,
        ledger: SqlLedger,
        progress: TurnProgress,
        clock: Callable[[], datetime],
        *,
        ask: Callable[[Question], Awaitable[int]],
        shown: Callable[[str], str],
        shown_work: Callable[[], ShownWork] | None,
        context: Callable[[], TurnContext],
    ) -> None:
        """ask: asks the room. shown, shown_work: make of what the agent has said and done so far
        what may be shown of it; None: nothing. context: see occasion."""
        self._ask = ask
        self._turn = run.turn
        self._bot = run.bot
        self._place = run.destination
        self._step = run.step
        self._succession = run.succession
        self._ledger = ledger
        self._bus = progress.bus
        self._clock = clock
        self._shown = shown
        self._context = context
        self._shown_work = shown_work
        self._works = progress.works
        self._work: Work | None = None  # until there is any
        self._showing: ShownWork | None = None
        self._said = self._read = self._latest = ""
        self._changed = asyncio.Event()
        self._over = asyncio.Event()
        self._post: Post | None = None
        self._drafted = ""
        self._show_task: asyncio.Task[None] | None = None
        self._page: asyncio.Task[None] | None = None

    @property
    def occasion(self) -> TurnContext:
        """See Reply."""
        return self._context()

    def draft(self, text: str) -> None:
        """The text that the agent has said so far."""
        self._said = text
        if text:
            self._show_soon()

    def work(self, work: Work) -> None:
        """The agent's work so far."""
        if self._shown_work is not None:
            self._work = work
            self._show_soon()

    def recorded(self) -> dict[str, Any]:
        """The work as the turn's record keeps it; nothing where there is none to be shown."""
        if self._work is None:
            return {}
        work = self._work_shown()
        return {"work": work.as_json()} if work else {}

    def _words(self) -> str:
        """The agent's words so far, as they may be shown. Secrets are looked for once somebody sees
        them: it takes ms of a long answer, which grows all the time."""
        if self._read != self._said:
            self._read, self._latest = self._said, self._shown(self._said)
        return self._latest

    def _work_shown(self) -> Work | None:
        if self._work is None or self._shown_work is None:
            return None
        self._showing = self._showing or self._shown_work()
        return self._showing(self._work)

    def _show_soon(self) -> None:
        self._changed.set()
        seen = self._bus.listeners or self._work is not None  # work is shown to who comes later
        if seen and self._page is None and not self._over.is_set():
            name = f"drafts {self._turn.id}"
            self._page = asyncio.create_task(self._show_page(), name=name)

    async def choose(self, question: Question) -> int:
        """Ask the room."""
        await self._succession.posts_before()
        spoken = speaking(self._turn.language)
        with spoken, turn_log_context(self._turn), self._step("question", "agent.ask"):
            return await self._ask(question)

    @asynccontextmanager
    async def showing(self) -> AsyncIterator[LiveReply]:
        """Show signs of work until left. A call that is under way is let finish: a draft whose
        outcome nobody knows would have to be looked for."""
        self._begin_soon()
        try:
            yield self
        finally:
            self._beginning.cancel()
            self._over.set()
            self._works.pop(self._turn.id, None)
            if self._page:
                self._page.cancel()
            if tasks := [task for task in (self._show_task, self._page) if task]:
                await asyncio.wait(tasks)

    def _begin_soon(self) -> None:
        self._beginning = asyncio.get_running_loop().call_later(TYPING_AFTER_S, self._begin)

    def _begin(self) -> None:
        if not self._succession.may_post:  # the answer before it comes first
            self._begin_soon()
            return
        self._show_task = asyncio.create_task(self._show(), name=f"show {self._turn.id}")

    async def _show_page(self) -> None:
        room, turn, draft, done = self._turn.room.id, self._turn.id, "", None
        while True:
            await self._changed.wait()
            self._changed.clear()
            if (words := self._words()) not in ("", draft):
                draft = words
                self._bus.publish(DraftChanged(room, turn, draft))
            work = self._work_shown()
            if work and work != done:
                self._works[turn] = done = work
                if (view := views.work(work)) is not None:
                    self._bus.publish(WorkChanged(room, turn, view))
            await asyncio.sleep(PAGE_DRAFTS_S)

    async def _show(self) -> None:
        next_draft = time.monotonic() + FIRST_DRAFT_AFTER_S - TYPING_AFTER_S
        next_typing = 0.0
        shown = ""
        while not self._over.is_set():
            now = time.monotonic()
            interval_s = self._bot.capabilities.draft_interval_s  # a platform may be out of breath
            if now >= next_typing:
                await self._bot.typing(self._place, "is working")
                next_typing = now + TYPING_EVERY_S
            if interval_s is not None and now >= next_draft and (draft := self._draft()) != shown:
                shown = draft
                await self._show_draft(shown)
                next_draft = time.monotonic() + interval_s
            if await self._ended_within(0.25 if interval_s is None else min(interval_s, 0.25)):
                break
        await self._bot.typing(self._place, "")

    def _draft(self) -> str:
        """The work as it goes on, above the agent's words so far."""
        if (work := self._work_shown()) is None:
            return self._words()
        return "\n\n".join(filter(None, [fenced("\n".join(work.chat_lines)), self._words()]))

    async def _ended_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._over.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _show_draft(self, text: str) -> None:
        """Post the draft, or edit it, also that of an earlier process. Its failure costs nothing
        but the sight of it."""
        first = next(iter(await pieces(text, self._bot)), "")
        if first in ("", self._drafted):
            return
        self._drafted = first
        draft = Draft(first, self._words(), self._work_shown())
        try:
            await self._ledger.sure_to_lead()
            if self._post is None:
                self._post = await self._ledger.draft(self._turn, first, self._clock())
                if not self._post.uncertain:
                    message_id = await self._bot.draft(self._place, draft, self._post.key)
                    self._post = await self._ledger.sent(self._post, message_id)
                    return
            if self._post.platform_id is not None:
                await self._bot.redraft(self._place, self._post.platform_id, draft)
        except (PlatformError, StoreRefusal, LeadLost) as error:
            log.info("draft.failed", turn=self._turn.id, reason=str(error))


class Delivery:
    """Everything that a turn posts goes through here. stored: given the kind of who said it, for
    each answer that is on disk as a message."""

    def __init__(
        self,
        *,
        ledger: SqlLedger,
        questions: Questions,
        hand_over: HandOver,
        presence: Presence,
        progress: TurnProgress,
        stored: Callable[[SenderType], None],
        redactor: Redactor,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._questions = questions
        self._hand_over = hand_over
        self._presence = presence
        self._progress = progress
        self._stored = stored
        self.redactor = redactor
        self.clock = clock

    def reply(self, run: TurnRun, context: Callable[[], TurnContext], workspace: Path) -> LiveReply:
        """The room's side of a turn, while its agent works."""
        works = self._progress.shows_work(run.turn.persona)
        return LiveReply(
            run,
            self._ledger,
            self._progress,
            self.clock,
            ask=lambda question: self._questions.ask(
                question, run.turn, run.bot, run.destination, workspace
            ),
            shown=lambda text: self.redactor.unfinished(untyped(text)),
            shown_work=partial(ShownWork, self.redactor, workspace) if works else None,
            context=context,
        )

    async def answer(self, run: TurnRun, *, keeps_times: bool = False) -> Sequence[Turn]:
        """Record the answer of a run's turn, then post it; an empty one is recorded only.
        keeps_times: its record keeps how long the steps took."""
        outcome = run.turn
        keep_to_turn(outcome)  # its session may go on
        with run.step("record"):
            if outcome.answer:
                outcome = replace(outcome, answer=self.redactor(outcome.answer))
            planned: list[tuple[PostKind, str]] = []
            if outcome.answer:
                planned = await plan(outcome.answer, run.bot, outcome.record)
            log.info("answer.planned", chars=len(outcome.answer or ""), posts=len(planned))
            outcome, posts = await self._ledger.answered(
                outcome, planned, self.clock(), seen=lambda _: run.succession.stored()
            )
            self._progress.tell(outcome)
        return await self._post(replace(run, turn=outcome), posts, keeps_times=keeps_times)

    async def go_on(self, run: TurnRun) -> Sequence[Turn]:
        """Post what is left of an answer that is on disk."""
        found = await self._ledger.posts(run.turn.id)
        return await self._post(
            run, [replace(post, uncertain=post.platform_id is None) for post in found]
        )

    async def _post(
        self, run: TurnRun, posts: Sequence[Post], *, keeps_times: bool = False
    ) -> Sequence[Turn]:
        turn = run.turn
        await run.succession.posts_before()
        if run.succession.withdrawn:
            await self.drop(run)
            return ()
        run.succession.stored()
        try:
            with run.step("post"):
                sent = await deliver(turn, posts, run.bot, run.destination, self._ledger, run.step)
        except PlatformError as error:
            log.error("turn.undeliverable", turn=turn.id, reason=str(error))
            await self._presence.left(turn.room, turn.bot)
            dropped = await self._ledger.dropped(replace(turn, fault="crash"), self.clock())
            self._progress.ended(dropped, run.step.trace, "failed", "undeliverable")
            return ()
        if keeps_times:
            turn.record["timings"] = run.step.ms
        by = persona_speaker(turn.persona) if turn.was_asked else MOOT
        wanted = []
        if turn.was_asked:
            wanted = await self._hand_over.requests(turn, run.bot, run.reading)
        within_s = BUSY_S if run.succession.passed_on else SOON_S
        done, seq, more = await self._ledger.posted(
            turn, sent, by, wanted, self.clock(), within_s=0.0 if wanted else within_s
        )
        if seq is not None:
            self._stored("bot")
            if self._progress.bus.listeners:
                self._progress.bus.publish(MessagePosted(views.answer(done, sent[0], by)))
        self._progress.ended(done, run.step.trace, "failed" if done.fault else "done")
        log.info("turn.posted", turn=turn.id, persona=turn.speaker_name, posts=len(sent))
        return more

    async def drop(self, run: TurnRun) -> None:
        """End a turn whose message was deleted; nothing of it stays in the room."""
        turn = run.turn
        for post in await self._ledger.posts(turn.id):
            if post.platform_id is not None:
                try:
                    await run.bot.delete(run.destination, post.platform_id)
                except PlatformError as error:
                    log.info("draft.not_deleted", turn=turn.id, reason=str(error))
        dropped = await self._ledger.dropped(replace(turn, answer=None), self.clock())
        self._progress.ended(dropped, run.step.trace, None, "withdrawn")

    async def close_questions(self, run: TurnRun) -> None:
        """Close the questions of a turn that an earlier process took."""
        await self._questions.close_left(run.turn, run.bot, run.destination)
