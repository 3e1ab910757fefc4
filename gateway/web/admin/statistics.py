"""The figures behind the administrator's plots: functions of a connection.

They run inside `Store.read`, off the loop, and read narrow rows of a few days by an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise

from sqlalchemy import Connection, and_, bindparam, false, func, select

from gateway.web.admin.turn_pages import ENDED
from gateway.web.admin.values import Day, PersonaUsage, Today
from store.gateway_schema import figures, usage
from store.schema import facts

_F, _U = figures.c, usage.c

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
        spent=[PersonaUsage(*row) for row in connection.execute(_SPENT, within)],
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
    """The totals of a stretch of time."""
    within = {"since": since, "until": until}
    ended = _by_state(connection, within)
    p50_ms = _percentile(connection, within, ended.get("posted", 0), 50)
    return Today(sum(ended.values()), ended.get("failed", 0), p50_ms, waiting)
