"""[access] in moot.toml: who may do what. Ids are `<source>:<external id>`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gateway.tables import Table, words

Role = Literal["guest", "member", "owner"]
Words = Annotated[frozenset[str], BeforeValidator(words)]


class GrantTable(Table):
    """[[access.grants]]: people who have a role.

    people: ids, or "*": everybody. rooms: ids of rooms; none: everywhere. personas: none: all.
    """

    role: Role
    people: Annotated[Words, Field(min_length=1)]
    rooms: Words = frozenset()
    personas: Words = frozenset()


class PersonaAccessTable(Table):
    """[access.personas.NAME]: what one persona asks for instead of [access]'s own rule."""

    invoke: Role | None = None
    approve: Role | None = None


class AccessTable(Table):
    """[access]: closed unless this says otherwise; see docs/access.md.

    rooms: "open": everybody in a room that a bot was invited to is a member there. dms: likewise in
    direct messages; "pairing": an unknown person gets a code that an owner approves. people:
    members everywhere. approvers: members who may also answer permission questions. owners: may do
    everything. invoke, approve: the least role that may ask an agent, or answer its questions.
    """

    rooms: Literal["open", "closed"] = "closed"
    dms: Literal["open", "pairing", "closed"] = "pairing"
    people: Words = frozenset()
    approvers: Words = frozenset()
    owners: Words = frozenset()
    grants: tuple[GrantTable, ...] = ()
    invoke: Role = "guest"
    approve: Role = "owner"
    personas: dict[str, PersonaAccessTable] = Field(default_factory=dict)
