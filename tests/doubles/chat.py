"""A chat on disk without a gateway: messages are said, and the whole database can be compared."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from contract.chat import Deleted, Edited, Room
from memory.readable import ReadableMessages
from memory.recall.facts import StoredFact, facts_in
from memory.scopes import home_scope
from store.database import Store
from store.rows import StoredMessage
from store.schema import facts, metadata
from store.transcript import Transcript
from tests.doubles.migrated import migrated
from tests.doubles.platform import ROOM, said

Dump = dict[str, list[tuple[Any, ...]]]


@dataclass
class Chat:
    """What was said. now: the time, which a test moves. indexed, gone: what the index was told."""

    store: Store
    now: datetime = datetime(2026, 4, 21, 14, 2, tzinfo=UTC)
    indexed: int = 0
    gone: list[str] = field(default_factory=list)

    @property
    def slices(self) -> ReadableMessages:
        return ReadableMessages(self.store)

    @property
    def transcript(self) -> Transcript:
        return Transcript(self.store)

    def clock(self) -> datetime:
        return self.now

    def later(self, **delta: float) -> None:
        """Let time pass."""
        self.now += timedelta(**delta)

    async def index(self) -> None:
        """New facts are told."""
        self.indexed += 1

    async def unindex(self, ids: Sequence[str]) -> None:
        """Facts that are gone are told."""
        self.gone += ids

    async def say(self, text: str, by: str = "ash", room: Room = ROOM, **more: Any) -> int:
        """Store a message; return its seq."""
        inbound = said(text, by=by, room=room, **more)
        scope = home_scope(room, inbound.meta.sender_id, "demo")

        def work(connection: Connection) -> int:
            return self.transcript.add(connection, inbound, scope, 0, self.now)[0]

        return await self.store.write(work)

    async def edit(self, seq: int, text: str) -> StoredMessage:
        """Change a message."""
        stored = await self.transcript.get(seq)
        assert stored is not None
        room = Room(stored.room_id, "")
        edited = await self.transcript.edit(Edited(room, stored.message_id, text, self.now))
        assert edited is not None
        return edited

    async def delete(self, seq: int) -> StoredMessage:
        """Delete a message."""
        stored = await self.transcript.get(seq)
        assert stored is not None
        event = Deleted(Room(stored.room_id, ""), stored.message_id)
        deleted = await self.transcript.delete(event, self.now)
        assert deleted is not None
        return deleted

    async def facts(self, scope: str | None = None) -> list[StoredFact]:
        """What is known, in one scope or anywhere."""

        def work(connection: Connection) -> list[StoredFact]:
            scopes = [scope] if scope else connection.execute(select(facts.c.scope)).scalars()
            return facts_in(connection, set(scopes))

        return await self.store.read(work)

    async def dump(self, *but: str) -> Dump:
        """Every row of every table, but those of some tables."""
        await self.store.write(lambda _: None)  # what was to be written later is there now

        def work(connection: Connection) -> Dump:
            return {
                table.name: [tuple(row) for row in connection.execute(select(table))]
                for table in metadata.sorted_tables
                if table.name not in but
            }

        return await self.store.read(work)


@asynccontextmanager
async def open_chat(tmp_path: Path) -> AsyncIterator[Chat]:
    """A chat in which nothing was said."""
    async with Store.open(await migrated(tmp_path / "moot.db")) as store:
        yield Chat(store)
