"""Who asks about their own memory, and what of it may be seen where they ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from contract.errors import MootError
from memory.observations.rows import blank_sessions
from memory.recall.facts import StoredFact, every_fact_in, facts_in
from memory.scopes import Gate, Invocation
from store.schema import episodes, insights, landmarks, observations, staging, tool_uses


class MemoryRefusal(MootError):
    """What a person asked of their memory can't be done; the sentence is for them."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody who speaks about their own memory, and where: it bounds what they see and touch."""

    at: Invocation
    name: str

    @property
    def id(self) -> str:
        """Their sender id."""
        return self.at.sender_id

    @property
    def home(self) -> str:
        """The scope of what is said here."""
        return self.at.home

    @property
    def profile(self) -> str:
        """The scope of what they shared."""
        return f"profile:{self.id}"

    @property
    def alone(self) -> bool:
        """Whether everything here is theirs: a direct message."""
        return self.home.startswith("dm:")

    def gate(self) -> Gate:
        """What may be seen here."""
        return self.at.gate


@dataclass(frozen=True, slots=True)
class Insight:
    """A note on a person as it lies on disk. kind: "pin" or "recommendation"."""

    scope: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a person, as far as it may be seen where they ask.

    kept: what is said here is remembered; excluded: the configuration says that it isn't.
    """

    facts: tuple[StoredFact, ...]
    insights: tuple[Insight, ...]
    kept: bool
    excluded: bool


# Functions of a connection: they run inside Store.read or Store.write.


def visible(
    connection: Connection, owner: Owner, seq: int, *, or_said_alone: bool = False
) -> StoredFact:
    """Their fact of that number, if it may be seen here. Raises Refusal.

    or_said_alone: any fact of their own direct message will do, whomever it is about.
    """
    gate = owner.gate()
    mine = one(connection, gate.scopes, seq, person=owner.id)
    if mine is None and or_said_alone and owner.alone:
        mine = one(connection, [owner.home], seq)
    if mine is not None and gate.admit("facts", [mine]):
        return mine
    if one(connection, gate.scopes, seq) is not None:
        raise MemoryRefusal(f"{seq} is not about you: only who it is about may do that.")
    raise MemoryRefusal(f"I know no fact {seq} of you here; `!memory` lists them.")


_OF_A_SCOPE = (insights, episodes, staging, landmarks, tool_uses, observations)


def clear(connection: Connection, scope: str) -> None:
    """Delete what every layer made of a scope, but its facts."""
    for table in _OF_A_SCOPE:
        connection.execute(delete(table).where(table.c.scope == scope))
    blank_sessions(connection, scope)


def about(
    connection: Connection, owner: Owner, gate: Gate, *, replaced: bool = False
) -> list[StoredFact]:
    """What is known of them; in a direct message that is all that was made of it."""
    found = every_fact_in(connection, sorted(gate.scopes), person=owner.id, replaced=replaced)
    if owner.alone:
        found += every_fact_in(connection, [owner.home], replaced=replaced)
    return sorted({fact.seq: fact for fact in found}.values(), key=lambda fact: fact.seq)


def one(
    connection: Connection, scopes: Sequence[str] | frozenset[str], seq: int, **only: str
) -> StoredFact | None:
    found = facts_in(connection, scopes, after=seq - 1, limit=1, person=only.get("person"))
    return found[0] if found and found[0].seq == seq else None


def insights_of(connection: Connection, owner: Owner) -> list[Insight]:
    table = insights.c
    query = select(table.scope, table.kind, table.text).order_by(table.kind, table.seq)
    key = (table.scope == owner.home) & (table.sender_id == owner.id)
    return [Insight(*row) for row in connection.execute(query.where(key))]
