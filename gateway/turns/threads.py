"""Reads from the store what people said in a thread, and whom they asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, and_, bindparam, select

from contract.values import dataclass
from store.database import Store
from store.schema import messages, posts, turns
from store.window import IN_THREAD

_M = messages.c
_SAID = (  # as much of a thread as people talk about
    select(_M.seq, _M.message_id, _M.sender_id, _M.reply_to, _M.meta)
    # with `== "human"` SQLite looks through all that people ever said
    .where(IN_THREAD, _M.sender_type != "bot")
    .order_by(_M.seq.desc())
    .limit(50)
    .subquery()
)
_OF_TURN = (turns.c.persona, turns.c.bot, turns.c.states)
_ASKS = and_(turns.c.kind == "ask", turns.c.persona != "", turns.c.state != "dropped")
_SAID_IN = (
    select(_SAID, *_OF_TURN)
    .outerjoin(turns, and_(turns.c.message_seq == _SAID.c.seq, _ASKS))
    .order_by(_SAID.c.seq.desc(), turns.c.seq)
)
_ANSWERED_WITH = (
    select(*_OF_TURN, _M.message_id, _M.sender_id)
    .join(posts, posts.c.turn_id == turns.c.id)
    .join(messages, _M.seq == turns.c.message_seq)
    .where(posts.c.platform_id == bindparam("post"), turns.c.room_id == bindparam("room"))
    .where(turns.c.persona != "")
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A turn in which a persona was asked. posted_at: when all of its answer was there, in
    microseconds; None: it isn't yet."""

    persona: str
    bot: str
    posted_at: int | None

    def posted_by(self, at: int) -> bool:
        """True if its answer was there at that time."""
        return self.posted_at is not None and self.posted_at <= at


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """Something that a person said. mentions: see IngestMetadata. turns: that it asked for."""

    message_id: str
    sender_id: str
    reply_to: str | None
    mentions: Sequence[str]
    turns: Sequence[AskedTurn]


@dataclass(frozen=True, slots=True)
class Threads:
    """Reads them."""

    store: Store

    async def said(self, room_id: str, thread_id: str) -> Sequence[ThreadLine]:
        """What people said in a thread, its root included, the newest first; 50 at the most."""

        def work(connection: Connection) -> list[ThreadLine]:
            rows = connection.execute(_SAID_IN, {"room": room_id, "thread": thread_id})
            return [_line(list(same)) for _, same in groupby(rows, lambda row: row.seq)]

        return await self.store.read(work, small=True)

    async def question_of(self, room_id: str, post_id: str) -> ThreadLine | None:
        """The message whose answer, of a persona, one of the own posts is a part of; the turn is
        that one alone. None: it is part of none."""
        where = {"room": room_id, "post": post_id}

        def work(connection: Connection) -> ThreadLine | None:
            row = connection.execute(_ANSWERED_WITH, where).first()
            return row and ThreadLine(row.message_id, row.sender_id, None, (), [_asked(row)])

        return await self.store.read(work, small=True)


def _line(rows: Sequence[Any]) -> ThreadLine:
    first = rows[0]
    asked = [_asked(row) for row in rows if row.persona]
    mentions = (first.meta or {}).get("mentions") or ()
    return ThreadLine(first.message_id, first.sender_id, first.reply_to, mentions, asked)


def _asked(row: Any) -> AskedTurn:
    at = next((at for state, at in row.states if state == "posted"), None)
    return AskedTurn(row.persona, row.bot, at)
