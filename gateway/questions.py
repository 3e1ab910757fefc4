"""An agent's permission questions: asked in the room, answered once, by those allowed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bots.asking import decided_markdown, refused_markdown
from bots.bot import Bot
from contract import MootError, Place, PlatformError, Question, Rejected, Speaker
from gateway.access import Access
from gateway.cards import OpenQuestion
from gateway.delivery import look
from gateway.events import Publish
from gateway.happenings import Asked, QuestionClosed
from gateway.house import Choice
from gateway.ledger import Ledger, Turn

log = logging.getLogger("moot.questions")

AGAIN_S = 1.0  # before a question whose fate nobody knows is looked for


@dataclass(slots=True)
class _Open:
    question: Question
    turn: Turn
    at: datetime
    expires_at: datetime
    answer: asyncio.Future[tuple[int, Speaker]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Questions:
    """The questions that wait for an answer, of all rooms."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        access: Access,
        publish: Publish,
        clock: Callable[[], datetime],
        timeout_s: float,
        clean: Callable[[Question], Question] = lambda question: question,
        decided: Callable[[str], None] = lambda how: None,
    ) -> None:
        """clean: takes secrets out of a question. decided: told how each ended: a word."""
        self._clean = clean
        self._decided = decided
        self._ledger = ledger
        self._access = access
        self._publish = publish
        self._clock = clock
        self._timeout_s = timeout_s
        self._open: dict[str, _Open] = {}

    async def ask(self, question: Question, turn: Turn, bot: Bot, place: Place) -> int:
        """Ask the room and wait; the index of the chosen option. Refuses when nobody answers."""
        question = self._clean(question)
        refusal = _refusing(question)
        if not self._access.has_approvers(place.room, turn.persona):
            self._decided("policy")
            await self._record(turn, question, refusal, "policy")
            line = refused_markdown(question, turn.persona)
            try:
                told = await bot.post(place, line, f"{turn.id}:{question.id}")
                await self._ledger.note_question(turn, question.id, told)
            except PlatformError as error:
                log.warning("question.not_told turn=%s reason=%r", turn.id, str(error))
            return refusal
        now = self._clock()
        expires_at = now + timedelta(seconds=self._timeout_s)
        entry = self._open[question.id] = _Open(question, turn, now, expires_at)
        chosen, by, reason = refusal, None, "stopped"
        self._publish(Asked(self._card(entry)))
        closed = asyncio.Event()
        posted = asyncio.create_task(
            self._post(turn, question, bot, place, closed), name=f"question {question.id}"
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                chosen, by = await entry.answer
            reason = "answered"
        except TimeoutError:
            reason = "timeout"
        finally:
            del self._open[question.id]
            closed.set()
            self._decided(reason)
            self._publish(
                QuestionClosed(place.room.id, question.id, chosen if by else None, by, reason)
            )
            await self._record(turn, question, chosen, by.id if by else reason)
            await self._close_post(bot, place, question, posted, chosen, by, reason)
        return chosen

    async def _post(
        self, turn: Turn, question: Question, bot: Bot, place: Place, closed: asyncio.Event
    ) -> str | None:
        """Send the question, and note its id. Waits out rate limits and outages until it is closed.

        None: the platform refuses it, or it was closed before it could be sent.
        """
        key, uncertain, message_id = f"{turn.id}:{question.id}", False, None
        while message_id is None:
            try:
                if uncertain:
                    message_id = await look(turn, key, bot, place, self._ledger)
                if message_id is None and closed.is_set():
                    return None
                message_id = message_id or await bot.ask(place, question, key)
            except PlatformError as error:
                log.warning("question.not_posted turn=%s reason=%r", turn.id, str(error))
                if error.outcome == "refused" or closed.is_set():
                    return None
                uncertain = uncertain or error.outcome == "unknown"
                await _within(closed, error.retry_after_s if error.outcome == "retry" else AGAIN_S)
        await self._ledger.note_question(turn, question.id, message_id)
        return message_id

    async def _close_post(
        self,
        bot: Bot,
        place: Place,
        question: Question,
        posted: asyncio.Task[str | None],
        chosen: int,
        by: Speaker | None,
        reason: str,
    ) -> None:
        """Replace the buttons by what was decided."""
        message_id = await posted
        if message_id is None:
            return
        nobody = "nobody in time" if reason == "timeout" else "nobody"
        who = by.name if by else nobody
        text = decided_markdown(question, chosen, who)
        try:
            await bot.edit(place, message_id, text)
        except PlatformError as error:
            log.info("question.not_closed reason=%r", str(error))

    async def _record(self, turn: Turn, question: Question, chosen: int, by: str) -> None:
        label = question.options[chosen].label
        await self._ledger.decide(turn.id, question.title, label, by, self._clock())
        log.info("question.decided turn=%s option=%d by=%s", turn.id, chosen, by)

    def choose(
        self, question_id: str, option: int, by: Speaker, *, trusted: bool = False
    ) -> Choice:
        """Answer a question. Raises Rejected when it has no such option.

        trusted: it was answered on the page or by the API, by whoever may reach these.
        """
        entry = self._open.get(question_id)
        if entry is None:
            return "closed"
        if not 0 <= option < len(entry.question.options):
            raise Rejected("option", f"0 to {len(entry.question.options) - 1}")
        room, persona = entry.turn.room, entry.turn.persona
        if not trusted and not self._access.may_approve(room, by.id, persona):
            return "forbidden"
        if entry.answer.done():
            return "closed"
        entry.answer.set_result((option, by))
        return "taken"

    def newest_in(self, room_id: str) -> str | None:
        """The id of the question asked last in a room, for `!1`."""
        ids = [id_ for id_, entry in self._open.items() if entry.turn.room.id == room_id]
        return ids[-1] if ids else None

    def open_in(self, room_id: str) -> list[OpenQuestion]:
        """The questions that wait in a room, oldest first."""
        return [self._card(e) for e in self._open.values() if e.turn.room.id == room_id]

    def _card(self, entry: _Open) -> OpenQuestion:
        turn = entry.turn
        return OpenQuestion(
            entry.question, turn.room.id, turn.id, turn.persona, entry.at, (), entry.expires_at
        )


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but no longer than that."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def _refusing(question: Question) -> int:
    """The option that says no; the last one when none says so."""
    for index, option in enumerate(question.options):
        if option.refuses:
            return index
    if not question.options:
        raise MootError(f"a question without options: {question.id}")
    return len(question.options) - 1
