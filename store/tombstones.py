"""Tombstones: people whose messages were deleted, and up to when what they said stays so.

A platform tells its newest messages again after a reconnect or a start. Nothing readable of a
person is kept: the salted hash of the sender id, and a time.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, select

from contract.chat import Attachment
from store.database import Store
from store.schema import messages, tombstones
from store.timestamps import micros

FAST = timedelta(minutes=5)  # so far a platform's clock may be ahead of this machine's


class Tombstones:
    """Those that lie in the store. until: by hash, in microseconds; empty where nobody was
    deleted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._salt = ""
        self.until: dict[str, int] = {}

    async def load(self) -> None:
        """Read them. People are deleted while no gateway runs: once is enough."""
        rows = await self._store.read(lambda c: c.execute(select(tombstones)).all())
        self.until = {row.who: row.until for row in rows}
        self._salt = rows[0].salt if rows else ""

    def cover(self, sender_id: str, sent_at: datetime) -> bool:
        """True if a message is one of those that were deleted, or older."""
        return micros(sent_at) <= self.until.get(_hash(sender_id, self._salt), 0)

    async def drop_files(self, attachments: Sequence[Attachment]) -> None:
        """Delete the files that came with such a message, but for those beside another one."""
        paths = {one.path for one in attachments if one.path}
        if paths:
            query = select(messages.c.attachments)
            kept = await self._store.read(lambda c: c.execute(query).scalars().all())
            paths -= {item.get("path") for items in kept for item in items}
        for path in paths:
            await asyncio.to_thread(Path(path).unlink, missing_ok=True)


def bury(connection: Connection, ids: Iterable[str], now: datetime) -> None:
    """Let nothing come back that these sender ids said until now, by their platform's clock or by
    this machine's. Before the messages go."""
    people = sorted(ids)
    newest = select(func.max(messages.c.sent_at)).where(messages.c.sender_id.in_(people))
    last = min(connection.execute(newest).scalar() or 0, micros(now + FAST))
    salt = connection.execute(select(tombstones.c.salt).limit(1)).scalar() or secrets.token_hex(16)
    until = max(last, micros(now))
    rows = [{"who": _hash(one, salt), "salt": salt, "until": until} for one in people]
    connection.execute(delete(tombstones).where(tombstones.c.who.in_([r["who"] for r in rows])))
    connection.execute(insert(tombstones), rows)


def _hash(sender_id: str, salt: str) -> str:
    return blake2b(sender_id.encode(), key=salt.encode(), digest_size=16).hexdigest()
