"""Copies of words that have to go: what programs wrote and learned loses those words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, select, update

from memory.erasure.plan import ErasurePlan, Key, keys, matches
from memory.private import Traces, public, traces, without
from memory.recall.facts import remove_facts
from store.schema import (
    agent_sessions,
    decisions,
    episodes,
    facts,
    insights,
    landmarks,
    messages,
    observations,
    posts,
    staging,
    tool_uses,
    turns,
)

MARK = "[deleted]"
TOLD_BY_PROGRAMS = (messages, posts, turns, decisions, observations, agent_sessions, episodes)
"""In these their name goes too; what other people wrote may go on mentioning them."""
_O, _S = observations.c, agent_sessions.c
LEARNED: tuple[tuple[Column[Any], ...], ...] = (
    (landmarks.c.text,),
    (insights.c.text, insights.c.question),
    (episodes.c.text, episodes.c.record),
    (staging.c.found,),
    (tool_uses.c.given, tool_uses.c.result),
    (_O.title, _O.subtitle, _O.facts, _O.narrative, _O.concepts, _O.files),
    (_S.title, _S.subtitle, _S.overview),
)
"""All that is learned of a scope but its facts, a table each."""

WRITTEN: tuple[tuple[Column[Any], ...], ...] = (
    (messages.c.content, messages.c.original),
    (posts.c.text,),
    (turns.c.answer,),
    (decisions.c.question,),
    *LEARNED,
    (facts.c.text, facts.c.data),
)
"""The tables that programs and models write. Of messages, only theirs."""


def find_quoted_copies(connection: Connection, plan: ErasurePlan, ids: frozenset[str]) -> None:
    """Take their words out of it; what other people said too in the same words stays."""
    known = _words_of(connection, plan, ids)
    borne = _names_of_others(connection, ids)
    for columns in WRITTEN:
        table = columns[0].table
        assert isinstance(table, Table)

        def take_out(text: str, nameless: bool = table in TOLD_BY_PROGRAMS) -> str:
            kept = without(text, known, MARK)
            return plan.identity.nameless(kept, MARK, borne) if nameless else kept

        _take_out(connection, plan, table, columns, take_out)


def _names_of_others(connection: Connection, ids: frozenset[str]) -> frozenset[str]:
    names = select(messages.c.sender_name).where(messages.c.sender_id.not_in(ids)).distinct()
    return frozenset(connection.execute(names).scalars())


def _words_of(connection: Connection, plan: ErasurePlan, ids: frozenset[str]) -> Traces:
    """Of their messages, of those that a thread's context quotes, and of facts told of them."""
    at = messages.c
    own, others = list[str](), list[str]()
    columns = (at.seq, at.sender_id, at.content, at.original, at.meta)
    for row in connection.execute(select(*columns).where(at.sender_type != "bot")):
        texts = own if row.sender_id in ids else others
        texts += [text for text in (row.content, row.original) if text]
        if "meta" in plan.changed["messages"].get((row.seq,), ()):
            quoted = str(row.meta.get("thread_context") or "").splitlines()
            own += [line for line in quoted if plan.identity.names(line)]
    told = select(facts.c.text).where(facts.c.person.in_(ids), facts.c.first_seq.is_(None))
    own += connection.execute(told).scalars()
    return traces(own) - traces(others)


def _take_out(
    connection: Connection,
    plan: ErasurePlan,
    table: Table,
    columns: tuple[Column[Any], ...],
    take_out: Callable[[str], str],
) -> None:
    of = [table.c.scope] if "scope" in table.c else []
    more = [table.c.id] if table is facts else []
    query = select(*keys(table), *of, *more, *columns)
    if table is messages:
        query = query.where(messages.c.sender_type == "bot")
    for row in connection.execute(query):
        key: Key = tuple(row[: len(keys(table))])
        if key in plan.rows[table.name]:
            continue
        given = {column.name: row._mapping[column.name] for column in columns}
        kept = {name: _mapped(value, take_out) for name, value in given.items()}
        change = {name: value for name, value in kept.items() if value != given[name]}
        if not change:
            continue
        if table is facts:
            change["indexed_by"] = None
            plan.reworded.add(row._mapping["id"])
        if of:
            plan.knowing.add(row._mapping["scope"])
        plan.changed[table.name].setdefault(key, {}).update(change)


# ── Words that are declared private ─────────────────────────────────────────────────────


def remove_private(connection: Connection, scope: str, spans: Sequence[str]) -> list[str]:
    """Take private texts out of all that was learned in a scope.

    Facts that repeat one go, with what was shared of them; returns the ids of those.
    """
    hidden = tuple(spans)
    if not hidden:
        return []
    for columns in LEARNED:
        _reword(connection, columns, columns[0].table.c.scope == scope, hidden)
    of = select(facts.c.id, facts.c.text, facts.c.data).where(facts.c.scope == scope)
    told = [
        row.id
        for row in connection.execute(of)
        if without_private([row.text, row.data], hidden) != [row.text, row.data]
    ]
    return remove_facts(connection, told) if told else []


def remove_words(
    connection: Connection, scope: str, person: str | None, words: Sequence[str]
) -> int:
    """Take some words out of all that was learned in a scope but its facts, its pins and what is
    noted of others than this person, if it is one's; return how many rows they stood in."""
    hidden, count = tuple(words), 0
    for columns in LEARNED:
        table = columns[0].table
        if table is landmarks:
            continue
        of_it = table.c.scope == scope
        if table is insights and person is not None:
            of_it &= insights.c.sender_id == person
        count += _reword(connection, columns, of_it, hidden)
    return count


def _reword(
    connection: Connection,
    columns: tuple[Column[Any], ...],
    of_it: ColumnElement[bool],
    hidden: tuple[str, ...],
) -> int:
    table = columns[0].table
    assert isinstance(table, Table)
    count = 0
    for row in connection.execute(select(*keys(table), *columns).where(of_it)).all():
        given = {column.name: row._mapping[column.name] for column in columns}
        kept = {name: without_private(value, hidden) for name, value in given.items()}
        if kept != given:
            at = matches(table, tuple(row[: len(keys(table))]))
            count += connection.execute(update(table).where(at).values(kept)).rowcount
    return count


def without_private(value: Any, hidden: tuple[str, ...]) -> Any:
    """A JSON value of which every text that repeats a private one loses it; keys stay."""

    def kept(text: str) -> str:
        left = public(text, hidden)
        return text if left == text.strip() else left

    return _mapped(value, kept)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text changed; keys stay."""
    match value:
        case str():
            return change(value)
        case list():
            return [_mapped(item, change) for item in value]
        case dict():
            return {name: _mapped(item, change) for name, item in value.items()}
    return value
