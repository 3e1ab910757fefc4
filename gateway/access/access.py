"""The roles that people have. Closed unless an administrator said otherwise; no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal, get_args

from contract.chat import Room, Speaker
from contract.values import dataclass
from gateway.access.acts import least_role
from gateway.settings.access import EVERYBODY, AccessTable, Role, SecondPerson
from gateway.settings.person_ids import is_person_id, unaliased

TRUSTED = frozenset({"web"})  # sources whose people came by an owner's token, or have an account
Where = Literal["", "rooms", "dms"]
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
    where: Where = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", frozenset(map(unaliased, self.people)))

    def is_for(self, person_id: str) -> bool:
        """True if it is about this person, wherever."""
        return unaliased(person_id) in self.people or EVERYBODY in self.people

    def holds(self, room: Room, person_id: str | None, persona: str | None) -> bool:
        """True if it is about this person here. None: whoever, whichever it is."""
        return (
            (not self.rooms or room.id in self.rooms)
            and (not self.where or (self.where == "rooms") == (room.kind == "room"))
            and (not self.personas or persona is None or persona in self.personas)
            and (person_id is None or self.is_for(person_id))
        )


@dataclass(slots=True)
class Access:
    """See AccessTable. kept: grants beside the configuration's, as they are now. page_users: ids of
    those who have an account on the page, where they have the roles that they were given."""

    table: AccessTable
    kept: Sequence[Grant] = ()
    page_users: frozenset[str] = frozenset()
    configured: tuple[Grant, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.configured = tuple(_configured(self.table))

    def take(self, table: AccessTable) -> None:
        """Go by another table from now on."""
        self.table, self.configured = table, tuple(_configured(table))

    def under(self, table: AccessTable) -> Access:
        """The same people under another table."""
        return Access(table, self.kept, self.page_users)

    def role(self, room: Room, person_id: str, persona: str | None = None) -> Role | None:
        """The highest role that a person has here with a persona; None: somebody unknown.

        persona: None: with whichever, so what is about all of them asks `is_owner`.
        """
        if self._is_trusted(room, person_id):
            return "owner"
        held = [
            grant.role
            for grant in (*self.configured, *self.kept)
            if grant.holds(room, person_id, persona)
        ]
        return max(held, key=_RANK.__getitem__, default=None)

    def takes_part(self, room: Room, person_id: str) -> bool:
        """True if this person has any role here: what they say may be remembered."""
        return self.role(room, person_id) is not None

    def may(self, act: str, room: Room, by: Speaker, persona: str | None = None) -> bool:
        """True if somebody may do this here: an act, see access/acts.py.

        persona: whose turn it is; None: no one's. A bot does what guests do, and answers nothing.
        """
        least = least_role(act)
        if by.kind == "bot":
            return least == "guest" and not act.isdecimal() and self.takes_part(room, by.id)
        if act.startswith("persona ") and least == "owner":  # its file holds for every room
            return self.is_owner_everywhere(room, by.id)
        if least == "owner":
            return self.is_owner(room, by.id)
        return reaches(self.role(room, by.id, persona), least)

    def may_invoke(self, room: Room, person_id: str, persona: str, *, is_bot: bool = False) -> bool:
        """True if this person may ask this persona's agent here. A bot is never an owner."""
        role = self.role(room, person_id, persona)
        role = "member" if is_bot and role == "owner" else role
        return reaches(role, self._rule(persona, "invoke"))

    def asks_for(self, persona: str) -> Role:
        """The least role that may ask a persona's agent."""
        return self._rule(persona, "invoke")

    def may_approve(self, room: Room, by: Speaker, persona: str) -> bool:
        """True if somebody may answer this persona's permission questions here: never a bot."""
        if by.kind == "bot":
            return False
        listed = unaliased(by.id) in set(map(unaliased, self.table.approvers))
        return listed or reaches(self.role(room, by.id, persona), self._rule(persona, "approve"))

    def has_approvers(self, room: Room, persona: str) -> bool:
        """True if anybody could answer this persona's permission questions here."""
        if room.source in TRUSTED or self.table.approvers:
            return True
        least = self._rule(persona, "approve")
        grants = (*self.configured, *self.kept)
        return any(
            reaches(grant.role, least) and grant.holds(room, None, persona) for grant in grants
        )

    def approvers(self, room: Room, persona: str) -> frozenset[str]:
        """Ids of those who may answer this persona's permission questions here; EVERYBODY is one
        of them when all may. Whoever reaches the page may, too."""
        least = self._rule(persona, "approve")
        grants = (*self.configured, *self.kept)
        held = (g for g in grants if reaches(g.role, least) and g.holds(room, None, persona))
        listed = frozenset(map(unaliased, self.table.approvers))
        return listed.union(*(grant.people for grant in held))

    def second_person(self, persona: str) -> SecondPerson:
        """The questions of this persona that two people must allow."""
        own = self.table.personas.get(persona)
        return (own and own.second_person) or self.table.second_person

    def is_owner(self, room: Room, person_id: str) -> bool:
        """True if this person administers Moot here, with all personas."""
        if self._is_trusted(room, person_id):
            return True
        return any(
            grant.role == "owner" and not grant.personas and grant.holds(room, person_id, None)
            for grant in (*self.configured, *self.kept)
        )

    def has_owner(self, room: Room) -> bool:
        """True if anybody at all could let somebody in here, in the chat."""
        return any(
            grant.role == "owner" and not grant.personas and grant.holds(room, None, None)
            for grant in (*self.configured, *self.kept)
        )

    def is_owned(self, source: str) -> bool:
        """True if somebody of this platform administers all of Moot."""
        return any(
            person.startswith(f"{source}:")
            for grant in (*self.configured, *self.kept)
            if grant.role == "owner" and not (grant.rooms or grant.personas or grant.where)
            for person in grant.people
        )

    def is_owner_everywhere(self, room: Room, person_id: str) -> bool:
        """True if this person may decide what holds beyond this room."""
        if self._is_trusted(room, person_id):
            return True
        owners = (g for g in (*self.configured, *self.kept) if g.role == "owner")
        return any(
            grant.is_for(person_id) and not (grant.rooms or grant.personas or grant.where)
            for grant in owners
        )

    def given(self, person_id: str) -> Role | None:
        """The role that this very person was given for all of the house; None: none."""
        held = [
            grant.role
            for grant in (*self.configured, *self.kept)
            if unaliased(person_id) in grant.people
            and not (grant.rooms or grant.personas or grant.where)
        ]
        return max(held, key=_RANK.__getitem__, default=None)

    def is_named(self, person_id: str) -> bool:
        """True if this very person has a role anywhere, be it in one room."""
        if not is_person_id(person_id):
            return False
        named = unaliased(person_id)
        return any(named in grant.people for grant in (*self.configured, *self.kept))

    def _is_trusted(self, room: Room, person_id: str) -> bool:
        """True on the page for names without an account: only an owner's token brings these."""
        return room.source in TRUSTED and person_id not in self.page_users

    def _rule(self, persona: str, what: str) -> Role:
        own = self.table.personas.get(persona)
        role: Role = getattr(own, what, None) or getattr(self.table, what)
        return role


def reaches(role: Role | None, least: Role) -> bool:
    """True if a role is at least another one."""
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
