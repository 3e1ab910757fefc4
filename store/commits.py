"""The numbers of a server's commits: one whose outcome nobody knows is made again under its own."""

from __future__ import annotations

import time

from sqlalchemy import Connection, bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from store.gateway_schema import commits
from store.writer import CommittedBefore

KEPT_S = 3600  # longer than a gateway waits for a database

_BEGIN = (
    insert(commits)
    .values(id=bindparam("id"), at=bindparam("now"))
    .on_conflict_do_nothing()  # it waits for the end of a transaction that has the same
    .returning(commits.c.id)
)
_FORGET = delete(commits).where(commits.c.at < bindparam("before"))


def begin_commit(connection: Connection, number: str) -> None:
    """Begin a transaction that is on disk once. Raises CommittedBefore."""
    now = time.time_ns() // 1000
    if connection.execute(_BEGIN, {"id": number, "now": now}).scalar() is None:
        raise CommittedBefore(number)


def forget_commits(connection: Connection) -> None:
    """Delete those that nobody asks for any more."""
    connection.execute(_FORGET, {"before": time.time_ns() // 1000 - KEPT_S * 1_000_000})
