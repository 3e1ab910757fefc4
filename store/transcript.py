"""Every message, verbatim: written once, edited with its original kept, read by scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from contract.chat import Deleted, Edited, Inbound, Room, Speaker
from contract.private import kind_of_private, may_be_private
from store.database import Store, insert_of
from store.kept import EDIT, KEPT, PRIVATE, kept_values
from store.rows import StoredMessage, messages_of
from store.schema import messages, rooms
from store.timestamps import micros, moment
from store.together import Written, run, running
from store.window import IN_THREAD, MESSAGES, THERE, WINDOW, WITHIN

# Statements are built once: building costs more than running them.
_C = messages.c
_BY_SEQ = MESSAGES.where(_C.seq == bindparam("of"))
_BY_ID = MESSAGES.where(_C.room_id == bindparam("room"), _C.message_id == bindparam("id"))
_SEQ_BY_ID = select(_C.seq).where(_C.room_id == bindparam("room"), _C.message_id == bindparam("id"))
_THREAD = (
    MESSAGES.where(_C.scope == bindparam("scope"), _C.seq < bindparam("before"), THERE, IN_THREAD)
    .order_by(_C.seq.desc())
    .limit(15)
)
_PAGE = (
    MESSAGES.where(_C.room_id == bindparam("room"), THERE)
    .where(_C.seq < bindparam("before"))
    .order_by(_C.seq.desc())
    .limit(bindparam("size"))
)
_ONWARD = (
    MESSAGES.where(_C.room_id == bindparam("room"), THERE)
    .where(_C.seq >= bindparam("start"))
    .order_by(_C.seq)
    .limit(bindparam("size"))
)
_DELETE = update(messages).where(_C.seq == bindparam("of")).values(deleted_at=bindparam("at"))
_LATEST = (  # a look at the end of a room's part of ix_messages_latest
    select(func.max(_C.sent_at)).where(_C.room_id == rooms.c.id).scalar_subquery().label("latest")
)
_ROOMS = select(rooms, _LATEST).order_by(
    func.coalesce(_LATEST, rooms.c.created_at).desc(), rooms.c.id
)
_ROOM = select(rooms).where(rooms.c.id == bindparam("id"))
_PEOPLE = (
    select(_C.sender_id, _C.sender_name, _C.mention)
    .where(
        _C.seq.in_(select(func.max(_C.seq)).where(_C.sender_type == "human").group_by(_C.sender_id))
    )
    .order_by(_C.seq.desc())
    .limit(1000)
)
_SAID_BY = ("sender_id", "sender_name", "sender_type")
_OWN = ("scope", "persona", "turn_id", "hop", "content", "private", *_SAID_BY)
_EMPTY: dict[str, Any] = {
    "reply_to": None,
    "mention": None,
    "persona": None,
    "turn_id": None,
    "meta": {},
    "attachments": [],
}
_FIRST = ("room_id", "message_id", "thread_id", "sent_at", "received_at", "include_in_memory")
_OF_ANSWER = {*_FIRST, *_OWN, *_EMPTY}
LATEST = 2**62  # after every message


class Transcript:
    """The messages of all rooms. Methods that take a connection run inside a `Store.write`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        insert = insert_of(store)
        self._add = (
            insert(messages)
            .values(include_in_memory=KEPT, private=PRIVATE)
            .on_conflict_do_nothing(index_elements=["room_id", "message_id"])
            .returning(_C.seq)
        )
        answer = insert(messages)
        answer = answer.values({name: bindparam(name) for name in sorted(_OF_ANSWER)})
        self._add_answer, self._add_work = (
            answer.on_conflict_do_update(
                index_elements=["room_id", "message_id"],
                set_={name: answer.excluded[name] for name in changed},
            ).returning(_C.seq)
            for changed in (_OWN, (*_OWN, "meta", "attachments"))
        )
        new = insert(rooms)
        self._keep_room = new.on_conflict_do_update(
            index_elements=["id"],
            set_={name: new.excluded[name] for name in ("name", "kind", "project")},
        )
        self.known_rooms: dict[str, Room] = {}  # whose rows are on disk as they are

    def keep_room(self, connection: Connection, room: Room, now: datetime) -> None:
        """Store the room, or its new name, kind and project."""
        run(connection, self._keep_room, {**asdict(room), "created_at": micros(now)})

    def add(
        self, connection: Connection, inbound: Inbound, scope: str, hop: int, now: datetime
    ) -> tuple[int, bool]:
        """Store a message; return its seq and whether it is new (False: delivered before)."""
        if self.known_rooms.get(inbound.room.id) != inbound.room:
            self.keep_room(connection, inbound.room, now)
        meta = inbound.meta
        values = {
            **_EMPTY,
            "room_id": inbound.room.id,
            "message_id": inbound.message_id,
            "scope": scope,
            "thread_id": inbound.thread_id,
            "reply_to": inbound.reply_to,
            "sender_id": meta.sender_id,
            "sender_name": meta.sender_display_name,
            "sender_type": meta.sender_type,
            "mention": meta.speaker().mention,
            "hop": hop,
            "content": inbound.content,
            "sent_at": micros(inbound.sent_at),
            "received_at": micros(now),
            **kept_values(inbound, scope),
            "meta": meta.model_dump(mode="json"),
            "attachments": [asdict(item) for item in inbound.attachments],
        }
        if made := run(connection, self._add, values):
            return made[0].seq, True
        where = {"room": inbound.room.id, "id": inbound.message_id}
        return connection.execute(_SEQ_BY_ID, where).scalar_one(), False

    def is_of(self, connection: Connection, seq: int, scope: str) -> bool:
        """True if a message belongs to a scope."""
        return bool(connection.execute(_BY_SEQ, {"of": seq}).one().scope == scope)

    def answer(
        self,
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
        more: Mapping[str, Any] | None = None,
    ) -> Written:
        """How to store what one of our own personas said; it gives its seq. more: its meta,
        attachments.

        Another of our bots in the room may have heard it before we knew that it was posted.
        """
        values = {
            **_EMPTY,
            "room_id": room_id,
            "message_id": message_id,
            "scope": scope,
            "thread_id": thread_id,
            "sender_id": by.id,
            "sender_name": by.name,
            "sender_type": "bot",
            "persona": persona,
            "turn_id": turn_id,
            "hop": hop,
            "content": text,
            "private": kind_of_private(text) if may_be_private(text) else None,
            **dict.fromkeys(("sent_at", "received_at"), micros(now)),
            "include_in_memory": True,  # what it answers decides
            **(more or {}),
        }
        return self._add_work if more else self._add_answer, values

    def undo(
        self, connection: Connection, turn_id: str, scope: str, asked_seq: int
    ) -> Sequence[int]:
        """Mark what was said in a turn as taken back; it is remembered no more. Returns seqs.

        asked_seq: of the message that asked; what was said stands behind it.
        """
        behind = (_C.scope == scope, _C.seq > asked_seq)
        said = select(_C.seq, _C.meta).where(*behind, _C.turn_id == turn_id)
        marked = connection.execute(said).all()
        for seq, meta in marked:
            mark = {"meta": meta | {"undone": True}, "include_in_memory": False}
            connection.execute(update(messages).where(_C.seq == seq).values(mark))
        return [seq for seq, _ in marked]

    async def edit(self, edited: Edited) -> StoredMessage | None:
        """Replace a message's text and keep the first one; None when nothing changed.

        What our own personas said stays: another of our accounts hears the edits of its draft.
        """

        def work(connection: Connection) -> StoredMessage | None:
            before = _find(connection, edited.room.id, edited.message_id)
            if before is None or before.content == edited.content:
                return None
            if before.persona is not None:  # we know best what we said
                return None
            first = before.content if before.original is None else before.original
            at = micros(edited.edited_at)
            values = {"of": before.seq, "text": edited.content, "first": first, "at": at}
            values["kind"] = kind_of_private(edited.content, first)
            connection.execute(EDIT, values)
            return _find(connection, edited.room.id, edited.message_id)

        return await self._store.write(work)

    async def delete(self, deleted: Deleted, now: datetime) -> StoredMessage | None:
        """Mark a message as deleted; its text is shown to nobody any more."""

        def work(connection: Connection) -> StoredMessage | None:
            before = _find(connection, deleted.room.id, deleted.message_id)
            if before is None or before.deleted:
                return None
            connection.execute(_DELETE, {"of": before.seq, "at": micros(now)})
            return before

        return await self._store.write(work)

    async def window(
        self,
        scope: str,
        *,
        persona: str = "",
        thread: str = "",
        size: int,
        after: int,
        trigger: int,
    ) -> list[StoredMessage]:
        """The newest `size` messages of a scope with seq > after, and the trigger; oldest first.

        Deleted messages are left out, the trigger included: it may have been deleted meanwhile.
        So are those that wait for an answer of their own in the session of `persona` and `thread`:
        they come with their own turn, or an agent would answer them now and again then. What
        another session is at is left out where it stands after the trigger, and might pass for it.
        """
        where: dict[str, Any] = {"scope": scope, "size": size, "after": after, "trigger": trigger}
        where |= {"persona": persona, "session_thread": thread}
        return await self._store.read(partial(messages_of, query=WINDOW, where=where), small=True)

    async def seqs_within(
        self, scope: str, first: int, last: int, persona: str, thread: str
    ) -> Sequence[int]:
        """The seqs of a scope from one to another, without those that wait for their own turn in
        the session of `persona` and `thread`."""
        where = {"scope": scope, "first": first, "last": last, "persona": persona}
        where["session_thread"] = thread
        rows = await self._store.read(running(WITHIN, where), small=True)
        return [row.seq for row in rows]

    async def thread(
        self, room_id: str, scope: str, thread_id: str, before: int
    ) -> list[StoredMessage]:
        """The newest 15 earlier messages of a thread within the scope, its root included."""
        where = {"room": room_id, "scope": scope, "thread": thread_id, "before": before}
        found = await self._store.read(partial(messages_of, query=_THREAD, where=where), small=True)
        return found[::-1]

    async def get(self, seq: int) -> StoredMessage | None:
        """One message by its seq."""
        one = partial(messages_of, query=_BY_SEQ, where={"of": seq})
        found = await self._store.read(one, small=True)
        return found[0] if found else None

    async def find(self, room_id: str, message_id: str) -> StoredMessage | None:
        """One message by the platform's own id."""
        return await self._store.read(lambda connection: _find(connection, room_id, message_id))

    async def page(self, room_id: str, before: str | None, limit: int) -> list[StoredMessage]:
        """The newest `limit` messages of a room before message `before`, oldest first."""

        def work(connection: Connection) -> list[StoredMessage]:
            end: int | None = LATEST
            if before is not None:
                end = connection.execute(_SEQ_BY_ID, {"room": room_id, "id": before}).scalar()
            where = {"room": room_id, "before": end or 0, "size": limit}
            return messages_of(connection, _PAGE, where)[::-1]

        return await self._store.read(work)

    async def onward(self, room_id: str, start: str, limit: int) -> list[StoredMessage]:
        """The oldest `limit` messages of a room from message `start` on, itself included."""

        def work(connection: Connection) -> list[StoredMessage]:
            seq = connection.execute(_SEQ_BY_ID, {"room": room_id, "id": start}).scalar()
            where = {"room": room_id, "start": LATEST if seq is None else seq, "size": limit}
            return messages_of(connection, _ONWARD, where)

        return await self._store.read(work)

    async def room(self, room_id: str) -> Room | None:
        """One room."""
        if room_id in self.known_rooms:
            return self.known_rooms[room_id]

        def work(connection: Connection) -> Room | None:
            row = connection.execute(_ROOM, {"id": room_id}).first()
            return None if row is None else Room(row.id, row.name, row.kind, row.project)

        return await self._store.read(work)

    async def open_room(self, room: Room, now: datetime) -> None:
        """Store a room in which nothing was said yet."""
        await self._store.write(lambda connection: self.keep_room(connection, room, now))

    async def rooms(self) -> list[tuple[Room, datetime | None]]:
        """Every room with the time of its newest message, the latest first."""

        def work(connection: Connection) -> list[tuple[Room, datetime | None]]:
            return [
                (
                    Room(row.id, row.name, row.kind, row.project),
                    None if row.latest is None else moment(row.latest),
                )
                for row in connection.execute(_ROOMS)
            ]

        return await self._store.read(work)

    async def people(self) -> list[Speaker]:
        """The humans who have spoken, the latest first, by their newest name."""

        def work(connection: Connection) -> list[Speaker]:
            return [
                Speaker(row.sender_id, row.sender_name, "human", row.mention)
                for row in connection.execute(_PEOPLE)
            ]

        return await self._store.read(work)


def _find(connection: Connection, room_id: str, message_id: str) -> StoredMessage | None:
    found = messages_of(connection, _BY_ID, {"room": room_id, "id": message_id})
    return found[0] if found else None
