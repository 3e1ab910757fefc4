"""Who may do what. Closed unless an administrator said otherwise; no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from contract import Room
from gateway.access_tables import AccessTable, Role

TRUSTED = frozenset({"web"})  # sources whose people reached the loopback page or hold its token
EVERYBODY = "*"
_RANK = {role: rank for rank, role in enumerate(get_args(Role))}


@dataclass(frozen=True, slots=True)
class Grant:
    """People who have a role. rooms, personas: empty: everywhere, all.

    where: only in rooms, or only in direct messages and what is treated like them; "": both.
    people: EVERYBODY is one of them when all are meant.
    """

    role: Role
    people: frozenset[str]
    rooms: frozenset[str] = frozenset()
    personas: frozenset[str] = frozenset()
    where: Literal["", "rooms", "dms"] = ""

    def holds(self, room: Room, person_id: str, persona: str | None) -> bool:
        """Whether it is about this person here. persona: None: whichever it is."""
        return (
            (person_id in self.people or EVERYBODY in self.people)
            and (not self.rooms or room.id in self.rooms)
            and (not self.where or (self.where == "rooms") == (room.kind == "room"))
            and (not self.personas or persona is None or persona in self.personas)
        )


@dataclass(slots=True)
class Access:
    """See AccessTable. kept: grants beside the configuration's, as they are now."""

    table: AccessTable
    kept: Sequence[Grant] = ()
    _configured: tuple[Grant, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._configured = tuple(_configured(self.table))

    def role(self, room: Room, person_id: str, persona: str | None = None) -> Role | None:
        """The highest role that a person has here with a persona; None: a stranger."""
        if room.source in TRUSTED:
            return "owner"
        held = [
            grant.role
            for grant in (*self._configured, *self.kept)
            if grant.holds(room, person_id, persona)
        ]
        return max(held, key=_RANK.__getitem__, default=None)

    def takes_part(self, room: Room, person_id: str) -> bool:
        """Whether this person has any role here: may pin, and be shown what is known."""
        return self.role(room, person_id) is not None

    def may_invoke(self, room: Room, person_id: str, persona: str) -> bool:
        """Whether this person may ask this persona's agent here."""
        least = self._rule(persona, "invoke")
        return reaches(self.role(room, person_id, persona), least)

    def may_approve(self, room: Room, person_id: str, persona: str) -> bool:
        """Whether this person may answer this persona's permission questions here."""
        role = self.role(room, person_id, persona)
        listed = person_id in self.table.approvers
        return listed or reaches(role, self._rule(persona, "approve"))

    def has_approvers(self, room: Room, persona: str) -> bool:
        """Whether anybody could answer this persona's permission questions here."""
        if room.source in TRUSTED or self.table.approvers:
            return True
        least = self._rule(persona, "approve")
        grants = (*self._configured, *self.kept)
        return any(
            reaches(grant.role, least) and grant.holds(room, next(iter(grant.people)), persona)
            for grant in grants
        )

    def is_owner(self, room: Room, person_id: str) -> bool:
        """Whether this person administers Moot here."""
        return self.role(room, person_id) == "owner"

    def _rule(self, persona: str, what: str) -> Role:
        own = self.table.personas.get(persona)
        role: Role = getattr(own, what, None) or getattr(self.table, what)
        return role


def reaches(role: Role | None, least: Role) -> bool:
    """Whether a role is at least another one."""
    return role is not None and _RANK[role] >= _RANK[least]


def _configured(table: AccessTable) -> Iterator[Grant]:
    everybody = frozenset({EVERYBODY})
    if table.rooms == "open":
        yield Grant("member", everybody, where="rooms")
    if table.dms == "open":
        yield Grant("member", everybody, where="dms")
    if members := table.people | table.approvers:
        yield Grant("member", members)
    if table.owners:
        yield Grant("owner", table.owners)
    for grant in table.grants:
        yield Grant(grant.role, grant.people, grant.rooms, grant.personas)
