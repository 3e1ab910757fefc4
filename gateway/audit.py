"""The audit log: who let which agent do what. Append-only; a hash chains each row to the last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy import Connection, select

from contract import Room, Speaker
from memory.house_schema import audit
from memory.store import Store
from memory.transcript import micros

Detail = Mapping[str, str | int | bool | None]


class Audit:
    """Writes it. What is noted is on disk when `note` returns."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    async def note(
        self,
        act: str,
        by: Speaker,
        *,
        persona: str | None = None,
        room: Room | None = None,
        turn_id: str | None = None,
        **detail: str | int | bool | None,
    ) -> None:
        """Append a row. act: a word. detail: never a message's body, never a secret."""
        row = {
            "at": micros(self._clock()),
            "act": act,
            "by_id": by.id,
            "by_name": by.name,
            "persona": persona,
            "room_id": room.id if room else None,
            "turn_id": turn_id,
            "detail": detail,
        }
        await self._store.write(lambda connection: _append(connection, row))


def _append(connection: Connection, row: Mapping[str, object]) -> None:
    newest = select(audit.c.hash).order_by(audit.c.seq.desc()).limit(1)
    before = connection.execute(newest).scalar() or ""
    values = {**row, "before": before, "hash": hash_of(row, before)}
    connection.execute(audit.insert().values(values))


def hash_of(row: Mapping[str, object], before: str) -> str:
    """SHA-256, in hex, of the hash before and the row as canonical JSON."""
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
