"""The plan of an erasure: rows that go, by their keys, and others' rows that lose a part."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from sqlalchemy import Column, Connection, Row, Table, select, tuple_

from contract.looks import normalized
from contract.values import dataclass
from store.gateway_schema import (
    audit,
    audit_head,
    bot_keys,
    bot_states,
    commits,
    figures,
    grants,
    house,
    machine_erasures,
    page_links,
    page_reads,
    page_sessions,
    page_subjects,
    page_tokens,
    page_users,
    pairings,
    persona_files,
    persona_versions,
    refusals,
    room_settings,
    schedules,
    session_records,
    usage,
    worker_erasures,
)
from store.schema import (
    agent_sessions,
    decisions,
    episodes,
    fact_speakers,
    facts,
    insights,
    landmarks,
    messages,
    model_calls,
    observations,
    pointers,
    posts,
    rooms,
    sessions,
    staging,
    tombstones,
    tool_uses,
    turns,
)

COVERED: tuple[Table, ...] = (
    audit, grants, pairings, refusals, usage, persona_versions, room_settings, schedules, figures,
    page_links, page_reads, page_sessions, page_subjects, page_tokens, page_users,
    posts, decisions, tool_uses, observations, insights, landmarks, episodes, staging,
    fact_speakers, facts, sessions, agent_sessions, pointers, model_calls, turns, messages, rooms,
    tombstones, bot_states, bot_keys, house, commits, audit_head, worker_erasures,
    machine_erasures, persona_files, session_records,
)  # fmt: skip
"""Every table there is, in the order in which rows may go."""

CHUNK = 500  # SQLite takes 32,766 values in a statement
Key = tuple[Any, ...]


@dataclass(slots=True)
class ErasurePlan:
    """All that goes with a person who is deleted.

    rows: keys of the rows that go, by table. changed: others' rows that lose a part, as new
    values by key. own: the person's own scopes. knowing: scopes of others whose agents were told
    something. files: paths of attachments. facts: ids of the facts that go. revived: ids of those
    that a fact had replaced which goes. reworded: ids of others' facts that lose a part.
    """

    person: str
    identity: Identity
    rows: dict[str, set[Key]] = field(default_factory=lambda: defaultdict(set))
    changed: dict[str, dict[Key, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    own: set[str] = field(default_factory=set)
    knowing: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    facts: set[str] = field(default_factory=set)
    revived: set[str] = field(default_factory=set)
    reworded: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        """The number of rows that go, by table; tables that lose none left out."""
        return {t.name: len(self.rows[t.name]) for t in COVERED if self.rows.get(t.name)}

    def seqs(self, table: Table) -> set[Any]:
        """The first part of the keys of a table's rows that go."""
        return {key[0] for key in self.rows[table.name]}


def chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    """The values in order, so many at a time as a statement takes."""
    given = sorted(values)
    return (given[at : at + CHUNK] for at in range(0, len(given), CHUNK))


def matches(table: Table, key: Key) -> Any:
    """The condition for one row."""
    return tuple_(*table.primary_key.columns) == tuple_(*key)


def keys(table: Table) -> list[Column[Any]]:
    """The columns that name a row."""
    return list(table.primary_key.columns)


def plan_rows(
    connection: Connection, plan: ErasurePlan, column: Column[Any], values: Iterable[Any]
) -> set[Key]:
    """Let the rows go whose column has one of the values; return the keys that are new."""
    table = column.table
    assert isinstance(table, Table)
    found: set[Key] = set()
    for some in chunks(values):
        rows = connection.execute(select(*keys(table)).where(column.in_(some)))
        found |= {tuple(row) for row in rows}
    fresh = found - plan.rows[table.name]
    plan.rows[table.name] |= fresh
    return fresh


