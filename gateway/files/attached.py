"""In which rooms a file was posted, by the folder that holds it alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from sqlalchemy import Connection, Text, cast, func, select

from store.database import Store
from store.schema import messages

_C = messages.c
_AGAIN = 1_000  # of the newest messages: an answer gets its files once it was heard already


class AttachedFiles:
    """Looks through all messages once, for the few that have files, and then through new ones."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._messages: dict[str, set[int]] = defaultdict(set)  # seqs, by the folder's name
        self._newest = 0

    async def rooms(self, folder: str) -> Sequence[str]:
        """Ids of the rooms in which a message has a file of this folder now."""
        await self._look()
        seqs = self._messages.get(folder)
        if not seqs:
            return []
        query = select(_C.room_id, _C.attachments).where(_C.seq.in_(sorted(seqs)))
        rows = await self._store.read(lambda c: c.execute(query).all())
        return sorted({row.room_id for row in rows if folder in _folders(row.attachments)})

    async def _look(self) -> None:
        since = max(self._newest - _AGAIN, 0)
        with_files = cast(_C.attachments, Text) != "[]"
        query = select(_C.seq, _C.attachments).where(_C.seq > since, with_files)

        def work(connection: Connection) -> tuple[int, list[Any]]:
            newest = connection.execute(select(func.max(_C.seq))).scalar() or 0
            return newest, list(connection.execute(query).all())

        newest, rows = await self._store.read(work)
        for row in rows:
            for folder in _folders(row.attachments):
                self._messages[folder].add(row.seq)
        self._newest = max(self._newest, newest)


def _folders(attachments: Iterable[dict[str, Any]]) -> set[str]:
    return {PurePath(one["path"]).parent.name for one in attachments if one.get("path")}
