"""Unknown people who wrote a direct message: each has a code, and an owner decides on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

import structlog
from sqlalchemy import Connection

from contract.chat import Room, Speaker
from contract.language import current, phrase, say, speaking
from contract.values import dataclass
from gateway.access.grants import Grants, GrantSpan, KeptGrant, live
from gateway.access.pairing_rows import (
    ASKS,
    DECIDE,
    EXPIRE,
    LAST,
    MESSAGE,
    PUT,
    WAITING,
    Decision,
    Pairing,
    PairingRequest,
    found_with,
    good_ones,
    new_code,
)
from gateway.audit.audit import Audit
from gateway.core.ledger import Turn, TurnRequest
from gateway.core.sql_ledger import SqlLedger
from store.database import Store
from store.gateway_schema import pairings
from store.timestamps import micros

log = structlog.stdlib.get_logger("moot.access")

GOOD_FOR = timedelta(hours=24)
MOST_WAITING = 20  # beyond it the oldest is displaced: unknown people can't fill the list
LET_IN = phrase("You are let in: you can talk with me here now.")
DECLINED = phrase("An administrator has declined your request, so I can't talk with you here.")

Start = Callable[[Turn, str], None]
"""Begins a turn: the turn, and its message's platform id."""


class Pairings:
    """The codes, and what becomes of them."""

    def __init__(
        self,
        store: Store,
        ledger: SqlLedger,
        grants: Grants,
        audit: Audit,
        clock: Callable[[], datetime],
        start: Start = lambda *_: None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """start: begins the turns that a decision makes; without it the next start of Moot does."""
        self._store = store
        self._ledger = ledger
        self._grants = grants
        self._audit = audit
        self._clock = clock
        self._start = start
        self._language = current()
        self._changed = changed

    def offer(self, connection: Connection, request: PairingRequest, now: datetime) -> str | None:
        """A new code, inside a `Store.write`; None: they wait with one, or were refused.

        Who was displaced waits again with the code that they have: crowds that displace each
        other get a line each, and no more.
        """
        connection.execute(EXPIRE, {"now": micros(now)})
        last = connection.execute(LAST, {"person": request.person.id}).first()
        if last is not None and last.state in ("waiting", "displaced"):
            if last.state == "displaced":
                self._make_room(connection)
                connection.execute(PUT, {"of": last.seq, "into": "waiting"})
            asks = request.persona is not None and not request.says(last.code)
            if asks and request.message_seq > (last.question_seq or 0):
                self._asks(connection, last.seq, request)
            return None
        if last is not None and last.state == "refused":
            return None
        code = new_code(self._make_room(connection))
        values = {
            "code": code,
            "person_id": request.person.id,
            "person_name": request.person.name,
            "room_id": request.room.id,
            "persona": request.persona,
            "bot": request.bot,
            "message_seq": request.message_seq,
            "question_seq": request.message_seq if request.persona else None,
            "state": "waiting",
            "at": micros(now),
            "expires_at": micros(now + GOOD_FOR),
        }
        connection.execute(pairings.insert(), values)
        return code

    def _make_room(self, connection: Connection) -> set[str]:
        """Make room for one more. Returns the codes that others wait with, or did till now."""
        waiting = connection.execute(WAITING).all()
        for row in waiting[: max(0, len(waiting) - MOST_WAITING + 1)]:
            connection.execute(PUT, {"of": row.seq, "into": "displaced"})
        return {row.code for row in waiting}

    def _asks(self, connection: Connection, seq: int, request: PairingRequest) -> None:
        values = {
            "of": seq,
            "question": request.message_seq,
            "asked": request.persona,
            "where": request.room.id,
            "through": request.bot,
        }
        connection.execute(ASKS, values)

    async def waiting(self) -> list[Pairing]:
        """The people whose code is still good, the oldest first."""
        now = self._clock()
        return await self._store.read(lambda connection: good_ones(connection, now))

    async def approve(self, code: str, by: Speaker) -> Pairing | None:
        """Let somebody in, tell them, and let their question be answered; all in one commit.

        They become a member in direct messages. None: no such code waits.
        """
        now = self._clock()

        def work(
            connection: Connection,
        ) -> tuple[Pairing, str, list[KeptGrant], list[_Begun]] | None:
            found = found_with(good_ones(connection, now), code)
            if found is None:
                return None
            self._decide(connection, found, "approved", by, now)
            span = GrantSpan(within="dms")
            kept = self._grants.put(connection, found.person, "member", span, by, now)
            begun = self._news(connection, found, LET_IN, now)
            begun += self._question(connection, found, now)
            self._note_in(connection, "pair", found, by)
            head = self._grants.note_in(connection, "grant", kept, by)
            return found, head, live(connection), begun

        done = await self._store.write(work)
        if done is None:
            return None
        found, head, held, begun = done
        self._grants.took_effect(held, head)
        self._begin(begun)
        return found

    async def decide(self, code: str, decision: Decision, by: Speaker) -> Pairing | None:
        """Approve or refuse."""
        return await (self.approve if decision == "approved" else self.refuse)(code, by)

    async def refuse(self, code: str, by: Speaker) -> Pairing | None:
        """Don't let somebody in: they are told once, and get no other code until they have a role.

        Somebody who waits for an answer deserves one; who keeps writing would have owners refuse
        them every day. None: no such code waits.
        """
        now = self._clock()

        def work(connection: Connection) -> tuple[Pairing, str, list[_Begun]] | None:
            found = found_with(good_ones(connection, now), code)
            if found is None:
                return None
            self._decide(connection, found, "refused", by, now)
            head = self._note_in(connection, "refuse", found, by)
            return found, head, self._news(connection, found, DECLINED, now)

        done = await self._store.write(work)
        if done is None:
            return None
        found, head, begun = done
        self._audit.committed(head)
        self._begin(begun)
        return found

    def _decide(
        self, connection: Connection, found: Pairing, decided: Decision, by: Speaker, now: datetime
    ) -> None:
        values = {
            "of": found.seq,
            "decided": decided,
            "decider": by.proven.id,
            "decider_name": by.proven.name,
            "now": micros(now),
        }
        connection.execute(DECIDE, values)

    def _news(
        self, connection: Connection, found: Pairing, line: str, now: datetime
    ) -> list[_Begun]:
        row = connection.execute(MESSAGE, {"of": found.message_seq}).one()
        with speaking(self._language):  # theirs is not known: whoever decides may read another
            line = say(line)
            wanted = TurnRequest(uuid4().hex, "", found.bot, row.thread_id, 0, "notice", line)
        turns = self._ledger.queue(connection, found.message_seq, [wanted], now)
        return [_Begun(turn, row.message_id) for turn in turns]

    def _question(self, connection: Connection, found: Pairing, now: datetime) -> list[_Begun]:
        """The question's turn; none where it was deleted meanwhile."""
        if found.question_seq is None or found.persona is None:
            return []
        row = connection.execute(MESSAGE, {"of": found.question_seq}).one()
        if row.deleted_at is not None:
            return []
        with speaking(self._language):
            wanted = TurnRequest(uuid4().hex, found.persona, found.bot, row.thread_id)
        turns = self._ledger.queue(connection, found.question_seq, [wanted], now)
        return [_Begun(turn, row.message_id) for turn in turns]

    def _begin(self, begun: Sequence[_Begun]) -> None:
        self._changed()
        for one in begun:
            self._start(one.turn, one.message_id)

    def _note_in(self, connection: Connection, act: str, found: Pairing, by: Speaker) -> str:
        room = Room(found.room_id, found.person.name, "dm")
        log.info("access.paired", act=act, person=found.person.id, by=by.id)
        return self._audit.note_in(
            connection,
            act,
            by,
            persona=found.persona,
            room=room,
            person=found.person.id,
            pairing=found.seq,
        )


@dataclass(frozen=True, slots=True)
class _Begun:
    turn: Turn
    message_id: str
