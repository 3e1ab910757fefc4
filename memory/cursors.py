"""The place up to which a layer has read a scope, and how often it failed to read on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from contract.values import dataclass
from store.rows import from_row
from store.schema import messages, pointers
from store.timestamps import micros
from store.together import run

FIRST_WAIT = timedelta(minutes=1)  # after a failure; doubles with every further one
LONGEST_WAIT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ReadCursor:
    """seq: of the last message read, 0 before the first. failures: in a row since then."""

    seq: int = 0
    failures: int = 0
    tried_at: datetime | None = None

    def waits(self, now: datetime) -> bool:
        """True while it is too early to try again."""
        if not self.failures or self.tried_at is None:
            return False
        doubled: int = 2 ** min(self.failures - 1, 10)
        return now < self.tried_at + min(FIRST_WAIT * doubled, LONGEST_WAIT)


_P = pointers.c
_READ = select(_P.seq, _P.failures, _P.tried_at).where(
    _P.layer == bindparam("layer"), _P.scope == bindparam("scope")
)
UNREAD = messages.c.seq > func.coalesce(_READ.with_only_columns(_P.seq).scalar_subquery(), 0)
"""A condition on messages: behind the place of the layer and the scope that are given."""
_MOVE = (
    update(pointers)
    .where(_P.layer == bindparam("of"), _P.scope == bindparam("within"))
    .returning(_P.seq)
)
_BEGIN = insert(pointers)


def read_cursor(connection: Connection, layer: str, scope: str) -> ReadCursor:
    """The place of a layer."""
    found = run(connection, _READ, {"layer": layer, "scope": scope})
    return from_row(ReadCursor, found[0]) if found else ReadCursor()


def advance(connection: Connection, layer: str, scope: str, seq: int, now: datetime) -> None:
    """The layer has read up to `seq`."""
    _write(connection, layer, scope, {"seq": seq, "failures": 0, "tried_at": micros(now)})


def failed(connection: Connection, layer: str, scope: str, now: datetime) -> None:
    """The layer could not read on: the pointer stays."""
    before = read_cursor(connection, layer, scope)
    values = {"seq": before.seq, "failures": before.failures + 1, "tried_at": micros(now)}
    _write(connection, layer, scope, values)


def _write(connection: Connection, layer: str, scope: str, values: dict[str, Any]) -> None:
    if not run(connection, _MOVE, {"of": layer, "within": scope, **values}):
        run(connection, _BEGIN, {"layer": layer, "scope": scope, **values})
