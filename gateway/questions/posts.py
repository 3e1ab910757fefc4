"""A permission question's posts: put, put again, closed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from bots.bot import Bot
from bots.kit.questions import agreed_markdown, decided_markdown, gone_markdown, left_markdown
from contract.agent import GONE, Question
from contract.chat import Destination, Speaker
from contract.errors import PlatformError
from contract.language import say
from contract.values import dataclass
from gateway.core.ledger import Turn
from gateway.core.sql_ledger import SqlLedger
from gateway.questions.delivery import look
from gateway.questions.open_question import PendingQuestion

log = structlog.stdlib.get_logger("moot.questions")

AGAIN_S = 1.0  # before a question whose fate nobody knows is looked for
TRIES = 5  # to close what an earlier process left


@dataclass(frozen=True, slots=True)
class QuestionPosts:
    """Puts questions into rooms, and takes their buttons away."""

    ledger: SqlLedger

    async def were_made(self, turn: Turn, question: Question) -> bool:
        """True if a question was put before, by an earlier process."""
        return await self.ledger.is_post(f"{turn.id}:{question.id}")

    async def show(self, entry: PendingQuestion) -> None:
        """Post it; once more when one of two agreed: an edit would take its buttons."""
        key = f"{entry.turn.id}:{entry.question.id}"
        entry.after_seq = await self.ledger.newest_message()
        first = await self._post(entry, key)
        if entry.ballot.needs == 1 or first is None:
            return
        await entry.moved.wait()
        if entry.agreed is None or entry.closed.is_set():
            return
        option, by = entry.agreed
        line = agreed_markdown(entry.question, option, by.name)
        if await self._edit(entry.bot, entry.place, first, line):
            self.ledger.close_question(key)
        if await self._post(entry, f"{key}:2") is not None:
            entry.message_ids.remove(first)

    async def _post(self, entry: PendingQuestion, key: str) -> str | None:
        """Send the question, and note its id; before that, that it may be there. Waits out rate
        limits and outages until it is closed.

        None: the platform refuses it, or it was closed before it could be sent.
        """
        turn, bot, place = entry.turn, entry.bot, entry.place
        shown, uncertain, message_id = entry.shown, False, None
        post = await self.ledger.plan_question(turn, key, entry.question.title)
        while message_id is None:
            await self.ledger.sure_to_lead()
            try:
                if uncertain:
                    message_id = await look(turn, key, bot, place, self.ledger)
                if message_id is None and entry.closed.is_set():
                    return None
                message_id = message_id or await bot.ask(place, shown, key)
            except PlatformError as error:
                log.warning("question.not_posted", turn=turn.id, reason=str(error))
                if error.outcome == "refused" or entry.closed.is_set():
                    return None
                uncertain = uncertain or error.outcome == "unknown"
                if uncertain:
                    entry.standing.set()
                wait_s = error.retry_after_s if error.outcome == "retry" else AGAIN_S
                await _within(entry.closed, wait_s)
        entry.message_ids.append(message_id)
        entry.all_ids.append(message_id)
        entry.standing.set()
        await self.ledger.sent(post, message_id)
        return message_id

    async def close(
        self,
        entry: PendingQuestion,
        showing: asyncio.Task[None],
        chosen: int,
        by: Speaker | None,
        reason: str,
    ) -> None:
        """Replace the buttons by what was decided."""
        await showing
        nobody = say("nobody in time") if reason == "timeout" else say("nobody")
        who = by.name if by else nobody
        if by is not None and entry.agreed is not None:
            option, first = entry.agreed
            if option == chosen and first.id != by.id:  # who allowed it has not refused it
                who = f"{first.name}, {by.name}"
        text = decided_markdown(entry.question, chosen, who)
        if reason == GONE:
            text = gone_markdown(entry.question.title, entry.turn.persona)
        key = f"{entry.turn.id}:{entry.question.id}"
        for message_id in entry.message_ids:
            if not await self._edit(entry.bot, entry.place, message_id, text):
                return  # the next start tries again
        for noted in (key, f"{key}:2")[: entry.ballot.needs]:
            self.ledger.close_question(noted)

    async def _edit(self, bot: Bot, place: Destination, message_id: str, text: str) -> bool:
        try:
            await bot.edit(place, message_id, text)
        except PlatformError as error:
            log.info("question.not_closed", reason=str(error))
            return False
        return True

    async def tell(
        self, turn: Turn, question: Question, bot: Bot, place: Destination, line: str
    ) -> None:
        """Say why a question was refused without being asked."""
        key = f"{turn.id}:{question.id}"
        try:
            message_id = await bot.post(place, line, key)
        except PlatformError as error:
            log.warning("question.not_told", turn=turn.id, reason=str(error))
            return
        await self.ledger.note_refusal(turn, key, message_id)

    async def close_left(self, turn: Turn, bot: Bot, place: Destination) -> list[str]:
        """Close those of an earlier process; return their ids."""
        left = await self.ledger.left_questions(turn.id)
        for key, message_id, title in left:
            line = left_markdown(title, turn.persona)
            for _ in range(TRIES):
                try:
                    message_id = message_id or await look(turn, key, bot, place, self.ledger)
                    if message_id is not None:
                        await bot.edit(place, message_id, line)
                except PlatformError as error:
                    log.info("question.not_closed", turn=turn.id, reason=str(error))
                    if error.outcome == "refused":
                        break
                    await asyncio.sleep(error.retry_after_s)
                else:
                    break
            self.ledger.close_question(key)
        return [key.split(":")[1] for key, _, _ in left]


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but no longer than that."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
