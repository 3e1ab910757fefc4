"""Messages found by the words in them, newest first.

Every request looks at a bounded stretch of the messages, whatever there is: no index is kept, which
would have to forget what people delete. A word is found wherever it stands, so that scripts without
spaces are searched like any other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, func, or_, select

from contract.chat import Speaker
from contract.values import dataclass
from store.database import Store
from store.schema import messages
from store.timestamps import moment
from store.window import THERE

STRETCH = 50_000  # messages that one request looks at
_SPELT = 3  # letters in both cases: eight times LIKE take less than one GLOB
_C = messages.c


@dataclass(frozen=True, slots=True)
class Found:
    """A message that has all the words."""

    seq: int
    room_id: str
    message_id: str
    by: Speaker
    content: str
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class FoundPage:
    """The newest first. next_before: what goes on from there; None: all was looked at."""

    items: Sequence[Found]
    next_before: int | None


async def search(
    store: Store, words: Sequence[str], rooms: Collection[str], *, before: int | None, limit: int
) -> FoundPage:
    """The messages of some rooms that hold all the words, whatever their case. before: a seq."""
    hold = [_holds(word, store.dialect) for word in words]
    # The room is no column of an index here: read in their order, the messages need no sorting.
    here = (_C.room_id + "").in_(list(rooms))

    def work(connection: Connection) -> FoundPage:
        end = before
        if end is None:
            end = (connection.execute(select(func.max(_C.seq))).scalar() or 0) + 1
        start = max(0, end - STRETCH)
        rows = connection.execute(
            select(_C.seq, _C.room_id, _C.message_id, _C.content, _C.sent_at)
            .add_columns(_C.sender_id, _C.sender_name, _C.sender_type)
            .where(_C.seq < end, _C.seq >= start, THERE, here, *hold)
            .order_by(_C.seq.desc())
            .limit(limit)
        ).all()
        items = [
            Found(
                row.seq,
                row.room_id,
                row.message_id,
                Speaker(row.sender_id, row.sender_name, row.sender_type),
                row.content,
                moment(row.sent_at),
            )
            for row in rows
        ]
        if len(items) == limit:
            return FoundPage(items, items[-1].seq)
        return FoundPage(items, start if start > 1 else None)

    return await store.read(work)


def _holds(word: str, dialect: str) -> ColumnElement[bool]:
    """SQLite's LIKE knows the case of a to z alone, PostgreSQL's of what the database's locale has:
    a word with other letters is looked for in each spelling, or as a pattern that names both cases.
    """
    if dialect == "postgresql":
        if word.isascii():
            return _C.content.ilike(_within(word), escape="^")
        pattern = "".join(_either(one, re.escape(one)) for one in word)
        return _C.content.op("~", is_comparison=True)(pattern)
    other = [one for one in word if not one.isascii() and len(_cases(one)) > 1]
    if len(other) <= _SPELT:
        letters = ([one] if one.isascii() else _cases(one) for one in word)
        spellings = map("".join, itertools.product(*letters))
        return or_(*(_C.content.like(_within(one), escape="^") for one in spellings))
    pattern = "".join(_either(one, f"[{one}]" if one in "*?[" else one) for one in word)
    return _C.content.op("GLOB", is_comparison=True)(f"*{pattern}*")


def _within(word: str) -> str:
    """A pattern of LIKE with ^ as its escape."""
    escaped = re.sub("([%_^])", r"^\1", word)
    return f"%{escaped}%"


def _cases(character: str) -> list[str]:
    """A letter in both its cases; another sign alone."""
    both = (character, character.lower(), character.upper())
    return sorted({one for one in both if len(one) == 1})


def _either(character: str, escaped: str) -> str:
    """A letter in both cases, as both kinds of pattern write it; another sign as it is escaped."""
    cases = _cases(character)
    return f"[{''.join(cases)}]" if len(cases) > 1 else escaped
