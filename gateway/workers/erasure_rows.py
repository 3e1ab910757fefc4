"""Rows of erasures that the broker and workers have still to carry out.

They hold nothing that says whose scope it was: a digest of it names the scope's folder everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, tuple_

from contract.values import dataclass
from gateway.sessions.sessions import digest
from store.gateway_schema import worker_erasures
from store.timestamps import micros

BROKER = ""  # the place of the records between two workers
_E = worker_erasures.c


@dataclass(frozen=True, slots=True)
class Erasure:
    """A scope that is to go from a place. whole: with its working directories; else only what
    programs recorded in their HOMEs. at: when it was erased, in microseconds."""

    place: str
    scope_digest: str
    whole: bool
    at: int


def note(
    connection: Connection,
    places: Sequence[str],
    scopes: Iterable[str],
    now: datetime,
    *,
    whole: bool,
) -> None:
    """Let these scopes go from each of the places. What was noted before and is more, stays."""
    digests = sorted({digest(scope) for scope in scopes})
    known = {(row.place, row.scope_digest): row.whole for row in pending(connection)}
    values = [
        {
            "place": place,
            "scope_digest": one,
            "whole": whole or known.get((place, one), False),
            "at": micros(now),
        }
        for place in places
        for one in digests
    ]
    if values:
        of_them = _E.place.in_(places) & _E.scope_digest.in_(digests)
        connection.execute(delete(worker_erasures).where(of_them))
        connection.execute(insert(worker_erasures), values)


def pending(connection: Connection) -> list[Erasure]:
    """All that is still to be deleted."""
    rows = connection.execute(select(worker_erasures))
    return [Erasure(row.place, row.scope_digest, row.whole, row.at) for row in rows]


def done(connection: Connection, gone: Iterable[Erasure]) -> None:
    """These are gone; one that was noted again meanwhile is not."""
    keys = [(one.place, one.scope_digest, one.at) for one in gone]
    at = tuple_(_E.place, _E.scope_digest, _E.at)
    connection.execute(delete(worker_erasures).where(at.in_(keys)))
