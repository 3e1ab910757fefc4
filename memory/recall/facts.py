"""Facts, one sentence each: the table that every index can be made from again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import (
    Connection,
    Row,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from contract.values import dataclass
from memory.scopes import check_scope
from store.rows import from_row
from store.schema import fact_speakers, facts
from store.timestamps import micros

Kind = Literal[
    "decision", "request", "discussion", "attempt",  # extracted
    "fact", "preference",  # shared or imported
    "message",  # a person's own words, where no model extracts
    "project",  # printed as `(project memory)`
]  # fmt: skip

SHARED = "!share"
"""The source of a copy that its person let others see."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to be stored.

    person, person_name: whom it is about; None where that is not one person. origin: for people,
    "DM" or "#room". source: a session, "!share", "import". first_seq, last_seq: range of the
    messages it was made from. speakers: sender ids of whose words it was made. data: the entry as
    it was extracted. id: given only by an import.
    """

    scope: str
    kind: str
    text: str
    said_at: datetime
    source: str
    person: str | None = None
    person_name: str | None = None
    persona: str | None = None
    origin: str | None = None
    room_id: str | None = None
    first_seq: int | None = None
    last_seq: int | None = None
    speakers: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    shared_from: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact as it lies on disk. seq: what people call it by. Fields as in NewFact."""

    seq: int
    id: str
    scope: str
    kind: str
    text: str
    said_at: datetime
    created_at: datetime
    source: str
    person: str | None
    person_name: str | None
    persona: str | None
    origin: str | None
    room_id: str | None
    first_seq: int | None
    last_seq: int | None
    data: dict[str, Any]
    shared_from: str | None
    replaced_by: str | None
    indexed_by: str | None


def origin_of(kind: str, room_name: str) -> str:
    """The place where something was learned, for people: "DM", "group DM" or "#room"."""
    return {"room": f"#{room_name.removeprefix('#')}", "gdm": "group DM"}.get(kind, "DM")


def _fact(row: Row[Any]) -> StoredFact:
    return from_row(StoredFact, row)


# Functions of a connection: they run inside Store.read or Store.write.

_F = facts.c
_ADD = insert(facts).returning(facts, sort_by_parameter_order=True)
_ADD_SPEAKERS = insert(fact_speakers)
_ALL = select(facts).order_by(_F.seq)
_BY_IDS = select(facts).where(_F.id.in_(bindparam("ids", expanding=True)))
_NOT_INDEXED = _ALL.where(_F.indexed_by.is_(None), _F.replaced_by.is_(None)).limit(
    bindparam("size")
)
_MARK = (
    update(facts)
    .where(_F.seq.in_(bindparam("held", expanding=True)))
    .values(indexed_by=bindparam("index"))
)
_KIN = select(_F.id).where(
    or_(
        _F.shared_from.in_(bindparam("ids", expanding=True)),
        _F.replaced_by.in_(bindparam("ids", expanding=True)),
    )
)


def add_facts(connection: Connection, new: Sequence[NewFact], now: datetime) -> list[StoredFact]:
    """Store facts in their order; return them as they lie there."""
    if not new:
        return []
    added = [_fact(row) for row in connection.execute(_ADD, [_values(one, now) for one in new])]
    spoke = [
        {"fact_seq": fact.seq, "sender_id": speaker}
        for fact, one in zip(added, new, strict=True)
        for speaker in dict.fromkeys(one.speakers)
    ]
    if spoke:
        connection.execute(_ADD_SPEAKERS, spoke)
    return added


def _values(new: NewFact, now: datetime) -> dict[str, Any]:
    check_scope(new.scope)
    return {
        "id": new.id or uuid4().hex,
        "scope": new.scope,
        "kind": new.kind,
        "text": new.text,
        "person": new.person,
        "person_name": new.person_name,
        "persona": new.persona,
        "origin": new.origin,
        "source": new.source,
        "room_id": new.room_id,
        "first_seq": new.first_seq,
        "last_seq": new.last_seq,
        "data": new.data,
        "said_at": micros(new.said_at),
        "created_at": micros(now),
        "shared_from": new.shared_from,
        "replaced_by": None,
        "indexed_by": None,
    }


def facts_by_id(connection: Connection, ids: Sequence[str]) -> dict[str, StoredFact]:
    """The facts with these ids, those that were replaced included; unknown ids are left out."""
    rows = connection.execute(_BY_IDS, {"ids": list(ids)})
    return {fact.id: fact for fact in map(_fact, rows)}


def facts_numbered(connection: Connection, number: int) -> list[StoredFact]:
    """The fact that people know by this number; none: there is none."""
    ids = connection.execute(select(facts.c.id).where(facts.c.seq == number)).scalars().all()
    return list(facts_by_id(connection, ids).values())


