"""What somebody was told once, also over a restart. The functions run inside a `Store.write`."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, select

from contract import Room
from memory.house_schema import refusals
from memory.store import Store
from memory.transcript import insert_of, micros

ACCESS = "access"  # the reasons of this house: "access", "access:member", ...

_C = refusals.c
_OF_PERSON = delete(refusals).where(
    _C.person_id == bindparam("of"), _C.reason.startswith(ACCESS, autoescape=True)
)
_TOLD = select(_C.person_id).where(_C.reason.startswith(ACCESS, autoescape=True)).distinct()


class Refusals:
    """The lines that strangers were told. known: who was told any, as ids."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._add = (
            insert_of(store)(refusals)
            .on_conflict_do_nothing(index_elements=["room_id", "person_id", "reason"])
            .returning(_C.person_id)
        )
        self.known: set[str] = set()

    async def load(self) -> None:
        """Read who was told."""
        self.known = set(await self._store.read(lambda c: c.execute(_TOLD).scalars().all()))

    def first(
        self, connection: Connection, room: Room, person_id: str, reason: str, now: datetime
    ) -> bool:
        """Whether it wasn't told yet; it counts as told from now on."""
        values = {"room_id": room.id, "person_id": person_id, "reason": reason, "at": micros(now)}
        self.known.add(person_id)
        return connection.execute(self._add, values).scalar() is not None

    async def told_first(self, room: Room, person_id: str, reason: str, now: datetime) -> bool:
        """The same in a commit of its own."""
        return await self._store.write(lambda c: self.first(c, room, person_id, reason, now))

    def forget(self, connection: Connection, person_id: str) -> None:
        """Their roles change: refused again, they hear it again."""
        self.known.discard(person_id)
        connection.execute(_OF_PERSON, {"of": person_id})

    def forget_later(self, person_id: str) -> None:
        """The same for somebody who was let in by moot.toml. On disk soon."""
        if person_id in self.known:
            self._store.write_later(lambda connection: self.forget(connection, person_id))
