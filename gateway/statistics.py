"""What the administrator's lists and plots are drawn from: functions of a connection.

They run inside `Store.read`, off the loop. A list reads one page by an index; a plot reads narrow
rows of a few days by an index. Neither ever looks through all turns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, false, func, select

from contract import Speaker
from gateway.admin_cards import Day, Spent, Today, TurnLine, TurnPage, WantedTurns
from memory.house_schema import figures, room_settings, usage
from memory.schema import facts, messages, rooms, turns
from memory.transcript import moment

OPEN = ("queued", "running", "answered")
ENDED = ("posted", "failed", "stopped")
MOST_ERROR = 300  # characters; it is one line
_F, _T, _U = figures.c, turns.c, usage.c

# ── Turns, page by page ─────────────────────────────────────────────────────────────────────

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
    found.sort(key=lambda line: -line.seq)
    more = len(found) > limit
    items = found[:limit]
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
        query = query.where(_T.persona == wanted.persona)
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
        "persona": row.persona,
        "room_id": row.room_id,
        "room_name": row.room_name,
        "room_kind": row.room_kind,
        "person_id": row.sender_id,
        "person_name": row.sender_name,
    }


# ── Days ────────────────────────────────────────────────────────────────────────────────────

_WITHIN = and_(_F.at >= bindparam("since"), _F.at < bindparam("until"), _F.command == false())
_COUNT = select(func.count()).select_from(figures).where(_WITHIN, _F.state == bindparam("state"))
_NTH = (  # as the count, it reads ix_figures_at alone
    select(_F.total_ms)
    .where(_WITHIN, _F.state == "posted")
    .order_by(_F.total_ms)
    .limit(1)
    .offset(bindparam("nth"))
)
_SPENT = (
    select(
        _U.persona,
        func.coalesce(func.sum(_U.input_tokens), 0),
        func.coalesce(func.sum(_U.output_tokens), 0),
        func.coalesce(func.sum(_U.cached_tokens), 0),
        func.sum(_U.cost_usd),
    )
    .where(_U.at >= bindparam("since"), _U.at < bindparam("until"))
    .group_by(_U.persona)
    .order_by(_U.persona)
)
_FACTS = (
    select(func.count())
    .select_from(facts)
    .where(facts.c.created_at >= bindparam("since"), facts.c.created_at < bindparam("until"))
)


def days_of(connection: Connection, days: Sequence[date], bounds: Sequence[int]) -> list[Day]:
    """A Day for each of `days`; bounds: where each begins, and where the last one ends."""
    known = _new_facts(connection, {"since": 0, "until": bounds[0]})
    found: list[Day] = []
    for day, (since, until) in zip(days, pairwise(bounds), strict=True):
        within = {"since": since, "until": until}
        known += _new_facts(connection, within)
        found.append(_day(connection, day, within, known))
    return found


def _new_facts(connection: Connection, within: Mapping[str, int]) -> int:
    count: int = connection.execute(_FACTS, within).scalar_one()
    return count


def _day(connection: Connection, day: date, within: Mapping[str, int], known: int) -> Day:
    ended = _by_state(connection, within)
    return Day(
        day=day,
        turns=ended,
        p50_ms=_percentile(connection, within, ended.get("posted", 0), 50),
        p95_ms=_percentile(connection, within, ended.get("posted", 0), 95),
        spent=[Spent(*row) for row in connection.execute(_SPENT, within)],
        facts=known,
    )


def _by_state(connection: Connection, within: Mapping[str, int]) -> dict[str, int]:
    counts = ((name, connection.execute(_COUNT, {**within, "state": name})) for name in ENDED)
    return {name: count for name, found in counts if (count := found.scalar_one())}


def _percentile(
    connection: Connection, within: Mapping[str, int], count: int, percent: int
) -> int | None:
    """By nearest rank, so that it is a turn that there was."""
    nth = -(-count * percent // 100) - 1
    found: int | None = None
    if count:
        found = connection.execute(_NTH, {**within, "nth": nth}).scalar()
    return found


def last_day(connection: Connection, since: int, until: int, waiting: int) -> Today:
    """What a stretch of time came to."""
    within = {"since": since, "until": until}
    ended = _by_state(connection, within)
    p50_ms = _percentile(connection, within, ended.get("posted", 0), 50)
    return Today(sum(ended.values()), ended.get("failed", 0), p50_ms, waiting)


# ── Rooms and sessions ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Lately:
    """What happened in a room. people: the most talkative first."""

    messages: int
    people: Sequence[Speaker]
    personas: Sequence[str]


_M = messages.c
_TALK = (
    select(_M.room_id, _M.sender_id, _M.sender_type, func.max(_M.sender_name), func.count())
    .where(_M.seq >= bindparam("first"), _M.deleted_at.is_(None))
    .group_by(_M.room_id, _M.sender_id, _M.sender_type)
)
_PERSONAS = (
    select(_F.room_id, _F.persona, func.count())
    .where(_F.at >= bindparam("since"), _F.command == false())
    .group_by(_F.room_id, _F.persona)
)
_RECEIVED = select(_M.received_at).where(_M.seq >= bindparam("at")).order_by(_M.seq).limit(1)
_KEPT = select(rooms.c.id, rooms.c.include_in_memory)
_CHOSEN = select(room_settings.c.scope, room_settings.c.persona, room_settings.c.model).where(
    room_settings.c.model.is_not(None)
)


def rooms_lately(connection: Connection, since: int) -> dict[str, Lately]:
    """What happened in each room since a time in microseconds; rooms without any left out."""
    talk: dict[str, list[tuple[int, Speaker]]] = defaultdict(list)
    first = _first_since(connection, since)
    for room_id, sender_id, kind, name, count in connection.execute(_TALK, {"first": first}):
        talk[room_id].append((count, Speaker(sender_id, name, kind)))
    answered: dict[str, Counter[str]] = defaultdict(Counter)
    for room_id, persona, count in connection.execute(_PERSONAS, {"since": since}):
        answered[room_id][persona] += count
    return {
        room_id: Lately(
            messages=sum(count for count, _ in talk[room_id]),
            people=_people(talk[room_id]),
            personas=[name for name, _ in answered[room_id].most_common()],
        )
        for room_id in talk.keys() | answered.keys()
    }


def _people(talk: list[tuple[int, Speaker]]) -> list[Speaker]:
    people = [(count, by) for count, by in talk if by.kind == "human"]
    return [by for _, by in sorted(people, key=lambda one: (-one[0], one[1].name))]


def _first_since(connection: Connection, since: int) -> int:
    """The first message received at `since` or later: they are numbered as they arrive, and there
    is no index of their times."""
    low, high = 1, (connection.execute(select(func.max(_M.seq))).scalar() or 0) + 1
    while low < high:
        middle = (low + high) // 2
        received = connection.execute(_RECEIVED, {"at": middle}).scalar()
        if received is None or received >= since:
            high = middle
        else:
            low = middle + 1
    return low


def room_choices(connection: Connection) -> tuple[dict[str, bool], dict[str, dict[str, str]]]:
    """By room: whether it is remembered. By scope: the models that were chosen, by persona."""
    kept = {row.id: row.include_in_memory for row in connection.execute(_KEPT)}
    models: dict[str, dict[str, str]] = defaultdict(dict)
    for scope, persona, model in connection.execute(_CHOSEN):
        models[scope][persona] = model
    return kept, models


_SINCE = (
    select(func.sum(_U.input_tokens), func.sum(_U.output_tokens), func.sum(_U.cost_usd))
    .where(_U.room_id == bindparam("room"), _U.at >= bindparam("since"))
    .where(_U.persona == bindparam("persona"))
)


def spent_since(
    connection: Connection, room_id: str, persona: str, since: int
) -> tuple[int | None, float | None]:
    """Tokens and US dollars of a persona's turns in a room; None where nobody told."""
    where = {"room": room_id, "persona": persona, "since": since}
    given, written, cost_usd = connection.execute(_SINCE, where).one()
    told = given is not None or written is not None
    return (given or 0) + (written or 0) if told else None, cost_usd
