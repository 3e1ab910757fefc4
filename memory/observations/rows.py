"""Observations of what agents did, and the subjects of their sessions, as they lie on disk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, insert, select, update

from contract.values import dataclass
from memory.observations.records import NewObservation, SessionOutline
from memory.scopes import check_scope
from store.database import Store, insert_of
from store.rows import from_row
from store.schema import agent_sessions, observations, tool_uses
from store.timestamps import micros

NO_PROJECT = "none"
SLUG_CHARS = 32
CHARS_A_TOKEN = 4  # as everywhere, where no tokenizer is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObservation(NewObservation):
    """An observation as it lies on disk. session_id: key of the agent's session, see `session_key`;
    turn_id: of the turn that it was made from."""

    seq: int
    id: str
    scope: str
    persona: str
    session_id: str
    turn_id: str | None
    at: datetime

    @property
    def tokens(self) -> int:
        """About what it costs to read it whole."""
        texts = (self.title, self.subtitle, self.narrative, *self.facts, *self.concepts)
        return sum(map(len, (*texts, *self.files))) // CHARS_A_TOKEN + 1


@dataclass(frozen=True, slots=True)
class AgentSession:
    """The row of an agent's session. id: its key, see `session_key`."""

    id: str
    scope: str
    persona: str
    project: str
    title: str | None
    subtitle: str | None
    overview: str | None
    started_at: datetime
    ended_at: datetime | None


def session_key(persona: str, scope: str, session_id: str) -> str:
    """The key of a session: agents choose their ids themselves, so those may be the same."""
    return hashlib.sha256("\0".join((persona, scope, session_id)).encode()).hexdigest()[:16]


def slug(name: str) -> str:
    """A name as a part of an id: lower case, digits, hyphens; "none" when nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:SLUG_CHARS].strip("-") or NO_PROJECT


# Functions of a connection: they run inside Store.read or Store.write.

_O, _S = observations.c, agent_sessions.c
_ALL = select(observations)
_NEXT = (
    update(agent_sessions)
    .where(_S.id == bindparam("key"))
    .values(last_number=_S.last_number + 1)
    .returning(_S.last_number, _S.project)
)
_BY_KEY = select(agent_sessions).where(_S.id == bindparam("key"))
_TAKEN = select(_O.seq).where(_O.id == bindparam("id"))


def open_session(
    store: Store,
    connection: Connection,
    *,
    scope: str,
    persona: str,
    session_id: str,
    project: str,
    at: datetime,
) -> AgentSession:
    """The row of an agent's session, made if there is none yet."""
    key = session_key(persona, scope, session_id)
    new = insert_of(store)(agent_sessions).on_conflict_do_nothing(index_elements=["id"])
    values = {"id": key, "scope": check_scope(scope), "persona": persona, "last_number": 0}
    connection.execute(new, {**values, "project": slug(project), "started_at": micros(at)})
    return _session(connection.execute(_BY_KEY, {"key": key}).one())


def find_session(connection: Connection, key: str) -> AgentSession | None:
    """A session by its key."""
    row = connection.execute(_BY_KEY, {"key": key}).first()
    return None if row is None else _session(row)


def tell_session(connection: Connection, key: str, record: SessionOutline, **more: object) -> None:
    """Write down what a session is about; what is known already stays unless it is said again."""
    told = {"title": record.title, "subtitle": record.subtitle, "overview": record.overview}
    values = {name: text for name, text in told.items() if text} | more
    if values:
        connection.execute(update(agent_sessions).where(_S.id == key).values(**values))


def end_session(connection: Connection, key: str, overview: str, at: datetime) -> None:
    """Write down that a session ended, and what came of it."""
    values = {"overview": overview, "ended_at": micros(at)}
    connection.execute(update(agent_sessions).where(_S.id == key).values(**values))


def blank_sessions(connection: Connection, scope: str | None = None) -> None:
    """Take every word from the sessions of a scope, or of all. The rows stay: they count the
    numbers, which are never given twice."""
    blank = update(agent_sessions).values(title=None, subtitle=None, overview=None)
    connection.execute(blank if scope is None else blank.where(_S.scope == scope))


def add_observation(
    connection: Connection, key: str, record: NewObservation, *, turn_id: str | None, at: datetime
) -> str:
    """Store an observation of a session that is open; return the id that it got.

    Numbers go up from 001 a session and are never given twice, whatever was deleted.
    """
    session = connection.execute(_BY_KEY, {"key": key}).one()
    values = {
        "id": _next_id(connection, key, at),
        "scope": session.scope,
        "persona": session.persona,
        "session_id": key,
        "turn_id": turn_id,
        "kind": record.kind,
        "title": record.title,
        "subtitle": record.subtitle,
        "facts": list(record.facts),
        "narrative": record.narrative,
        "concepts": list(record.concepts),
        "files": list(record.files),
        "notes": list(record.notes),
        "at": micros(at),
    }
    connection.execute(insert(observations), values)
    return str(values["id"])


def _next_id(connection: Connection, key: str, at: datetime) -> str:
    while True:
        number, project = connection.execute(_NEXT, {"key": key}).one()
        made = f"{project}_{key[:8]}_{at:%Y%m%d}_{number:03d}"
        if connection.execute(_TAKEN, {"id": made}).first() is None:
            return made


def observations_where(connection: Connection, query: Select[Any]) -> list[StoredObservation]:
    """The observations that a query of the whole table finds."""
    return [_observation(row) for row in connection.execute(query)]


def observations_of(
    connection: Connection,
    scopes: Collection[str],
    personas: Collection[str] | None = None,
    *,
    session: str | None = None,
    before: int = 2**62,
    limit: int = 100,
) -> list[StoredObservation]:
    """The newest observations of these scopes and personas (None: all), newest first."""
    query = within(scopes, personas).where(_O.seq < before)
    if session is not None:
        query = query.where(_O.session_id == session)
    return observations_where(connection, query.order_by(_O.seq.desc()).limit(limit))


def within(scopes: Collection[str], personas: Collection[str] | None) -> Select[Any]:
    """All observations of these scopes and personas (None: all), in no order yet."""
    query = _ALL.where(_O.scope.in_(sorted(scopes)))
    return query if personas is None else query.where(_O.persona.in_(sorted(personas)))


def remove_observations(connection: Connection, ids: Sequence[str]) -> int:
    """Delete observations by their ids; return how many went. Their numbers stay used up."""
    return connection.execute(delete(observations).where(_O.id.in_(ids))).rowcount


def remove_turn(connection: Connection, turn_id: str) -> None:
    """Forget what an agent did in a turn, observed or not yet: it was taken back."""
    connection.execute(delete(observations).where(_O.turn_id == turn_id))
    connection.execute(delete(tool_uses).where(tool_uses.c.turn_id == turn_id))


def _observation(row: Row[Any]) -> StoredObservation:
    return from_row(StoredObservation, row)


def _session(row: Row[Any]) -> AgentSession:
    return from_row(AgentSession, row)
