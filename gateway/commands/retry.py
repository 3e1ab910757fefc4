"""`!retry`: the last question here is asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Protocol
from uuid import uuid4

from contract.chat import stands
from contract.language import phrase, say
from contract.values import dataclass
from gateway.access.access import Access
from gateway.core.ledger import Turn, TurnRequest
from gateway.core.sql_ledger import SqlLedger
from gateway.limits.accounting import Accounting
from gateway.turns.commands import CommandRequest
from store.transcript import Transcript

_OPEN = phrase("@{persona} is still at that question; `!stop` breaks it off.")


class StartTurn(Protocol):
    """Begins a turn that was queued: see TurnQueues."""

    def __call__(self, turn: Turn, message_id: str | None) -> None: ...


@dataclass(frozen=True, slots=True)
class RetryCommand:
    """Handles it."""

    ledger: SqlLedger
    transcript: Transcript
    access: Access
    accounting: Accounting
    start: StartTurn
    clock: Callable[[], datetime]

    async def run(self, request: CommandRequest) -> str:
        """Queue it; return the reply, which is empty where the agent's will follow."""
        chosen = request.chosen()
        if not chosen:
            return request.nobody()
        thread_id = request.asked.thread_id
        if request.asked.reply_to not in (None, thread_id):  # in a thread many reply to its root
            return await self._replied(request, {one.name: request.scope(one) for one in chosen})
        found = [
            await self.ledger.last_question(one.name, request.scope(one), thread_id)
            for one in chosen
        ]
        last = max((turn for turn in found if turn), key=attrgetter("seq"), default=None)
        if last is None:
            return say("Nothing was asked here that could be asked again.")
        return await self._repeat(last, request)

    async def _replied(self, request: CommandRequest, scopes: Mapping[str, str]) -> str:
        """As a reply it means the question that it replies to, for whoever that asked; or an
        answer, for who gave it."""
        room_id, replied = request.turn.room.id, request.asked.reply_to or ""
        question = await self.transcript.find(room_id, replied)
        if question is not None and question.turn_id is not None:
            scopes = {name: scopes[name] for name in scopes if name == question.persona}
            answered = await self.ledger.turn(question.turn_id)
            question = await self.transcript.get(answered.message_seq) if answered else None
        newest: dict[str, Turn] = {}
        if question is not None and not question.deleted:
            turns = await self.ledger.turns_of(question.seq)
            newest = {
                turn.persona: turn
                for turn in sorted(turns, key=attrgetter("seq"))
                if turn.kind == "ask"
                and turn.state != "dropped"
                and scopes.get(turn.persona) == turn.scope
            }
        if not newest:
            return say("The message that you reply to asked nobody here, or is gone.")
        return "\n".join(
            filter(None, [await self._repeat(one, request) for one in newest.values()])
        )

    async def _repeat(self, last: Turn, request: CommandRequest) -> str:
        """Ask again what a turn asked, where its sender may."""
        asked, persona, room = request.asked, last.persona, last.room
        is_bot = asked.by.kind == "bot"
        if not self.access.may_invoke(room, asked.by.id, persona, is_bot=is_bot):
            return say("You may not ask @{persona} here.", persona=persona)
        if last.again == asked.seq:  # an earlier process died after it had queued this one
            return ""
        if last.state != "posted":
            return say(_OPEN, persona=persona)
        return await self._again(last, request)

    async def _again(self, last: Turn, request: CommandRequest) -> str:
        """Queue and begin it, as far as the limits of whoever wants it allow."""
        wanted = TurnRequest(
            uuid4().hex,
            last.persona,
            last.bot,
            last.thread_id,
            last.hop,
            again=request.asked.seq,
            retries=last.id,
        )
        by = request.asked.by
        allowed = await self.accounting.admit(by, last.room, [wanted])
        if wanted not in allowed:  # instead of it there may be a line that says why
            return "".join(one.answer or "" for one in allowed)
        question = await self.transcript.get(last.message_seq)
        marked = question is not None and question.persona is None and stands(question.message_id)
        made = await self.ledger.ask_again(last, wanted, self.clock())
        if not made:
            self.accounting.give_back(by, last.room, [wanted])
            return say(_OPEN, persona=last.persona)
        for turn in made:
            self.start(turn, question.message_id if question and marked else None)
        return ""
