"""Insights as they lie on disk: a small set of notes for each scope and sender."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from memory.scopes import check_scope
from store.rows import from_row
from store.schema import insights
from store.timestamps import micros

IDLE = timedelta(minutes=30)

NoteKind = Literal["pin", "recommendation"]


@dataclass(frozen=True, slots=True)
class NewNote:
    """A note to be stored: one line. question: the message that it was learned from."""

    kind: NoteKind
    text: str
    question: str


@dataclass(frozen=True, slots=True)
class StoredNote:
    """A note as it lies on disk. used_at: when its set was last looked up or replaced."""

    seq: int
    scope: str
    sender_id: str
    kind: NoteKind
    text: str
    question: str
    used_at: datetime


_N = insights.c
_OF = (_N.scope == bindparam("of_scope"), _N.sender_id == bindparam("of_sender"))
_SET = select(insights).where(*_OF, _N.used_at > bindparam("since")).order_by(_N.seq)
_RENEW = update(insights).where(*_OF).values(used_at=bindparam("now"))
_EXPIRED = delete(insights).where(_N.used_at <= bindparam("since"))


def _note(row: Row[Any]) -> StoredNote:
    return from_row(StoredNote, row)


# Functions of a connection: they run inside Store.read or Store.write.


def notes_of(connection: Connection, scope: str, sender_id: str, at: datetime) -> list[StoredNote]:
    """The set of one person in one scope that is not expired at `at`, in its order."""
    where = {"of_scope": scope, "of_sender": sender_id, "since": micros(at - IDLE)}
    return [_note(row) for row in connection.execute(_SET, where)]


def renew_notes(connection: Connection, scope: str, sender_id: str, at: datetime) -> None:
    """Delete every expired set, whosever it is; the one named here lives on if it still lives."""
    connection.execute(_EXPIRED, {"since": micros(at - IDLE)})
    connection.execute(_RENEW, {"of_scope": scope, "of_sender": sender_id, "now": micros(at)})


def replace_notes(
    connection: Connection,
    scope: str,
    sender_id: str,
    new: Sequence[NewNote],
    at: datetime,
    *,
    seen: Sequence[StoredNote],
) -> bool:
    """Put a new set in the place of the old one; False: nothing was done.

    seen: the set that the new one was made from. If any of it is gone meanwhile, somebody had it
    forgotten, and the new set may repeat it.
    """
    check_scope(scope)
    mine = (_N.scope == scope, _N.sender_id == sender_id)
    there = set(connection.execute(select(_N.seq).where(*mine)).scalars())
    if not there.issuperset(note.seq for note in seen):
        return False
    connection.execute(delete(insights).where(*mine))
    for note in new:
        values = {"scope": scope, "sender_id": sender_id, "used_at": micros(at)}
        row = {**values, "kind": note.kind, "text": note.text, "question": note.question}
        connection.execute(insert(insights), row)
    return True


def remove_notes(connection: Connection, sender_id: str, scope: str | None = None) -> int:
    """Delete what was noted of a person, in one scope or everywhere; return how many notes."""
    query = delete(insights).where(_N.sender_id == sender_id)
    if scope is not None:
        query = query.where(_N.scope == scope)
    return connection.execute(query).rowcount
