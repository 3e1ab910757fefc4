"""Answers people who ask for what they may not have: one polite line, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Literal
from uuid import uuid4

import structlog
from sqlalchemy import Connection, bindparam, select

from contract.chat import Inbound, Room, Speaker, was_command
from contract.language import Language, current, say, speaking
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.pairing_rows import PairingRequest
from gateway.access.pairings import GOOD_FOR, Pairings
from gateway.access.refusals import Refusals, reason_for
from gateway.access.role_words import many_with, role_name
from gateway.audit.audit import Audit
from gateway.core.ledger import Further, TurnRequest
from gateway.settings.access import Role
from store.schema import turns

log = structlog.stdlib.get_logger("moot.access")


_WAS_ANSWERED = select(turns.c.id).where(
    turns.c.message_seq == bindparam("seq"),
    turns.c.persona == "",
    turns.c.state != "queued",
    turns.c.answer.is_not(None),
)


@dataclass(frozen=True, slots=True)
class AccessRefusal:
    """A message that asks for what its sender may not.

    targets: whose turns were wanted, "" for what it pins. is_question: it is no command, so it may
    be answered later. pins: another turn of the message is Moot's own. only_for: the sender's id
    where nobody else is to see the line. language: of the line.
    """

    inbound: Inbound
    bot: str
    thread_id: str | None
    targets: Sequence[str]
    is_question: bool
    pins: bool
    only_for: str | None = None
    language: Language = field(default_factory=current)

    @property
    def person(self) -> Speaker:
        """The person who asked."""
        return self.inbound.meta.speaker()

    @property
    def persona(self) -> str | None:
        """The persona that they asked first; None: only a pin."""
        return next((name for name in self.targets if name), None)


class UnknownUsers:
    """Chooses the line; the refusals and the codes are on disk."""

    def __init__(
        self,
        access: Access,
        refusals: Refusals,
        pairings: Pairings,
        audit: Audit,
        clock: Callable[[], datetime],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """changed: told when somebody new waits."""
        self._access = access
        self.refusals = refusals
        self._pairings = pairings
        self._audit = audit
        self._clock = clock
        self._changed = changed

    def answer(self, refusal: AccessRefusal, connection: Connection, seq: int) -> Further:
        """Decide what is said to somebody in the commit that stores message `seq`, inside a
        `Store.write`."""
        if connection.execute(_WAS_ANSWERED, {"seq": seq}).first() is not None:
            return Further()  # the platform tells it again
        with speaking(refusal.language):
            said, line = self._line(connection, seq, refusal)
        if not line:
            return Further(said=said)
        name = refusal.targets[0] if refusal.pins else ""
        notice = TurnRequest(
            uuid4().hex,
            name,
            refusal.bot,
            refusal.thread_id,
            0,
            "notice",
            line,
            language=refusal.language,
        )
        return Further((notice,), said, refusal.only_for)

    def _line(
        self, connection: Connection, seq: int, refusal: AccessRefusal
    ) -> tuple[Literal["", "code", "line"], str]:
        """The line and its kind; "": nothing, it was said before."""
        room, person, now = refusal.inbound.room, refusal.person, self._clock()
        known = self._access.role(room, person.id, refusal.persona) is not None
        if not known and room.kind == "dm" and self._access.table.dms == "pairing":
            asked = refusal.persona if refusal.is_question else None
            said = refusal.inbound.content
            request = PairingRequest(person, room, refusal.bot, seq, asked, said)
            code = self._pairings.offer(connection, request, now)
            owned = self._access.has_owner(room)
            return ("code", _code_line(code, owned=owned)) if code else ("", "")
        least = self._least(refusal, known=known)
        has_role = self._access.takes_part(room, person.id)
        reason = reason_for(refusal.persona if has_role else None)
        first = self.refusals.first(connection, room, person.id, reason, now)
        alone = refusal.only_for or was_command(refusal.inbound.message_id)
        if not first and not alone:  # what nobody else sees may be said again
            return "", ""
        owned = self._access.has_owner(room)
        return "line", _refused_line(room, person, least, known=known, owned=owned)

    def _least(self, refusal: AccessRefusal, *, known: bool) -> Role:
        if refusal.persona is None or (not known and not refusal.is_question):
            return "guest"
        return self._access.asks_for(refusal.persona)

    async def answered(self, refusal: AccessRefusal, said: str) -> None:
        """Note what was said. said: a word for it; "": nothing was."""
        room, person = refusal.inbound.room, refusal.person
        if said == "code":
            self._changed()
        if said:
            log.info("access.refused", room=room.id, sender=person.id)
            await self._audit.note("refuse", person, persona=refusal.persona, room=room, told=said)

    async def handed_over(self, room: Room, person: Speaker, persona: str) -> str:
        """The line for somebody whose question a persona hands over to one whom they may not ask;
        "": it was said before."""
        least, now = self._access.asks_for(persona), self._clock()
        first = await self.refusals.told_first(room, person.id, reason_for(persona), now)
        if person.kind == "bot" or not first:
            return ""
        await self._audit.note("refuse", person, persona=persona, room=room, told="line")
        return say(
            "@\u2060{persona} doesn't answer this: who asked first needs to be its "
            "{role} here (`!role {id} {least}`, says an owner).",
            role=role_name(least),
            persona=persona,
            least=least,
            id=person.id,
        )


def _code_line(code: str, *, owned: bool) -> str:
    hours = int(GOOD_FOR.total_seconds()) // 3600
    do = f"`!pair {code}`" if owned else say("`moot pair {code}` on my machine", code=code)
    return say(
        "I don't know you yet. Please give an administrator this code: "
        "`{code}` (good for {hours} hours). They let you in with {do}, and "
        "then I answer you.",
        code=code,
        hours=hours,
        do=do,
    )


def _refused_line(room: Room, person: Speaker, least: Role, *, known: bool, owned: bool) -> str:
    where = "" if room.kind == "room" else " everywhere"
    remedy = say(
        "An owner can let you in with `!role {id} {least}{where}`.",
        id=person.id,
        least=least,
        where=where,
    )
    if not owned:
        remedy = say(
            "I have no owner yet. If you run me, type this on my machine: `moot "
            "access grant {id} owner`.",
            id=person.id,
        )
    if known:
        return say("I answer only {whom} here. {remedy}", whom=many_with(least), remedy=remedy)
    return say("I can't answer you here yet. {remedy}", remedy=remedy)
