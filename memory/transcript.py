"""Every message, verbatim: written once, edited with its original kept, read by scope."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, and_, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from contract import Attachment, Deleted, Edited, Inbound, Line, Room, Speaker
from memory.schema import messages, rooms
from memory.store import Store


def micros(at: datetime) -> int:
    """Microseconds since 1970, UTC."""
    return round(at.timestamp() * 1_000_000)


def moment(at: int) -> datetime:
    """The inverse of `micros`."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as it lies on disk. seq orders all messages by their arrival."""

    seq: int
    room_id: str
    message_id: str
    scope: str
    thread_id: str | None
    reply_to: str | None
    by: Speaker
    persona: str | None
    turn_id: str | None
    hop: int
    content: str
    original: str | None
    sent_at: datetime
    edited_at: datetime | None
    deleted: bool
    attachments: tuple[Attachment, ...]
    meta: dict[str, Any]

    def line(self) -> Line:
        """The message as the composer is given it."""
        return Line(str(self.seq), self.by, self.content, self.sent_at, self.attachments)


_COLUMNS = [column for column in messages.c if column.name not in ("received_at",)]


def _stored(row: Row[Any]) -> Stored:
    attachments = row.attachments
    return Stored(
        seq=row.seq,
        room_id=row.room_id,
        message_id=row.message_id,
        scope=row.scope,
        thread_id=row.thread_id,
        reply_to=row.reply_to,
        by=Speaker(row.sender_id, row.sender_name, row.sender_type, row.mention),
        persona=row.persona,
        turn_id=row.turn_id,
        hop=row.hop,
        content=row.content,
        original=row.original,
        sent_at=moment(row.sent_at),
        edited_at=None if row.edited_at is None else moment(row.edited_at),
        deleted=row.deleted_at is not None,
        attachments=tuple(Attachment(**item) for item in attachments),
        meta=row.meta,
    )


