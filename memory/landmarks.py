"""Landmarks: what people of a room pinned. They outlive every compaction."""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, exists, insert, select

from contract.briefing import Landmark
from contract.values import dataclass
from memory.layers import BriefRequest, LayerAnswers
from memory.scopes import Gate, check_scope
from store.database import Store
from store.rows import from_row
from store.schema import landmarks, messages
from store.timestamps import day, micros

KINDS = ("pin", "landmark", "decision", "spec", "action")
SHOWN = 10
LISTED = 100


@dataclass(frozen=True, slots=True)
class NewLandmark:
    """Something to be pinned.

    message_seq: of the message that was pinned; author_id: who wrote it, set when it was pinned
    by a reply, None when the text was typed behind the command.
    """

    scope: str
    kind: str
    text: str
    by_id: str
    by_name: str
    message_seq: int
    at: datetime
    author_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredLandmark:
    """A landmark as it lies on disk. seq: what people call it by. Fields as in NewLandmark."""

    seq: int
    scope: str
    kind: str
    text: str
    by_id: str
    by_name: str
    message_seq: int | None
    author_id: str | None
    at: datetime


def _pinned(row: Row[Any]) -> StoredLandmark:
    return from_row(StoredLandmark, row)


_L = landmarks.c
_ADD = insert(landmarks).returning(_L.seq)
_SAME = select(landmarks).where(
    _L.scope == bindparam("scope"),
    _L.message_seq == bindparam("message_seq"),
    _L.kind == bindparam("kind"),
    _L.text == bindparam("text"),
)
_ITS_MESSAGE_IS_GONE = exists().where(
    and_(
        _L.author_id.is_not(None),
        messages.c.seq == _L.message_seq,
        messages.c.deleted_at.is_not(None),
    )
)
_NEWEST = (
    select(landmarks)
    .where(_L.scope == bindparam("scope"), ~_ITS_MESSAGE_IS_GONE)
    .order_by(_L.seq.desc())
    .limit(bindparam("size"))
)
_REMOVE = (
    delete(landmarks)
    .where(_L.scope == bindparam("scope"), _L.seq == bindparam("of"))
    .returning(landmarks)
)

_WHOLE = (
    _L.scope == bindparam("of_scope"),
    _L.message_seq == bindparam("of_message"),
    _L.kind == "pin",
    _L.author_id.is_not(None),
)
_WHO_PINNED = select(_L.by_id).where(*_WHOLE).limit(1)
_REMOVE_WHOLE = delete(landmarks).where(*_WHOLE)


def pin(connection: Connection, new: NewLandmark) -> StoredLandmark:
    """Store a landmark; the one that is there, when the same message's text was pinned before."""
    check_scope(new.scope)
    values = {
        "scope": new.scope,
        "kind": new.kind,
        "text": new.text,
        "by_id": new.by_id,
        "by_name": new.by_name,
        "message_seq": new.message_seq,
        "author_id": new.author_id,
        "at": micros(new.at),
    }
    if (row := connection.execute(_SAME, values).first()) is not None:
        return _pinned(row)
    seq = connection.execute(_ADD, values).scalar_one()
    return _pinned(connection.execute(select(landmarks).where(_L.seq == seq)).one())


def unpin(connection: Connection, scope: str, seq: int) -> StoredLandmark | None:
    """Remove a landmark of this scope; return what it was, None when there is none."""
    row = connection.execute(_REMOVE, {"scope": scope, "of": seq}).first()
    return None if row is None else _pinned(row)


def landmarks_in(connection: Connection, scope: str, limit: int = LISTED) -> list[StoredLandmark]:
    """The newest landmarks of a scope, oldest first.

    A message that was pinned by a reply and deleted since is shown to nobody any more, so its
    landmark isn't either.
    """
    rows = connection.execute(_NEWEST, {"scope": scope, "size": limit})
    return [_pinned(row) for row in rows][::-1]


class Landmarks:
    """The layer: the newest landmarks of the scope that a message is in. zone: of the dates."""

    name = "landmarks"
    deadline_s = 1.0
    held = exists(select(_L.seq).where(_L.scope == bindparam("home")))

    def __init__(self, store: Store, zone: tzinfo) -> None:
        self._store = store
        self._zone = zone

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """The newest ten, oldest first."""
        newest = partial(landmarks_in, scope=ask.invocation.home, limit=SHOWN)
        found = await self._store.read(newest, small=True)
        admitted = ask.invocation.gate.admit(self.name, found)
        return LayerAnswers(landmarks=tuple(self._shown(item) for item in admitted))

    async def pin(self, new: NewLandmark) -> StoredLandmark:
        """See the function of this name."""
        return await self._store.write(lambda connection: pin(connection, new))

    async def unpin(self, scope: str, seq: int) -> StoredLandmark | None:
        """See the function of this name."""
        return await self._store.write(lambda connection: unpin(connection, scope, seq))

    async def pin_message(self, new: NewLandmark) -> str | None:
        """Pin a whole message, unless it is pinned; the id of who had done that before."""

        def work(connection: Connection) -> str | None:
            where = {"of_scope": new.scope, "of_message": new.message_seq}
            if (by_id := connection.execute(_WHO_PINNED, where).scalar()) is not None:
                return str(by_id)
            pin(connection, new)
            return None

        return await self._store.write(work)

    async def unpin_message(self, scope: str, message_seq: int) -> bool:
        """Remove the landmark of a whole message; whether there was one."""
        where = {"of_scope": scope, "of_message": message_seq}
        return await self._store.write(lambda c: c.execute(_REMOVE_WHOLE, where).rowcount > 0)

    async def listed(self, scope: str) -> list[StoredLandmark]:
        """The newest hundred of a scope, oldest first."""
        found = await self._store.read(lambda connection: landmarks_in(connection, scope))
        return Gate(frozenset({scope})).admit(self.name, found)

    def _shown(self, item: StoredLandmark) -> Landmark:
        return Landmark(item.text, self.date(item.at), item.by_name)

    def date(self, at: datetime) -> str:
        """YYYY-MM-DD in the zone in which headers tell the time."""
        return day(at, self._zone)
