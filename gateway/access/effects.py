"""What a change of [access] does: who may do more then, and who less. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from contract.chat import Room, Speaker
from contract.values import dataclass
from gateway.access.access import Access, Grant
from gateway.core.views import View
from gateway.settings.access import EVERYBODY

Act = Literal["ask", "approve", "own"]
Cell = tuple[str, str]
"""A room and a persona in which somebody may do something."""

ROOMS, DMS = "rooms", "dms"
"""The rooms and the direct messages that no role names."""

_SOMEBODY = "anywhere:somebody"  # whom nothing names
_PLACES = (Room("anywhere:room", "", "room"), Room("anywhere:dm", "", "dm"))


@dataclass(frozen=True, slots=True)
class Effect(View):
    """People who may do something that they could not do before, or the other way round.

    act: ask: agents; approve: answer permission questions; own: administer all of Moot.
    people: ids; EVERYBODY: all who are not named. rooms: ids, ROOMS, DMS; empty: everywhere.
    personas: names; empty: all.
    """

    act: Act
    gains: bool
    people: Sequence[str]
    rooms: Sequence[str]
    personas: Sequence[str]


def effects(
    before: Access, after: Access, personas: Sequence[str], rooms: Sequence[Room] = ()
) -> list[Effect]:
    """Every difference, those of many people first. rooms: those that are known."""
    known = {room.id: room for room in rooms}
    named = {id_ for access in (before, after) for grant in _grants(access) for id_ in grant.rooms}
    places = [*_PLACES, *(known.get(id_, Room(id_, id_)) for id_ in sorted(named))]
    found: dict[tuple[Act, bool, frozenset[Cell]], list[str]] = defaultdict(list)
    for person in (EVERYBODY, *_named(before, after)):
        for act in ("ask", "approve", "own"):
            had = _may(before, act, person, places, personas)
            has = _may(after, act, person, places, personas)
            for gains, cells in ((True, has - had), (False, had - has)):
                if cells:
                    found[act, gains, cells].append(person)
    every = [room.id for room in places]
    return [
        Effect(act, gains, people, tuple(_ROOM.get(r, r) for r in where), who)
        for (act, gains, cells), people in found.items()
        for where, who in _spans(cells, every, personas)
    ]


_ROOM = {room.id: name for room, name in zip(_PLACES, (ROOMS, DMS), strict=True)}


def _grants(access: Access) -> Iterator[Grant]:
    return chain(access.configured, access.kept)


def _named(before: Access, after: Access) -> list[str]:
    """Everybody whom a role or a list names."""
    ids = {id_ for access in (before, after) for grant in _grants(access) for id_ in grant.people}
    return sorted(ids - {EVERYBODY})


def _may(
    access: Access, act: Act, person: str, places: Sequence[Room], personas: Sequence[str]
) -> frozenset[Cell]:
    id_ = _SOMEBODY if person == EVERYBODY else person
    if act == "own":
        owns = access.is_owner_everywhere(_PLACES[0], id_)
        return frozenset({("", "")} if owns else ())
    by = Speaker(id_, id_)
    return frozenset(
        (room.id, name)
        for room in places
        for name in personas
        if (
            access.may_invoke(room, id_, name)
            if act == "ask"
            else access.may_approve(room, by, name)
        )
    )


def _spans(
    cells: frozenset[Cell], rooms: Sequence[str], personas: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Rooms and personas whose pairs are these; empty: all of them."""
    of_room: dict[str, list[str]] = defaultdict(list)
    for room, persona in sorted(cells):
        of_room[room].append(persona)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for room, theirs in of_room.items():
        alike[tuple(theirs)].append(room)
    for names, found in alike.items():
        where = tuple(found)
        everywhere = len(where) == len(rooms) or "" in where
        all_of_them = len(names) == len(personas) or "" in names
        yield () if everywhere else where, () if all_of_them else names
