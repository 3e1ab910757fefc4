"""Recent activity in rooms and sessions: functions of a connection, see statistics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from heapq import nsmallest

from sqlalchemy import Connection, bindparam, false, func, select

from contract.chat import Speaker
from contract.values import dataclass
from store.gateway_schema import figures, room_settings, usage
from store.schema import messages, rooms

_F, _U = figures.c, usage.c


@dataclass(frozen=True, slots=True)
class Lately:
    """Recent activity in a room. people: the most talkative, and how many more spoke."""

    messages: int
    people: Sequence[Speaker]
    more_people: int
    personas: Sequence[str]


NOTHING = Lately(0, (), 0, ())
PEOPLE = 10  # of a room: thousands may speak there


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
    """Activity in each room since a time in microseconds; rooms without any left out."""
    counts: Counter[str] = Counter()
    people: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    first = _first_since(connection, since)
    for room_id, sender_id, kind, name, count in connection.execute(_TALK, {"first": first}):
        counts[room_id] += count
        if kind == "human":
            people[room_id].append((-count, name, sender_id))
    answered: dict[str, Counter[str]] = defaultdict(Counter)
    for room_id, persona, count in connection.execute(_PERSONAS, {"since": since}):
        answered[room_id][persona] += count
    return {
        room_id: Lately(
            messages=counts[room_id],
            people=[Speaker(who, name) for _, name, who in nsmallest(PEOPLE, people[room_id])],
            more_people=max(len(people[room_id]) - PEOPLE, 0),
            personas=[name for name, _ in answered[room_id].most_common()],
        )
        for room_id in counts.keys() | answered.keys()
    }


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
