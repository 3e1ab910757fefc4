"""Counts for administrators: facts by their marks, rows by scope, the table against the index."""

from __future__ import annotations

from sqlalchemy import Connection, and_, func, or_, select, update

from contract.values import dataclass
from memory.recall.facts import StoredFact, facts_by_id
from memory.transfer.rows import TABLES
from store.schema import fact_speakers, facts

PAGE = 500
COUNTED = ("fact", "landmark", "episode", "insight", "observation")

_F = facts.c


@dataclass(frozen=True, slots=True)
class ScopeCounts:
    """The number of rows of each kind in a scope; facts that were replaced are counted apart."""

    scope: str
    rows: dict[str, int]
    replaced: int


@dataclass(frozen=True, slots=True)
class IndexComparison:
    """The table and the index. missing: facts that the index doesn't hold; waiting: those of them
    that it was not given yet. orphaned: entries of no fact. All are ids."""

    facts: int
    missing: frozenset[str]
    waiting: frozenset[str]
    orphaned: frozenset[str]

    @property
    def sound(self) -> bool:
        """True when the index holds all that it should."""
        return not self.orphaned and self.missing <= self.waiting


def facts_like(
    connection: Connection,
    *,
    scope: str | None = None,
    person: str | None = None,
    kind: str | None = None,
    replaced: bool = False,
    after: int = 0,
) -> list[StoredFact]:
    """A page of facts with seq > `after`, in their order.

    person: a sender id or a name; those about them, or made from their words.
    """
    query = select(_F.id).where(_F.seq > after).order_by(_F.seq).limit(PAGE)
    if scope is not None:
        query = query.where(_F.scope == scope)
    if kind is not None:
        query = query.where(_F.kind == kind)
    if not replaced:
        query = query.where(_F.replaced_by.is_(None))
    if person is not None:
        spoke = select(fact_speakers.c.fact_seq).where(fact_speakers.c.sender_id == person)
        query = query.where(or_(_F.person == person, _F.person_name == person, _F.seq.in_(spoke)))
    ids = list(connection.execute(query).scalars())
    found = facts_by_id(connection, ids)
    return [found[one] for one in ids]


def count_by_scope(connection: Connection) -> list[ScopeCounts]:
    """Every scope that memory holds anything of, sorted."""
    counts: dict[str, dict[str, int]] = {}
    for name in COUNTED:
        table = TABLES[name]
        query = select(table.c.scope, func.count()).group_by(table.c.scope)
        for scope, count in connection.execute(query):
            counts.setdefault(scope, {})[name] = count
    query = select(_F.scope, func.count()).where(_F.replaced_by.is_not(None)).group_by(_F.scope)
    replaced = {row[0]: row[1] for row in connection.execute(query)}
    return [ScopeCounts(scope, counts[scope], replaced.get(scope, 0)) for scope in sorted(counts)]


def compare(connection: Connection, held: set[str], index: str) -> IndexComparison:
    """Compare the table with an index of this name that holds these ids."""
    every, living, waiting = set[str](), set[str](), set[str]()
    for row in connection.execute(select(_F.id, _F.replaced_by, _F.indexed_by)):
        every.add(row.id)
        if row.replaced_by is None:
            living.add(row.id)
            if row.indexed_by != index:
                waiting.add(row.id)
    missing = living - held
    return IndexComparison(
        len(living), frozenset(missing), frozenset(waiting & missing), frozenset(held - every)
    )


def forget_index(connection: Connection) -> int:
    """Let every fact count as not indexed; return how many are to be."""
    connection.execute(update(facts).values(indexed_by=None))
    return count_waiting(connection)


def count_waiting(connection: Connection) -> int:
    """The number of facts that no index holds."""
    waiting = and_(_F.indexed_by.is_(None), _F.replaced_by.is_(None))
    return connection.execute(select(func.count()).select_from(facts).where(waiting)).scalar_one()
