"""Remembers who was told what, also over a restart. The functions run inside a `Store.write`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, bindparam, delete, or_, select

from contract.chat import Room
from store.database import Store, insert_of
from store.gateway_schema import refusals
from store.timestamps import micros

ACCESS = "access"
"""Our reason: "access" to who has no role at all, "access:claude" to whose role is too small for a
persona."""

_C = refusals.c
_IS_ACCESS = or_(_C.reason == ACCESS, _C.reason.startswith(f"{ACCESS}:", autoescape=True))
_OF_PERSON = delete(refusals).where(_C.person_id == bindparam("of"), _IS_ACCESS)
_ONE = delete(refusals).where(
    _C.room_id == bindparam("room"),
    _C.person_id == bindparam("person"),
    _C.reason == bindparam("why"),
)
_TOLD = select(_C.room_id, _C.person_id, _C.reason).where(_IS_ACCESS)


def reason_for(persona: str | None) -> str:
    """The reason why somebody is refused. persona: None: all of them are closed."""
    return f"{ACCESS}:{persona}" if persona else ACCESS


class Refusals:
    """The lines that people got. told: the reasons of each, by room and person, in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._add = (
            insert_of(store)(refusals)
            .on_conflict_do_nothing(index_elements=["room_id", "person_id", "reason"])
            .returning(_C.person_id)
        )
        self.told = defaultdict[tuple[str, str], set[str]](set)

    async def load(self) -> None:
        """Read who was told."""
        rows = await self._store.read(lambda connection: connection.execute(_TOLD).all())
        self.told.clear()
        for row in rows:
            self.told[row.room_id, row.person_id].add(row.reason)

    def first(
        self, connection: Connection, room: Room, person_id: str, reason: str, now: datetime
    ) -> bool:
        """True if it wasn't told yet; it counts as told from now on."""
        values = {"room_id": room.id, "person_id": person_id, "reason": reason, "at": micros(now)}
        self.told[room.id, person_id].add(reason)
        return connection.execute(self._add, values).scalar() is not None

    async def told_first(self, room: Room, person_id: str, reason: str, now: datetime) -> bool:
        """The same in a commit of its own."""
        return await self._store.write(lambda c: self.first(c, room, person_id, reason, now))

    def forget(self, connection: Connection, person_id: str) -> None:
        """Their roles change: refused again, they hear it again."""
        for key in [key for key in self.told if key[1] == person_id]:
            del self.told[key]
        connection.execute(_OF_PERSON, {"of": person_id})

    def let_through(self, room: Room, person_id: str, personas: Sequence[str]) -> None:
        """Note that somebody who was told something asked these and might: earlier refusals no
        longer count. On disk soon."""
        told = self.told[room.id, person_id]
        for reason in told & {ACCESS, *map(reason_for, personas)}:
            told.discard(reason)
            where = {"room": room.id, "person": person_id, "why": reason}
            self._store.write_later(partial(_forget_one, where))


def _forget_one(where: dict[str, str], connection: Connection) -> None:
    connection.execute(_ONE, where)
