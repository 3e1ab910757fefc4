"""The records of a turn beside its answer: who asked, and what it took; and whether more may be
asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from contract.agent import Usage
from contract.chat import Room, Speaker
from contract.values import dataclass
from gateway.audit.audit import Audit
from gateway.core.ledger import Turn, TurnRequest, TurnUsage
from gateway.core.sql_ledger import SqlLedger
from gateway.limits.limits import Limits
from gateway.limits.usage import UsageBook
from store.rows import StoredMessage


@dataclass(frozen=True, slots=True)
class Accounting:
    """The audit log, the usage and the limits, as turns need them."""

    audit: Audit
    usage: UsageBook
    limits: Limits
    ledger: SqlLedger
    count: Callable[[TurnUsage], None]
    clock: Callable[[], datetime]

    # ── At the door ─────────────────────────────────────────────────────────────────────

    async def admit(
        self, by: Speaker, room: Room, wanted: Sequence[TurnRequest]
    ) -> list[TurnRequest]:
        """The turns that somebody's limits allow, and one line for the rest."""
        if not self.limits.any:
            return list(wanted)
        await self.limits.ready()
        asked = [want for want in wanted if want.answer is None]
        allowed, over = self.limits.take(by, room, [want.persona for want in asked])
        kept = [want for want in wanted if want.answer is not None or want.persona in allowed]
        if over is None or (line := self.limits.line(over, by, room)) is None:
            return kept
        self.audit.note_later(
            "limit", by, persona=over.subject.id if over.subject.kind == "persona" else None,
            room=room, whose=over.subject.kind, what=over.what, window=over.window,
            most=str(over.most),
        )  # fmt: skip
        refused = next(want for want in asked if want.persona not in allowed)
        return [*kept, replace(refused, kind="notice", answer=line)]

    def give_back(self, by: Speaker, room: Room, wanted: Sequence[TurnRequest]) -> None:
        """The message was there before."""
        if not self.limits.any:
            return
        personas = [want.persona for want in wanted if want.answer is None]
        self.limits.give_back(by, room, personas)

    # ── A turn ──────────────────────────────────────────────────────────────────────────

    async def began(self, turn: Turn, asked: StoredMessage, agent: str) -> Speaker:
        """An agent is about to be asked; returns who began the chain."""
        person = asked.by
        if asked.turn_id is not None or turn.again:
            person = await self.ledger.beginner(turn) or person
        self.audit.note_later(
            "invoke",
            person,
            persona=turn.persona,
            room=turn.room,
            turn_id=turn.id,
            hop=turn.hop,
            agent=agent,
        )
        return person

    def took(
        self, turn: Turn, person: Speaker, agent: str, told: Usage | None, seconds: float
    ) -> None:
        """Note that a turn ended, with an answer or without one."""
        took = self.usage.note(
            TurnUsage(
                turn_id=turn.id,
                at=self.clock(),
                person_id=person.id,
                room_id=turn.room.id,
                persona=turn.persona,
                agent=agent,
                seconds=round(seconds, 6),
                usage=told,
            )
        )
        if self.limits.any:
            self.limits.took(took)
        self.count(took)

    async def hand_over(self, turn: Turn, wanted: Sequence[TurnRequest]) -> list[TurnRequest]:
        """The turns that an answer asks for and its chain's beginner may still ask."""
        if not (self.limits.any and wanted):
            return list(wanted)
        person = await self.ledger.beginner(turn)
        if person is None:
            return list(wanted)
        await self.limits.ready()
        allowed, over = self.limits.take(person, turn.room, [want.persona for want in wanted])
        kept = [want for want in wanted if want.persona in allowed]
        if over is None or (line := self.limits.line(over, person, turn.room)) is None:
            return kept
        return [
            *kept,
            TurnRequest(uuid4().hex, "", turn.bot, turn.thread_id, turn.hop, "notice", line),
        ]
