"""[access] in moot.toml: who may do what. Ids are `<source>:<external id>`."""

from __future__ import annotations

from typing import Annotated, Literal

import regex
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gateway.settings.danger import DANGEROUS, Danger
from gateway.settings.person_ids import EXAMPLE, RoomIds, is_person_id
from gateway.settings.tables import PersonaName, Table, words

Role = Literal["guest", "member", "owner"]
SecondPerson = Literal["never", "dangerous", "always"]
EVERYBODY = "*"


def _people(ids: frozenset[str]) -> frozenset[str]:
    for id_ in sorted(ids):
        if id_ == EVERYBODY:
            raise ValueError('"*" stands in [[access.grants]] only; or say rooms = "open"')
        if not is_person_id(id_):
            raise ValueError(f"{id_!r} is nobody's id; {EXAMPLE}")
    return ids


def _people_or_everybody(ids: frozenset[str]) -> frozenset[str]:
    _people(ids - {EVERYBODY})
    return ids


def _patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            Danger.of([pattern])
        except regex.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return patterns


Words = Annotated[frozenset[str], BeforeValidator(words)]
PersonaNames = Annotated[frozenset[PersonaName], BeforeValidator(words)]
People = Annotated[Words, AfterValidator(_people)]


class GrantTable(Table):
    """[[access.grants]]: people who have a role."""

    role: Role
    people: Annotated[Words, Field(min_length=1), AfterValidator(_people_or_everybody)]
    rooms: Annotated[RoomIds, BeforeValidator(words)] = frozenset()
    personas: PersonaNames = frozenset()

    @model_validator(mode="after")
    def _named_owners(self) -> GrantTable:
        if self.role == "owner" and EVERYBODY in self.people:
            raise ValueError('owners are named: role = "owner" doesn\'t go with people = "*"')
        return self


class PersonaAccessTable(Table):
    """[access.personas.NAME]: what one persona asks for instead of [access]'s own rule."""

    invoke: Role | None = None
    approve: Role | None = None
    second_person: SecondPerson | None = None


class AccessTable(Table):
    """[access]: closed unless this says otherwise; see docs/access.md."""

    rooms: Literal["open", "closed"] = "closed"
    dms: Literal["open", "pairing", "closed"] = "pairing"
    people: People = frozenset()
    approvers: People = frozenset()
    owners: People = frozenset()
    grants: tuple[GrantTable, ...] = ()
    invoke: Role = "guest"
    approve: Role = "owner"
    second_person: SecondPerson = "never"
    dangerous: Annotated[tuple[str, ...], AfterValidator(_patterns)] = DANGEROUS
    personas: dict[PersonaName, PersonaAccessTable] = Field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if nobody at all may ask by it."""
        named = self.people | self.approvers | self.owners
        return not named and not self.grants and "open" not in (self.rooms, self.dms)
