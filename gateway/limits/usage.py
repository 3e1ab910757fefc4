"""The usage of agents' turns: one row a turn, summed up for people and for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, get_args

from sqlalchemy import Connection, Row, bindparam, case, func, select

from contract.agent import Usage
from contract.chat import SenderType
from contract.values import dataclass
from gateway.core.ledger import TurnUsage
from gateway.core.views import View
from gateway.limits.counters import start_of
from gateway.settings.limits import PriceTable
from store.database import Store, insert_of
from store.gateway_schema import usage
from store.schema import messages, rooms
from store.timestamps import micros, moment
from store.together import running

SHOWN = 100  # of a group; whoever took less is left out
_QUARTER = 900_000_000  # microseconds: every zone's days begin with a quarter of an hour
_MILLION = 1_000_000

_U = usage.c
_SUMS = (
    func.count().label("turns"),
    func.coalesce(func.sum(_U.seconds), 0.0).label("seconds"),
    func.sum(_U.input_tokens).label("input_tokens"),
    func.sum(_U.output_tokens).label("output_tokens"),
    func.sum(_U.cached_tokens).label("cached_tokens"),
    func.sum(_U.cost_usd).label("cost_usd"),
)
_ROOM_NAME = select(rooms.c.name).where(rooms.c.id == bindparam("key"))
_M = messages.c
_NEWEST_NAME = select(  # each kind by itself, which has an index: else all messages are looked at
    func.coalesce(
        *(
            select(_M.sender_name)
            .where(_M.sender_type == kind, _M.sender_id == bindparam("key"))
            .order_by(_M.seq.desc())
            .limit(1)
            .scalar_subquery()
            for kind in get_args(SenderType)
        )
    )
)


@dataclass(frozen=True, slots=True)
class Sum(View):
    """The usage of several turns. key: whose; name: what people call it. Tokens and cost: None: no
    agent told."""

    key: str
    name: str
    turns: int
    seconds: float
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    cost_usd: float | None

    @property
    def tokens(self) -> int:
        """Read and written."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)


@dataclass(frozen=True, slots=True)
class Report(View):
    """The same turns, grouped: days by date, the others the most tokens first."""

    days: Sequence[Sum]
    people: Sequence[Sum]
    rooms: Sequence[Sum]
    personas: Sequence[Sum]


