"""The person who asks about their own memory, and what of it may be seen where they ask."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from contract.errors import MootError
from contract.language import say
from contract.values import dataclass
from memory.insights.insights import StoredNote
from memory.observations.rows import blank_sessions
from memory.recall.facts import StoredFact, every_fact_in, facts_in
from memory.scopes import Gate, Invocation
from store.rows import from_row
from store.schema import episodes, insights, landmarks, observations, staging, tool_uses


class MemoryRefusal(MootError):
    """Something that a person asked of their memory can't be done; the sentence is for them."""


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
        """True where everything is theirs: in a direct message."""
        return self.home.startswith("dm:")

    def gate(self) -> Gate:
        """Lets through what may be seen here."""
        return self.at.gate


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of a person, as far as it may be seen where they ask.

    kept: what is said here is remembered; excluded: the configuration says that it isn't.
    """

    facts: tuple[StoredFact, ...]
    insights: tuple[StoredNote, ...]
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
        raise MemoryRefusal(
            say("{seq} is not about you: only who it is about may do that.", seq=seq)
        )
    raise MemoryRefusal(say("I know no fact {seq} of you here; `!memory` lists them.", seq=seq))


_OF_A_SCOPE = (insights, episodes, staging, landmarks, tool_uses, observations)


def clear(connection: Connection, scope: str) -> int:
    """Delete what every layer made of a scope, but its facts; return how many rows those were."""
    blank_sessions(connection, scope)
    gone = (delete(table).where(table.c.scope == scope) for table in _OF_A_SCOPE)
    return sum(connection.execute(one).rowcount for one in gone)


def about(
    connection: Connection, owner: Owner, gate: Gate, *, replaced: bool = False
) -> list[StoredFact]:
    """The facts about them; in a direct message all that were made of it."""
    found = every_fact_in(connection, sorted(gate.scopes), person=owner.id, replaced=replaced)
    if owner.alone:
        found += every_fact_in(connection, [owner.home], replaced=replaced)
    return sorted({fact.seq: fact for fact in found}.values(), key=lambda fact: fact.seq)


def one(
    connection: Connection, scopes: Sequence[str] | frozenset[str], seq: int, **only: str
) -> StoredFact | None:
    found = facts_in(connection, scopes, after=seq - 1, limit=1, person=only.get("person"))
    return found[0] if found and found[0].seq == seq else None


def notes_on(connection: Connection, owner: Owner) -> list[StoredNote]:
    """The notes on them that were made here."""
    at = insights.c
    query = select(insights).where(at.scope == owner.home, at.sender_id == owner.id)
    rows = connection.execute(query.order_by(at.kind, at.seq))
    return [from_row(StoredNote, row) for row in rows]
