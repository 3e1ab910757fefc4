"""The numbers of a server's commits: one whose outcome nobody knows is made again under its own."""

from __future__ import annotations

import time

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects.postgresql import insert

from store.gateway_schema import commits, house
from store.leading import LeadLost
from store.writer import CommittedBefore

_NEW = insert(commits).on_conflict_do_nothing()  # waits for a transaction that has the same
_BEGIN = _NEW.values(id=bindparam("id"), at=bindparam("now")).returning(commits.c.id)
_BEGIN_LEADING = _NEW.from_select(
    ["id", "at"],
    select(
        bindparam("id", type_=commits.c.id.type), bindparam("now", type_=commits.c.at.type)
    ).where(house.c.epoch == bindparam("epoch")),
).returning(commits.c.id)
_THERE = select(commits.c.id).where(commits.c.id == bindparam("id"))


def begin_commit(connection: Connection, number: str, epoch: int | None) -> None:
    """Begin a transaction that is on disk once. epoch: in which alone it may be; None: in any.

    Raises CommittedBefore, LeadLost.
    """
    given = {"id": number, "now": time.time_ns() // 1000}
    if epoch is None:
        begun = connection.execute(_BEGIN, given).scalar()
    else:
        begun = connection.execute(_BEGIN_LEADING, given | {"epoch": epoch}).scalar()
    if begun is not None:
        return
    if connection.execute(_THERE, {"id": number}).scalar() is None:
        raise LeadLost
    raise CommittedBefore(number)
