"""Pages of what scopes hold, for the page and the API: newest first, every row checked again.

Functions of a connection: they run inside `Store.read`. Each takes the scopes that may be read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, Select, bindparam, func, or_, select

from memory.browse.view_rows import (
    RECORD,
    AgentSessionRow,
    EpisodeRow,
    FactRow,
    InsightRow,
    Item,
    LandmarkRow,
    ObservationContext,
    ObservationFilter,
    Page,
    TitleRow,
    has_words,
)
from memory.observations.rows import StoredObservation
from memory.scopes import Gate
from store.rows import from_row
from store.schema import (
    agent_sessions,
    episodes,
    facts,
    insights,
    landmarks,
    messages,
    observations,
)

END = 2**62  # after every row
PAGE = 30  # rows that a person reads before asking for more
SCANNED = 1_000  # rows that one search looks through: 30 ms, off the loop
AROUND = 3  # neighbours of an observation, on each side
LANDMARKS, EPISODES, SESSIONS = 200, 20, 20  # the newest; older ones are not browsed


# ── Landmarks, summaries, people, sessions ──────────────────────────────────────────────────

_SCOPES: BindParameter[str] = bindparam("scopes", expanding=True)
_LIMIT: BindParameter[int] = bindparam("size")
_L = landmarks.c
_LANDMARKS = (
    select(landmarks, messages.c.message_id)
    .outerjoin(messages, (messages.c.seq == _L.message_seq) & (messages.c.scope == _L.scope))
    .where(_L.scope.in_(_SCOPES))
    .order_by(_L.seq.desc())
    .limit(_LIMIT)
)
_FIRST, _LAST = messages.alias("first"), messages.alias("last")
_E = episodes.c
_EPISODES = (
    select(episodes, _FIRST.c.sent_at.label("first_at"), _LAST.c.sent_at.label("last_at"))
    .outerjoin(_FIRST, (_FIRST.c.seq == _E.first_seq) & (_FIRST.c.scope == _E.scope))
    .outerjoin(_LAST, (_LAST.c.seq == _E.last_seq) & (_LAST.c.scope == _E.scope))
    .where(_E.scope.in_(_SCOPES))
    .order_by(_E.seq.desc())
    .limit(_LIMIT)
)
_I = insights.c
_NAME = (
    select(messages.c.sender_name)
    .where(messages.c.scope == _I.scope, messages.c.sender_id == _I.sender_id)
    .order_by(messages.c.seq.desc())
    .limit(1)
    .correlate(insights)
    .scalar_subquery()
)
_INSIGHTS = (
    select(insights, func.coalesce(_NAME, _I.sender_id).label("sender_name"))
    .where(_I.scope.in_(_SCOPES))
    .order_by(_I.sender_id, _I.kind, _I.seq)
)
_A = agent_sessions.c
_SESSIONS = (
    select(agent_sessions)
    .where(_A.scope.in_(_SCOPES), or_(_A.title.is_not(None), _A.overview.is_not(None)))
    .order_by(_A.started_at.desc(), _A.id)
    .limit(_LIMIT)
)


def landmark_rows(connection: Connection, scopes: Collection[str]) -> list[LandmarkRow]:
    """The newest landmarks, newest first."""
    rows = _rows(connection, _LANDMARKS, scopes, size=LANDMARKS)
    return _admit("landmarks", scopes, (from_row(LandmarkRow, row) for row in rows))


def episode_rows(connection: Connection, scopes: Collection[str]) -> list[EpisodeRow]:
    """The newest summaries, newest first."""
    rows = _rows(connection, _EPISODES, scopes, size=EPISODES)
    found = (from_row(EpisodeRow, row, record=_record(row.record)) for row in rows)
    return _admit("episodes", scopes, found)


def insight_rows(connection: Connection, scopes: Collection[str]) -> list[InsightRow]:
    """All pins and recommendations, those on one person together."""
    rows = _rows(connection, _INSIGHTS, scopes)
    return _admit("insights", scopes, (from_row(InsightRow, row) for row in rows))


def agent_session_rows(connection: Connection, scopes: Collection[str]) -> list[AgentSessionRow]:
    """The newest sessions, newest first."""
    rows = _rows(connection, _SESSIONS, scopes, size=SESSIONS)
    found = (
        from_row(
            AgentSessionRow,
            row,
            title=row.title or "",
            subtitle=row.subtitle or "",
            overview=row.overview or "",
        )
        for row in rows
    )
    return _admit("sessions", scopes, found)


# ── Facts ───────────────────────────────────────────────────────────────────────────────────

_F = facts.c
_SUCCESSOR = facts.alias("successor")
_SHOWN = (  # without what the extraction wrote
    _F.seq,
    _F.scope,
    _F.kind,
    _F.text,
    _F.person,
    _F.person_name,
    _F.origin,
    _F.shared_from,
    _F.said_at,
    _F.replaced_by,
)
_NUMBERS = (  # found in the index alone: sorting whole rows costs ten times as much
    select(_F.seq)
    .where(_F.scope.in_(_SCOPES), _F.seq < bindparam("before"))
    .order_by(_F.seq.desc())
    .limit(_LIMIT)
)


def _facts_of(numbers: Select[Any]) -> Select[Any]:
    return (
        select(*_SHOWN, _SUCCESSOR.c.seq.label("successor"))
        .outerjoin(
            _SUCCESSOR, (_SUCCESSOR.c.id == _F.replaced_by) & (_SUCCESSOR.c.scope == _F.scope)
        )
        .where(_F.seq.in_(numbers.scalar_subquery()), _F.scope.in_(_SCOPES))
        .order_by(_F.seq.desc())
    )


_FACTS = _facts_of(_NUMBERS)
_LIVING = _facts_of(_NUMBERS.where(_F.replaced_by.is_(None)))


def fact_rows(
    connection: Connection,
    scopes: Collection[str],
    *,
    before: int = END,
    replaced: bool = False,
    limit: int = PAGE,
) -> Page[FactRow]:
    """A page of facts numbered below `before`. replaced: those that were replaced, too."""
    query = _FACTS if replaced else _LIVING
    rows = _rows(connection, query, scopes, before=before, size=limit + 1)
    found = [_fact(row) for row in rows]
    more = found[limit - 1].seq if len(found) > limit else None
    return Page(tuple(_admit("facts", scopes, found[:limit])), more)


def facts_with(
    connection: Connection, scopes: Collection[str], words: str, *, limit: int
) -> list[FactRow]:
    """The newest facts that have all the words: where no index finds them by their meaning."""
    rows = _rows(connection, _LIVING, scopes, before=END, size=SCANNED)
    found = (_fact(row) for row in rows if has_words(words, (row.text, row.person_name or "")))
    return _admit("facts", scopes, found)[:limit]


def _fact(row: Row[Any]) -> FactRow:
    return from_row(
        FactRow,
        row,
        shared=row.shared_from is not None,
        replaced_by=None if row.replaced_by is None else row.successor or 0,
    )


# ── What the agents did ─────────────────────────────────────────────────────────────────────

_O = observations.c
_OBSERVATIONS = select(observations).where(_O.scope.in_(_SCOPES))
_PLACES = select(_O.seq).where(_O.scope.in_(_SCOPES)).limit(_LIMIT)
_BEFORE = _PLACES.where(_O.seq < bindparam("before")).order_by(_O.seq.desc())
_AFTER = _PLACES.where(_O.seq > bindparam("after")).order_by(_O.seq)
_NEWEST = _OBSERVATIONS.where(_O.seq.in_(_BEFORE.scalar_subquery())).order_by(_O.seq.desc())
_OLDEST = _OBSERVATIONS.where(_O.seq.in_(_AFTER.scalar_subquery())).order_by(_O.seq)
_ONE = _OBSERVATIONS.where(_O.id == bindparam("id"))


def title_rows(
    connection: Connection,
    scopes: Collection[str],
    sought: ObservationFilter | None = None,
    *,
    before: int = END,
    limit: int = PAGE,
) -> Page[TitleRow]:
    """A page of observations older than `before`.

    One call looks through SCANNED rows at most: a page may be short, or empty, and not the last.
    """
    size = SCANNED if sought else limit + 1
    rows = _rows(connection, _NEWEST, scopes, before=before, size=size)
    found: list[TitleRow] = []
    for row in rows:
        if len(found) == limit:
            return Page(tuple(_admit("observations", scopes, found)), found[-1].seq)
        observation = from_row(StoredObservation, row)
        if sought is None or sought.fits(observation):
            found.append(TitleRow.of(observation))
    more = rows[-1].seq if len(rows) == size else None
    return Page(tuple(_admit("observations", scopes, found)), more)


def observation_context(
    connection: Connection, scopes: Collection[str], observation_id: str
) -> ObservationContext | None:
    """One observation and the timeline around it; None when these scopes hold none of this id."""
    rows = _rows(connection, _ONE, scopes, id=observation_id)
    records = _admit("observations", scopes, (from_row(StoredObservation, row) for row in rows))
    if not records:
        return None
    record = records[0]
    earlier = _rows(connection, _NEWEST, scopes, before=record.seq, size=AROUND)
    later = _rows(connection, _OLDEST, scopes, after=record.seq, size=AROUND)
    return ObservationContext(record, _titles(scopes, earlier[::-1]), _titles(scopes, later))


def _titles(scopes: Collection[str], rows: Sequence[Row[Any]]) -> tuple[TitleRow, ...]:
    return tuple(_admit("observations", scopes, (from_row(TitleRow, row) for row in rows)))


# ── Whose scopes a direct message has ───────────────────────────────────────────────────────

_SPOKEN = select(messages.c.scope).where(messages.c.room_id == bindparam("room")).distinct()


def direct_scopes(connection: Connection, room_id: str) -> frozenset[str]:
    """The scopes of what was said in a direct message: it is not its room's id that tells them."""
    found = connection.execute(_SPOKEN, {"room": room_id}).scalars()
    return frozenset(scope for scope in found if scope.startswith("dm:"))


# ── Inside ──────────────────────────────────────────────────────────────────────────────────


def _rows(
    connection: Connection, query: Select[Any], scopes: Collection[str], **values: int | str
) -> Sequence[Row[Any]]:
    return connection.execute(query, {"scopes": sorted(scopes), **values}).all()


def _admit(layer: str, scopes: Collection[str], rows: Iterable[Item]) -> list[Item]:
    return Gate(frozenset(scopes)).admit(layer, rows)


def _texts(value: object) -> tuple[str, ...]:
    """The texts of a JSON list; a model may have written something else."""
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _record(value: object) -> dict[str, str | list[str]]:
    """The fields of RECORD that hold anything, in that order."""
    if not isinstance(value, dict):
        return {}
    given = ((name, value.get(name)) for name in RECORD)
    return {
        name: list(_texts(held)) if isinstance(held, list) else str(held)
        for name, held in given
        if held
    }
