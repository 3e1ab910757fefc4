"""Episodes as they lie on disk, and how far they have read each scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, Row, bindparam, insert, select, update

from memory.schema import episodes, pointers, tool_uses
from memory.store import Store
from memory.transcript import insert_of

LAYER = "episodes"

_Said = Annotated[str, Field(max_length=2_000)]
_Files = Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=100)]


class SessionRecord(BaseModel):
    """What a session was about. Fields that nothing is known of are empty."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    request: _Said
    """What was wanted."""
    investigated: _Said
    """What was looked into."""
    learned: _Said
    """What was found out."""
    completed: _Said
    """What was done."""
    next_steps: _Said
    """What is left to do."""
    files_read: _Files
    """Paths, as they were written in the conversation."""
    files_edited: _Files
    """Likewise."""
    notes: _Said
    """What else somebody who goes on needs to know."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A summary. first_seq, last_seq: the messages that it took in; those before are in it by the
    summary before it. persona: whose session the record is of. plain: made without a model.
    at: microseconds."""

    seq: int
    scope: str
    first_seq: int
    last_seq: int
    text: str
    record: SessionRecord | None
    persona: str | None
    plain: bool
    at: int


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """A summary to be stored. Fields as in Episode."""

    scope: str
    first_seq: int
    last_seq: int
    text: str
    plain: bool
    at: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a scope was read. after: seq of the last message looked at. failures: in a row;
    tried_at: microseconds, of the last of them."""

    after: int
    newest: Episode | None
    failures: int = 0
    tried_at: int = 0


_E, _P, _U = episodes.c, pointers.c, tool_uses.c
_NEWEST = select(episodes).where(_E.scope == bindparam("scope")).order_by(_E.seq.desc()).limit(1)
_LAST = select(_E.last_seq).where(_E.scope == bindparam("scope")).order_by(_E.seq.desc()).limit(1)
_POINTER = select(_P.seq, _P.failures, _P.tried_at).where(
    _P.layer == LAYER, _P.scope == bindparam("scope")
)
_RECORDED = (
    select(_E.last_seq)
    .where(_E.scope == bindparam("scope"), _E.persona == bindparam("persona"))
    .order_by(_E.seq.desc())
    .limit(1)
)
_ADD = insert(episodes)
_RECORD = (
    update(episodes)
    .where(_E.seq == bindparam("of"))
    .values(record=bindparam("found"), persona=bindparam("whose"))
)
_USES = select(_U.tool, _U.given).where(
    _U.scope == bindparam("scope"), _U.persona == bindparam("persona")
)


def _episode(row: Row[Any]) -> Episode:
    record = None if row.record is None else SessionRecord.model_validate(row.record)
    values = {**row._mapping, "record": record}
    return Episode(**values)


def newest_episode(connection: Connection, scope: str) -> Episode | None:
    """The newest summary of a scope."""
    row = connection.execute(_NEWEST, {"scope": scope}).first()
    return None if row is None else _episode(row)


def covered(connection: Connection, scope: str) -> int:
    """The last message that the newest summary of a scope took in; 0: there is none."""
    return connection.execute(_LAST, {"scope": scope}).scalar() or 0


def progress(connection: Connection, scope: str) -> Progress:
    """How far a scope was read. What was forgotten since is not read again."""
    newest = newest_episode(connection, scope)
    row = connection.execute(_POINTER, {"scope": scope}).first()
    last = newest.last_seq if newest is not None else 0
    if row is None:
        return Progress(last, newest)
    return Progress(max(row.seq, last), newest, row.failures, row.tried_at or 0)


def recorded(connection: Connection, scope: str, persona: str) -> int:
    """The last message that a record of the persona's sessions knows of; 0: there is none."""
    where = {"scope": scope, "persona": persona}
    return connection.execute(_RECORDED, where).scalar() or 0


def unread_uses(connection: Connection, scope: str, persona: str) -> Sequence[tuple[str, str]]:
    """Tool and what it was given, of the uses that no observer has read yet."""
    where = {"scope": scope, "persona": persona}
    return [(row.tool, row.given) for row in connection.execute(_USES, where)]


class Pages:
    """Writes episodes. Methods run inside a `Store.write`."""

    def __init__(self, store: Store) -> None:
        new = insert_of(store)(pointers)
        names = ("seq", "tried_at", "failures")
        self._point = new.on_conflict_do_update(
            index_elements=["layer", "scope"], set_={name: new.excluded[name] for name in names}
        )

    def add(self, connection: Connection, after: int, new: NewEpisode) -> bool:
        """Store a summary and move on; False when somebody else did meanwhile."""
        if not self.move(connection, new.scope, after, new.last_seq):
            return False
        connection.execute(_ADD, asdict(new))
        return True

    def move(self, connection: Connection, scope: str, after: int, to: int) -> bool:
        """Count what was looked at as read, if it was read up to `after` until now."""
        if progress(connection, scope).after != after:
            return False
        self._set(connection, scope, to, 0, None)
        return True

    def fail(self, connection: Connection, scope: str, now: int) -> None:
        """Count a failure, and nothing else."""
        known = progress(connection, scope)
        self._set(connection, scope, known.after, known.failures + 1, now)

    def _set(
        self, connection: Connection, scope: str, seq: int, failures: int, tried_at: int | None
    ) -> None:
        row = {"layer": LAYER, "scope": scope, "seq": seq}
        connection.execute(self._point, row | {"failures": failures, "tried_at": tried_at})

    def record(
        self, connection: Connection, scope: str, persona: str, record: SessionRecord, now: int
    ) -> None:
        """Put a session's record beside the newest summary; beside a repetition of it, when
        another session's record stands there."""
        newest = newest_episode(connection, scope)
        if newest is None:
            return
        found = record.model_dump(mode="json")
        if newest.record is None:
            connection.execute(_RECORD, {"of": newest.seq, "found": found, "whose": persona})
            return
        again = NewEpisode(scope, newest.first_seq, newest.last_seq, newest.text, newest.plain, now)
        connection.execute(_ADD, {**asdict(again), "record": found, "persona": persona})