def facts_in(
    connection: Connection,
    scopes: Iterable[str],
    *,
    person: str | None = None,
    replaced: bool = False,
    after: int = 0,
    limit: int = 1000,
) -> list[StoredFact]:
    """The facts of these scopes with seq > `after`, in their order.

    person: only those about this person, or made from this person's words alone.
    replaced: those that another fact took the place of, too.
    """
    query = _ALL.where(_F.scope.in_(sorted(scopes)), _F.seq > after).limit(limit)
    if person is not None:
        spoke = select(fact_speakers.c.fact_seq).where(fact_speakers.c.sender_id == person)
        others = select(fact_speakers.c.fact_seq).where(fact_speakers.c.sender_id != person)
        alone = _F.seq.in_(spoke) & _F.seq.not_in(others)
        query = query.where(or_(_F.person == person, alone & _F.person.is_(None)))
    if not replaced:
        query = query.where(_F.replaced_by.is_(None))
    return [_fact(row) for row in connection.execute(query)]


def every_fact_in(
    connection: Connection,
    scopes: Iterable[str],
    *,
    person: str | None = None,
    replaced: bool = False,
) -> list[StoredFact]:
    """The same without an end to their number."""
    asked = list(scopes)
    found: list[StoredFact] = []
    while page := facts_in(
        connection,
        asked,
        person=person,
        replaced=replaced,
        after=found[-1].seq if found else 0,
    ):
        found += page
    return found


def shared_of_message(connection: Connection, person: str, seq: int) -> list[StoredFact]:
    """What a person shared of their message in its own words: by a reply to it, or within it."""
    query = _ALL.where(_F.person == person, _F.source == SHARED, _F.shared_from.is_(None))
    found = map(_fact, connection.execute(query))
    return [fact for fact in found if fact.data.get("message_seq") == seq]


def words_of(fact: StoredFact) -> str:
    """What a fact says, without the name that stands before it."""
    return " ".join(fact.text.removeprefix(f"{fact.person_name}:").split())


def remove_facts(connection: Connection, ids: Sequence[str]) -> list[str]:
    """Delete facts, what was shared from them, and what they took the place of.

    Returns the ids of all that went.
    """
    gone = list(dict.fromkeys(ids))
    fresh = gone
    while fresh:
        found = connection.execute(_KIN, {"ids": fresh}).scalars().all()
        fresh = [item for item in found if item not in gone]
        gone += fresh
    seqs = select(_F.seq).where(_F.id.in_(gone))
    connection.execute(delete(fact_speakers).where(fact_speakers.c.fact_seq.in_(seqs)))
    connection.execute(delete(facts).where(_F.id.in_(gone)))
    return gone


def replace_facts(connection: Connection, ids: Sequence[str], by: str) -> None:
    """Mark facts as replaced by another one; they stay on record and are recalled no more."""
    connection.execute(update(facts).where(_F.id.in_(ids), _F.id != by).values(replaced_by=by))


def mark_indexed(connection: Connection, held: Sequence[StoredFact], index: str) -> None:
    """Note that an index holds these facts."""
    seqs = [fact.seq for fact in held]
    connection.execute(_MARK, {"held": seqs, "index": index})


def mark_lost(connection: Connection, ids: Sequence[str]) -> None:
    """Let facts that no index holds after all count as not indexed."""
    for start in range(0, len(ids), 1_000):
        part = ids[start : start + 1_000]
        connection.execute(update(facts).where(_F.id.in_(part)).values(indexed_by=None))


def forget_other_indexes(connection: Connection, index: str) -> None:
    """Let every fact that another index holds count as not indexed."""
    connection.execute(update(facts).where(_F.indexed_by != index).values(indexed_by=None))


def not_indexed(connection: Connection, limit: int) -> list[StoredFact]:
    """Facts that are recalled and that no index holds yet, oldest first."""
    return [_fact(row) for row in connection.execute(_NOT_INDEXED, {"size": limit})]


def fact_ids(connection: Connection) -> set[str]:
    """The ids of all facts."""
    return set(connection.execute(select(_F.id)).scalars())


def last_fact(connection: Connection) -> tuple[int, int]:
    """The number of facts, and the seq of the newest, 0 where there is none."""
    count, last = connection.execute(select(func.count(), func.max(_F.seq))).one()
    return count, last or 0


def count_until(connection: Connection, seq: int) -> int:
    """The number of facts up to a seq: it is less once one of them is gone."""
    return connection.execute(
        select(func.count()).select_from(facts).where(_F.seq <= seq)
    ).scalar_one()


def count_facts(connection: Connection) -> int:
    """The number of facts."""
    return connection.execute(select(func.count()).select_from(facts)).scalar_one()