@dataclass(frozen=True, slots=True)
class ErasedMessages:
    """The messages that go.

    by_scope, by_room: their seqs in order. since: when the first was received, by scope, without
    the person's own. posts: their platform ids by room.
    """

    by_scope: Mapping[str, Sequence[int]]
    by_room: Mapping[str, Sequence[int]]
    since: Mapping[str, int]
    posts: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, connection: Connection, plan: ErasurePlan) -> ErasedMessages:
        """Look them up."""
        by_scope, by_room = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        since: dict[str, int] = {}
        posts = set()
        at = messages.c
        columns = (at.seq, at.scope, at.room_id, at.message_id, at.received_at)
        for some in chunks(plan.seqs(messages)):
            for row in connection.execute(
                select(*columns).where(at.seq.in_(some)).order_by(at.seq)
            ):
                posts.add((row.room_id, row.message_id))
                by_room[row.room_id].append(row.seq)
                by_scope[row.scope].append(row.seq)
                if row.scope not in plan.own:
                    since[row.scope] = min(row.received_at, since.get(row.scope, 2**62))
        return cls(by_scope, by_room, since, frozenset(posts))

    def within(self, row: Row[Any]) -> bool:
        """True if a row's range covers one of them."""
        if row.first_seq is None or row.last_seq is None:
            return False
        room_id = row._mapping.get("room_id")
        seqs = self.by_room.get(room_id, ()) if room_id else self.by_scope.get(row.scope, ())
        at = bisect_left(seqs, row.first_seq)
        return at < len(seqs) and seqs[at] <= row.last_seq


def turn_ids(connection: Connection, plan: ErasurePlan) -> set[str]:
    """Ids of the turns that go."""
    found: set[str] = set()
    for some in chunks(plan.seqs(turns)):
        found |= set(connection.execute(select(turns.c.id).where(turns.c.seq.in_(some))).scalars())
    return found


@dataclass(frozen=True)
class Identity:
    """ids: sender ids. mentions: what tags them on their platforms. called: their names."""

    ids: frozenset[str]
    mentions: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    _name: re.Pattern[str] | None = field(init=False, default=None, repr=False, compare=False)
    _id: re.Pattern[str] | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        externals = {one.partition(":")[2] for one in self.ids}
        externals = {one for one in externals if any(map(str.isdecimal, one))}  # else it is a word
        exact = self.ids | self.mentions
        object.__setattr__(self, "_id", _pattern(exact))
        object.__setattr__(self, "_name", _pattern(exact | externals | self.called))

    def identifies(self, text: str) -> bool:
        """True if their id or mention stands in it."""
        return self._id is not None and self._id.search(_plain(text)) is not None

    def names(self, text: str) -> bool:
        """True if anything stands in it that means them, their name included."""
        return self._name is not None and self._name.search(_plain(text)) is not None

    def nameless(self, text: str, mark: str, borne: frozenset[str] = frozenset()) -> str:
        """The text with `mark` for each of their names and mentions, but for names that others
        bear."""
        words = sorted((self.called - borne) | self.mentions, key=len, reverse=True)
        loose = (r"\s+".join(map(re.escape, word.split())) for word in words)
        found = "|".join(rf"(?<!\w){word}(?!\w)" for word in loose if word)
        return re.sub(found, mark, text) if found else text


def _pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """Any of the words, not as a part of a longer one."""
    found = sorted({_plain(word).strip() for word in words} - {""}, key=len, reverse=True)
    if not found:
        return None
    return re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in found))


_BRACKETS = str.maketrans("[]|", "()/")  # as a label shows them


def _plain(text: str) -> str:
    """A name as a label shows it, whatever its case and white space."""
    normal = normalized("NFC", text).translate(_BRACKETS)
    return " ".join(normal.casefold().split())


def identity_of(connection: Connection, ids: frozenset[str]) -> Identity:
    """Look a person up by their messages, and by facts and landmarks."""
    at = messages.c
    called: set[str] = set()
    mentions: set[str] = set()
    spoke = select(at.sender_name, at.mention).where(at.sender_id.in_(ids)).distinct()
    for name, mention in connection.execute(spoke):
        called.add(name)
        mentions.add(mention or "")
    for column, whose in (
        (facts.c.person_name, facts.c.person),
        (landmarks.c.by_name, landmarks.c.by_id),
    ):
        query = select(column).where(whose.in_(ids)).distinct()
        called |= {name or "" for name in connection.execute(query).scalars()}
    return Identity(ids, frozenset(mentions - {""}), frozenset(called - {""}))