class Transcript:
    """The messages of all rooms. Methods that take a connection run inside a `Store.write`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._insert = postgresql.insert if store.dialect == "postgresql" else sqlite.insert
        self._known_rooms: dict[str, Room] = {}

    async def keep_room(self, connection: AsyncConnection, room: Room, now: datetime) -> None:
        """Store the room, or its new name, kind and project."""
        if self._known_rooms.get(room.id) == room:
            return
        values = {"name": room.name, "kind": room.kind, "project": room.project}
        statement = self._insert(rooms).values(id=room.id, created_at=micros(now), **values)
        await connection.execute(
            statement.on_conflict_do_update(index_elements=["id"], set_=values)
        )

    def committed(self, room: Room) -> None:
        """Tell that a room's row is on disk as it is, so that it need not be written again."""
        self._known_rooms[room.id] = room

    async def add(
        self, connection: AsyncConnection, inbound: Inbound, scope: str, hop: int, now: datetime
    ) -> tuple[int, bool]:
        """Store a message; return its seq and whether it is new (False: delivered before)."""
        await self.keep_room(connection, inbound.room, now)
        meta = inbound.meta
        statement = (
            self._insert(messages)
            .values(
                room_id=inbound.room.id,
                message_id=inbound.message_id,
                scope=scope,
                thread_id=inbound.thread_id,
                reply_to=inbound.reply_to,
                sender_id=meta.sender_id,
                sender_name=meta.sender_display_name,
                sender_type=meta.sender_type,
                mention=meta.speaker().mention,
                hop=hop,
                content=inbound.content,
                sent_at=micros(inbound.sent_at),
                received_at=micros(now),
                include_in_memory=meta.include_in_memory,
                meta=json.loads(meta.model_dump_json()),
                attachments=[asdict(item) for item in inbound.attachments],
            )
            .on_conflict_do_nothing(index_elements=["room_id", "message_id"])
            .returning(messages.c.seq)
        )
        seq = (await connection.execute(statement)).scalar()
        if seq is not None:
            return seq, True
        found = select(messages.c.seq).where(
            messages.c.room_id == inbound.room.id, messages.c.message_id == inbound.message_id
        )
        return (await connection.execute(found)).scalar_one(), False

    async def add_answer(
        self,
        connection: AsyncConnection,
        *,
        room_id: str,
        message_id: str,
        scope: str,
        thread_id: str | None,
        by: Speaker,
        persona: str,
        turn_id: str,
        hop: int,
        text: str,
        now: datetime,
    ) -> int | None:
        """Store what one of our own personas said; None when it is stored already."""
        statement = (
            self._insert(messages)
            .values(
                room_id=room_id,
                message_id=message_id,
                scope=scope,
                thread_id=thread_id,
                sender_id=by.id,
                sender_name=by.name,
                sender_type="bot",
                persona=persona,
                turn_id=turn_id,
                hop=hop,
                content=text,
                sent_at=micros(now),
                received_at=micros(now),
                include_in_memory=True,
                meta={},
                attachments=[],
            )
            .on_conflict_do_nothing(index_elements=["room_id", "message_id"])
            .returning(messages.c.seq)
        )
        seq: int | None = (await connection.execute(statement)).scalar()
        return seq

    async def edit(self, edited: Edited) -> Stored | None:
        """Replace a message's text and keep the first one; None when nothing changed."""

        async def work(connection: AsyncConnection) -> Stored | None:
            row = await self._find(connection, edited.room.id, edited.message_id)
            if row is None or row.content == edited.content:
                return None
            await connection.execute(
                update(messages)
                .where(messages.c.seq == row.seq)
                .values(
                    content=edited.content,
                    original=row.content if row.original is None else row.original,
                    edited_at=micros(edited.edited_at),
                )
            )
            return await self._find(connection, edited.room.id, edited.message_id)

        return await self._store.write(work)

    async def delete(self, deleted: Deleted, now: datetime) -> Stored | None:
        """Mark a message as deleted; its text is shown to nobody any more."""

        async def work(connection: AsyncConnection) -> Stored | None:
            row = await self._find(connection, deleted.room.id, deleted.message_id)
            if row is None or row.deleted:
                return None
            await connection.execute(
                update(messages).where(messages.c.seq == row.seq).values(deleted_at=micros(now))
            )
            return row

        return await self._store.write(work)

    async def _find(
        self, connection: AsyncConnection, room_id: str, message_id: str
    ) -> Stored | None:
        query = select(*_COLUMNS).where(
            messages.c.room_id == room_id, messages.c.message_id == message_id
        )
        row = (await connection.execute(query)).first()
        return None if row is None else _stored(row)

    async def window(self, scope: str, *, size: int, after: int, trigger: int) -> list[Stored]:
        """The newest `size` messages of a scope with seq > after, and the trigger; oldest first.

        Deleted messages are left out, the trigger included: it may have been deleted meanwhile.
        """
        newest = (
            select(messages.c.seq)
            .where(messages.c.scope == scope, messages.c.seq > after)
            .where(messages.c.deleted_at.is_(None))
            .order_by(messages.c.seq.desc())
            .limit(size)
        )
        query = (
            select(*_COLUMNS)
            .where(
                or_(
                    messages.c.seq.in_(newest.scalar_subquery()),
                    and_(messages.c.seq == trigger, messages.c.deleted_at.is_(None)),
                )
            )
            .order_by(messages.c.seq)
        )
        async with self._store.read() as connection:
            return [_stored(row) for row in await connection.execute(query)]

    async def thread(self, room_id: str, scope: str, thread_id: str, before: int) -> list[Stored]:
        """The newest 15 earlier messages of a thread within the scope, its root included."""
        query = (
            select(*_COLUMNS)
            .where(messages.c.room_id == room_id, messages.c.scope == scope)
            .where(messages.c.seq < before, messages.c.deleted_at.is_(None))
            .where(or_(messages.c.thread_id == thread_id, messages.c.message_id == thread_id))
            .order_by(messages.c.seq.desc())
            .limit(15)
        )
        async with self._store.read() as connection:
            rows = [_stored(row) for row in await connection.execute(query)]
        return rows[::-1]

    async def get(self, seq: int) -> Stored | None:
        """One message by its seq."""
        async with self._store.read() as connection:
            row = (await connection.execute(select(*_COLUMNS).where(messages.c.seq == seq))).first()
        return None if row is None else _stored(row)

    async def page(self, room_id: str, before: str | None, limit: int) -> list[Stored]:
        """The newest `limit` messages of a room before message `before`, oldest first."""
        query = select(*_COLUMNS).where(
            messages.c.room_id == room_id, messages.c.deleted_at.is_(None)
        )
        if before is not None:
            at = select(messages.c.seq).where(
                messages.c.room_id == room_id, messages.c.message_id == before
            )
            query = query.where(messages.c.seq < at.scalar_subquery())
        query = query.order_by(messages.c.seq.desc()).limit(limit)
        async with self._store.read() as connection:
            rows = [_stored(row) for row in await connection.execute(query)]
        return rows[::-1]

    async def room(self, room_id: str) -> Room | None:
        """One room."""
        async with self._store.read() as connection:
            row = (await connection.execute(select(rooms).where(rooms.c.id == room_id))).first()
        return None if row is None else Room(row.id, row.name, row.kind, row.project)

    async def open_room(self, room: Room, now: datetime) -> None:
        """Store a room in which nothing was said yet."""
        await self._store.write(lambda connection: self.keep_room(connection, room, now))

    async def rooms(self) -> list[tuple[Room, datetime | None]]:
        """Every room with the time of its newest message, the latest first."""
        newest = func.max(messages.c.sent_at).label("newest")
        query = (
            select(rooms, newest)
            .outerjoin(messages, messages.c.room_id == rooms.c.id)
            .group_by(rooms.c.id, rooms.c.name, rooms.c.kind, rooms.c.project, rooms.c.created_at)
            .order_by(func.coalesce(newest, rooms.c.created_at).desc(), rooms.c.id)
        )
        async with self._store.read() as connection:
            return [
                (
                    Room(row.id, row.name, row.kind, row.project),
                    None if row.newest is None else moment(row.newest),
                )
                for row in await connection.execute(query)
            ]

    async def people(self) -> list[Speaker]:
        """The humans who have spoken, the latest first, by their newest name."""
        latest = (
            select(func.max(messages.c.seq))
            .where(messages.c.sender_type == "human")
            .group_by(messages.c.sender_id)
        )
        query = (
            select(messages.c.sender_id, messages.c.sender_name, messages.c.mention)
            .where(messages.c.seq.in_(latest))
            .order_by(messages.c.seq.desc())
            .limit(1000)
        )
        async with self._store.read() as connection:
            rows = await connection.execute(query)
            return [Speaker(row.sender_id, row.sender_name, "human", row.mention) for row in rows]
