"""The numbers of a server's commits: one whose outcome nobody knows is made again under its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam, func, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase

from store.gateway_schema import commits, house
from store.leading import LeadLost
from store.writer import CommittedBefore

_ID, _AT, _EPOCH = (
    bindparam("commit_id", type_=commits.c.id.type),
    bindparam("commit_at", type_=commits.c.at.type),
    bindparam("commit_epoch", type_=house.c.epoch.type),
)
_LEADS = select(func.count()).select_from(house).where(house.c.epoch == _EPOCH)
_NEW = insert(commits).from_select(["id", "at"], select(_ID, _AT))
# where another one leads it divides by nothing, and with it fails what it is written with
_NEW_LEADING = insert(commits).from_select(
    ["id", "at"], select(_ID, _AT.op("/", return_type=BigInteger())(_LEADS.scalar_subquery()))
)
_THERE = select(commits.c.id).where(commits.c.id == _ID)
_REFUSED = {"23505", "22012"}  # the number is there; a division by zero
_WAITS = "commit"

Given = Mapping[str, Any]


@contextmanager
def numbered(
    connection: Connection, number: str, epoch: int | None, *, again: bool = False
) -> Iterator[None]:
    """The block is a transaction that is on disk once: its number is written with the first thing
    that it writes, in one statement. epoch: in which alone it may be; None: in any. again: it may
    be on disk, and nothing in the block runs before that is known.

    Raises CommittedBefore, LeadLost.
    """
    given = {_ID.key: number, _AT.key: time.time_ns() // 1000}
    info = connection.info  # also once the connection is lost
    info[_WAITS] = given if epoch is None else given | {_EPOCH.key: epoch}
    try:
        if again:  # what reads first would find what it wrote itself
            _write_alone(connection)
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) in _REFUSED:
            connection.rollback()
            if connection.execute(_THERE, given).scalar() is not None:
                raise CommittedBefore(number) from None
            if epoch is not None and not connection.execute(_LEADS, {_EPOCH.key: epoch}).scalar():
                raise LeadLost from None
        raise
    finally:
        info.pop(_WAITS, None)


def with_number(
    connection: Connection, statement: Any, many: Sequence[Given], given: Given, _options: Given
) -> tuple[Any, Sequence[Given], Given]:
    """For an engine's `before_execute`: a statement that writes first takes the number along."""
    waits = connection.info.get(_WAITS)
    if waits is None or getattr(statement, "is_select", False):
        return statement, many, given
    if many or not isinstance(statement, UpdateBase):
        _write_alone(connection)
        return statement, many, given
    del connection.info[_WAITS]
    return _together(statement, _new(waits)), (), {**given, **waits}


def _write_alone(connection: Connection) -> None:
    """Write the number that waits; a transaction that has the same is waited for."""
    waits = connection.info.pop(_WAITS)
    connection.execute(_new(waits), waits)


def _new(waits: Given) -> Any:
    return _NEW_LEADING if _EPOCH.key in waits else _NEW


@lru_cache(64)  # of the statements that there are
def _together(statement: Any, new: Any) -> Any:
    return statement.add_cte(new.cte("number"))
