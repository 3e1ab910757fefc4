"""How far people have read the rooms on the page, and how much is new to them since."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from datetime import datetime

from sqlalchemy import Connection, bindparam, case, select

from contract.chat import Speaker
from contract.values import dataclass
from gateway.core.events import EventBus, ReadUntil
from gateway.core.views import View
from store.database import Store, insert_of
from store.gateway_schema import page_reads, page_users
from store.schema import messages
from store.timestamps import micros, moment
from store.window import THERE

MOST = 100  # shown as 99+

_C = messages.c
_UNTIL = select(page_reads.c.room_id, page_reads.c.until).where(
    page_reads.c.person_id == bindparam("person")
)
_SINCE = select(page_users.c.created_at).where(page_users.c.id == bindparam("person"))
_NEW = (  # a look at the end of a room's part of ix_messages_latest
    select(case((_C.content.contains("@"), _C.content), else_="").label("text"))
    .where(_C.room_id == bindparam("room"), _C.sent_at > bindparam("until"), THERE)
    .where(_C.sender_id != bindparam("person"))
    .order_by(_C.sent_at)
    .limit(MOST)
)


@dataclass(frozen=True, slots=True)
class Unread(View):
    """A room in which something is new. count: messages of others, at most 100. mentions: those of
    them that name the reader. until: how far they have read."""

    room_id: str
    count: int
    mentions: int
    until: datetime


@dataclass(frozen=True, slots=True)
class ReadMarks:
    """Keeps them, for people with an account."""

    store: Store
    bus: EventBus
    clock: Callable[[], datetime]

    async def unread(self, person: Speaker, rooms: Collection[str]) -> list[Unread]:
        """What is new to somebody in these rooms. All is, that was said since they have an account
        and was not read."""
        named = mention_of(person.name)

        def work(connection: Connection) -> list[Unread]:
            since = connection.execute(_SINCE, {"person": person.id}).scalar()
            if since is None:
                return []
            read = {
                row.room_id: row.until for row in connection.execute(_UNTIL, {"person": person.id})
            }
            untils = {room: read.get(room, since) for room in rooms}
            return list(_unread(connection, person.id, named, untils))

        return await self.store.read(work)

    async def read(self, person: Speaker, room_id: str, until: datetime) -> None:
        """Somebody has read a room up to a time, which never goes back."""
        row = {"person_id": person.id, "room_id": room_id}
        at = min(until, self.clock())
        new = insert_of(self.store)(page_reads).values(**row, until=micros(at))
        put = new.on_conflict_do_update(
            index_elements=list(row),
            set_={"until": new.excluded.until},
            where=page_reads.c.until < new.excluded.until,
        )
        if await self.store.write(lambda connection: connection.execute(put).rowcount):
            self.bus.publish(ReadUntil(room_id, person.id, at))


def _unread(
    connection: Connection, person: str, named: re.Pattern[str], untils: dict[str, int]
) -> Iterable[Unread]:
    for room, until in untils.items():
        where = {"room": room, "until": until, "person": person}
        texts = connection.execute(_NEW, where).scalars().all()
        if texts:
            yield Unread(room, len(texts), sum(map(bool, map(named.search, texts))), moment(until))


def mention_of(name: str) -> re.Pattern[str]:
    """Finds `@name` in a text, as a word of its own."""
    return re.compile(rf"(?<![\w@])@{re.escape(name)}(?!\w)", re.IGNORECASE)
