"""Records a turn's answer and posts it, and begins what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import structlog

from adapters.agent import TurnContext
from composer.typed import untyped
from contract.chat import MOOT, SenderType, persona_speaker
from contract.errors import PlatformError
from gateway.access.accounts import Presence
from gateway.core import views
from gateway.core.events import EventBus, MessagePosted
from gateway.core.ledger import Ledger, Post, Turn
from gateway.core.redaction import Redactor
from gateway.questions.delivery import deliver, plan
from gateway.questions.questions import Questions
from gateway.turns.handover import HandOver
from gateway.turns.progress import TurnProgress, TurnRun
from gateway.turns.reply import LiveReply

log = structlog.stdlib.get_logger("moot.turn")


class Delivery:
    """Everything that a turn posts goes through here. stored: given the kind of who said it, for
    each answer that is on disk as a message."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        questions: Questions,
        hand_over: HandOver,
        presence: Presence,
        progress: TurnProgress,
        bus: EventBus,
        stored: Callable[[SenderType], None],
        redactor: Redactor,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._questions = questions
        self._hand_over = hand_over
        self._presence = presence
        self._progress = progress
        self._bus = bus
        self._stored = stored
        self.redactor = redactor
        self._clock = clock

    def reply(self, run: TurnRun, context: Callable[[], TurnContext], workspace: Path) -> LiveReply:
        """The room's side of a turn, while its agent works."""
        return LiveReply(
            run,
            self._ledger,
            self._bus.publish,
            self._clock,
            ask=lambda question: self._questions.ask(
                question, run.turn, run.bot, run.destination, workspace
            ),
            shown=lambda text: self.redactor.unfinished(untyped(text)),
            context=context,
        )

    async def answer(self, run: TurnRun, *, keeps_times: bool = False) -> Sequence[Turn]:
        """Record the answer of a run's turn, then post it; an empty one is recorded only.
        keeps_times: its record keeps how long the steps took."""
        outcome = run.turn
        with run.step("record"):
            if outcome.answer:
                outcome = replace(outcome, answer=self.redactor(outcome.answer))
            planned = await plan(outcome.answer, run.bot) if outcome.answer else []
            log.info("answer.planned", chars=len(outcome.answer or ""), posts=len(planned))
            outcome, posts = await self._ledger.answered(outcome, planned, self._clock())
            self._progress.tell(outcome)
        return await self._post(run.now(outcome), posts, keeps_times=keeps_times)

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
        try:
            with run.step("post"):
                sent = await deliver(turn, posts, run.bot, run.destination, self._ledger, run.step)
        except PlatformError as error:
            log.error("turn.undeliverable", turn=turn.id, reason=str(error))
            await self._presence.left(turn.room, turn.bot)
            dropped = await self._ledger.dropped(replace(turn, fault="crash"), self._clock())
            self._progress.ended(dropped, "failed", "undeliverable")
            return ()
        if keeps_times:
            turn.record["timings"] = run.step.ms
        by = persona_speaker(turn.persona) if turn.was_asked else MOOT
        wanted = await self._hand_over.requests(turn, run.bot) if turn.was_asked else []
        done, seq, more = await self._ledger.posted(turn, sent, by, wanted, self._clock())
        if seq is not None:
            self._stored("bot")
            if self._bus.listeners:
                self._bus.publish(MessagePosted(views.answer(done, sent[0], by)))
        self._progress.ended(done, "failed" if done.fault else "done")
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
        dropped = await self._ledger.dropped(replace(turn, answer=None), self._clock())
        self._progress.ended(dropped, None, "withdrawn")

    async def close_questions(self, run: TurnRun) -> None:
        """Close the questions of a turn that an earlier process took."""
        await self._questions.close_left(run.turn, run.bot, run.destination)