class UsageBook:
    """Writes and sums usage. prices: by model, or the beginning of its name, or the agent's."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        zone: tzinfo,
        prices: Mapping[str, PriceTable],
    ) -> None:
        self._store = store
        self._clock = clock
        self._zone = zone
        self._prices = prices
        insert = insert_of(store)(usage)
        new = insert.excluded
        both = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
        self._put = insert.on_conflict_do_update(  # a turn that was begun again took twice
            index_elements=["turn_id"],
            set_={
                "seconds": _U.seconds + new.seconds,
                **{
                    name: case(
                        (_U[name].is_(None), new[name]),
                        (new[name].is_(None), _U[name]),
                        else_=_U[name] + new[name],
                    )
                    for name in both
                },
            },
        )

    def note(self, took: TurnUsage) -> TurnUsage:
        """On disk before whatever is written next; the same with its cost, where that is known."""
        told = took.usage
        if told is not None and told.cost_usd is None:
            told = self._priced(told, took.agent)
            took = replace(took, usage=told)
        values = {
            "turn_id": took.turn_id,
            "at": micros(took.at),
            "person_id": took.person_id,
            "room_id": took.room_id,
            "persona": took.persona,
            "agent": took.agent,
            "seconds": took.seconds,
            "input_tokens": told and told.input_tokens,
            "output_tokens": told and told.output_tokens,
            "cached_tokens": told and told.cached_tokens,
            "cost_usd": told and told.cost_usd,
        }
        self._store.write_later(running(self._put, values))
        return took

    def _priced(self, told: Usage, agent: str) -> Usage:
        """With its cost by the configured prices, if there is one."""
        price = self._price(told.model) or self._prices.get(agent)
        if price is None:
            return told
        cached = min(told.cached_tokens, told.input_tokens)
        cost = (
            (told.input_tokens - cached) * price.input
            + cached * (price.input if price.cached is None else price.cached)
            + told.output_tokens * price.output
        ) / _MILLION
        return Usage(told.model, told.input_tokens, told.output_tokens, told.cached_tokens, cost)

    def _price(self, model: str) -> PriceTable | None:
        known = [name for name in self._prices if model.startswith(name)]
        return self._prices[max(known, key=len)] if known else None

    async def report(self, days: int) -> Report:
        """The last so many days, today included."""
        today = start_of("day", self._clock(), self._zone)
        since = micros(today - timedelta(days=days - 1))
        return await self._store.read(lambda connection: _report(connection, since, self._zone))

    async def sums(self, since: datetime, by: str, **where: str) -> list[Sum]:
        """The usage since a time, by "person_id", "room_id" or "persona", the most first.

        where: only of these, e.g. person_id="slack:U06".
        """
        conditions = [_U[name] == value for name, value in where.items()]
        return await self._store.read(
            lambda connection: _sums(connection, _U[by], micros(since), conditions)
        )

    async def total(self, since: datetime, **where: str) -> Sum:
        """The sum of all of it."""
        query = select(*_SUMS).where(_U.at >= micros(since))
        query = query.where(*(_U[name] == value for name, value in where.items()))
        return await self._store.read(
            lambda connection: _sum("", "", connection.execute(query).one())
        )


def _report(connection: Connection, since: int, zone: tzinfo) -> Report:
    return Report(
        days=_days(connection, since, zone),
        people=_sums(connection, _U.person_id, since),
        rooms=_sums(connection, _U.room_id, since),
        personas=_sums(connection, _U.persona, since),
    )


def _sums(
    connection: Connection, column: Any, since: int, conditions: Sequence[Any] = ()
) -> list[Sum]:
    tokens = func.coalesce(func.sum(_U.input_tokens), 0) + func.coalesce(
        func.sum(_U.output_tokens), 0
    )
    query = (
        select(column.label("key"), *_SUMS)
        .where(_U.at >= since, *conditions)
        .group_by(column)
        .order_by(tokens.desc(), func.sum(_U.seconds).desc(), column)
        .limit(SHOWN)
    )
    rows = connection.execute(query).all()
    return [_sum(row.key, _name(connection, column, row.key), row) for row in rows]


def _sum(key: str, name: str, row: Row[Any]) -> Sum:
    return Sum(
        key,
        name,
        row.turns,
        float(row.seconds),
        _whole(row.input_tokens),
        _whole(row.output_tokens),
        _whole(row.cached_tokens),
        None if row.cost_usd is None else float(row.cost_usd),
    )


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _name(connection: Connection, column: Any, key: str) -> str:
    if column is _U.persona:
        return key
    query = _ROOM_NAME if column is _U.room_id else _NEWEST_NAME
    return connection.execute(query, {"key": key}).scalar() or key


def _days(connection: Connection, since: int, zone: tzinfo) -> list[Sum]:
    quarter = (_U.at - _U.at % _QUARTER).label("quarter")
    query = select(quarter, *_SUMS).where(_U.at >= since).group_by(quarter).order_by(quarter)
    found: dict[str, Sum] = {}
    for row in connection.execute(query):
        day = moment(row.quarter).astimezone(zone).date().isoformat()
        one = _sum(day, day, row)
        known = found.get(day)
        found[day] = one if known is None else _together(known, one)
    return list(found.values())


def _together(one: Sum, other: Sum) -> Sum:
    return Sum(
        one.key,
        one.name,
        one.turns + other.turns,
        one.seconds + other.seconds,
        _plus(one.input_tokens, other.input_tokens),
        _plus(one.output_tokens, other.output_tokens),
        _plus(one.cached_tokens, other.cached_tokens),
        None
        if one.cost_usd is None and other.cost_usd is None
        else (one.cost_usd or 0.0) + (other.cost_usd or 0.0),
    )


def _plus(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other
