"""Turns in the administrator's lists: functions of a connection.

They run inside `Store.read`, off the loop, and read one page by an index, never all turns.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, Select, false, func, select

from gateway.core.ledger import OWN_NAME
from gateway.web.admin.values import TurnLine, TurnPage, WantedTurns
from store.gateway_schema import figures, usage
from store.schema import messages, rooms, turns
from store.timestamps import moment

OPEN = ("queued", "running", "answered")
ENDED = ("posted", "failed", "stopped")
MOST_ERROR = 300  # characters; it is one line
_F, _T, _U = figures.c, turns.c, usage.c

_TOKENS = func.coalesce(_U.input_tokens, 0) + func.coalesce(_U.output_tokens, 0)
_ABOUT = (
    _T.seq,
    _T.id,
    _T.fault,
    _T.persona,
    _T.room_id,
    rooms.c.name.label("room_name"),
    rooms.c.kind.label("room_kind"),
    messages.c.sender_id,
    messages.c.sender_name,
)


def page_of_turns(
    connection: Connection, wanted: WantedTurns, *, before: int, limit: int
) -> TurnPage:
    """Turns with a seq below `before`, newest first: those that are open, and those that ended."""
    found: list[TurnLine] = []
    if wanted.state not in ENDED and wanted.slow_ms is None:
        found += _open_turns(connection, wanted, before, limit + 1)
    if wanted.state not in ("open", *OPEN):
        found += _ended_turns(connection, wanted, before, limit + 1)
    once = {line.seq: line for line in found}  # one may have ended between the two
    lines = sorted(once.values(), key=lambda line: -line.seq)
    more = len(lines) > limit
    items = lines[:limit]
    return TurnPage(items, items[-1].seq if more else None)


def failed_since(connection: Connection, at: int, limit: int) -> list[TurnLine]:
    """Turns that failed since a time in microseconds, newest first."""
    seqs = (
        select(_F.seq)
        .where(_F.at >= at, _F.command == false(), _F.state == "failed")
        .order_by(_F.seq.desc())
        .limit(limit)
    )
    return [_ended_line(row) for row in connection.execute(_ended(seqs))]


def _open_turns(
    connection: Connection, wanted: WantedTurns, before: int, limit: int
) -> list[TurnLine]:
    states = OPEN if wanted.state in (None, "open") else (wanted.state,)
    query = (
        select(*_ABOUT, _T.state, _T.states)
        .join(rooms, rooms.c.id == _T.room_id)
        .join(messages, messages.c.seq == _T.message_seq)
        .where(_T.state.in_(states), _T.seq < before)
        .order_by(_T.seq.desc())
        .limit(limit)
    )
    if wanted.room_id is not None:
        query = query.where(_T.room_id == wanted.room_id)
    if wanted.persona is not None:
        query = query.where(_T.persona == ("" if wanted.persona == OWN_NAME else wanted.persona))
    if wanted.person_id is not None:
        query = query.where(messages.c.sender_id == wanted.person_id)
    return [
        TurnLine(**_about(row), at=moment(row.states[0][1]), state=row.state)
        for row in connection.execute(query)
    ]


def _ended_turns(
    connection: Connection, wanted: WantedTurns, before: int, limit: int
) -> list[TurnLine]:
    seqs = select(_F.seq).where(_F.seq < before).order_by(_F.seq.desc()).limit(limit)
    if wanted.room_id is not None:
        seqs = seqs.where(_F.room_id == wanted.room_id)
    if wanted.persona is not None:
        seqs = seqs.where(_F.persona == wanted.persona)
    if wanted.person_id is not None:
        seqs = seqs.where(_F.person_id == wanted.person_id)
    if wanted.state is not None:
        seqs = seqs.where(_F.state == wanted.state)
    if wanted.slow_ms is not None:
        seqs = seqs.where(_F.total_ms > wanted.slow_ms, _F.command == false())
    return [_ended_line(row) for row in connection.execute(_ended(seqs))]


def _ended(seqs: Select[Any]) -> Select[Any]:
    """The page's seqs first, from an index or the narrow rows; then the wide ones of these."""
    chosen = seqs.subquery()
    error = func.substr(_T.answer, 1, MOST_ERROR).label("line")
    steps = (_F.total_ms, _F.queued_ms, _F.ready_ms, _F.brief_ms, _F.compose_ms)
    return (
        select(
            *_ABOUT, error, _F.at, _F.state, _F.command, *steps, _F.agent_ms, _F.post_ms,
            _TOKENS.label("tokens"), _U.input_tokens, _U.output_tokens,
            _U.cost_usd,
        )
        .join(chosen, chosen.c.seq == _T.seq)
        .join(figures, _F.seq == _T.seq)
        .join(rooms, rooms.c.id == _T.room_id)
        .join(messages, messages.c.seq == _T.message_seq)
        .outerjoin(usage, _U.turn_id == _T.id)
        .order_by(_T.seq.desc())
    )  # fmt: skip


def _ended_line(row: Row[Any]) -> TurnLine:
    told = row.input_tokens is not None or row.output_tokens is not None
    error = ""
    if row.state == "failed":
        error = " ".join((row.line or "").split()) or f"It failed: {row.fault}."
    return TurnLine(
        **_about(row),
        at=moment(row.at),
        state=row.state,
        command=row.command,
        total_ms=row.total_ms,
        queued_ms=row.queued_ms,
        ready_ms=row.ready_ms,
        brief_ms=row.brief_ms,
        compose_ms=row.compose_ms,
        agent_ms=row.agent_ms,
        post_ms=row.post_ms,
        error=error,
        tokens=row.tokens if told else None,
        cost_usd=row.cost_usd,
    )


def _about(row: Any) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "id": row.id,
        "persona": row.persona or OWN_NAME,
        "room_id": row.room_id,
        "room_name": row.room_name,
        "room_kind": row.room_kind,
        "person_id": row.sender_id,
        "person_name": row.sender_name,
    }
