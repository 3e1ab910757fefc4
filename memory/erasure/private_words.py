"""What was learned of words that somebody declared private afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, select, update

from memory.erasure.plan import keys, matches
from memory.private import public
from memory.recall.facts import remove_facts
from store.schema import (
    agent_sessions,
    episodes,
    facts,
    insights,
    landmarks,
    observations,
    staging,
    tool_uses,
)

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


def remove_private(connection: Connection, scope: str, spans: Sequence[str]) -> list[str]:
    """Take private texts out of all that was learned in a scope.

    Facts that repeat one go, with what was shared of them; returns the ids of those.
    """
    hidden = tuple(spans)
    if not hidden:
        return []
    for columns in LEARNED:
        table = columns[0].table
        assert isinstance(table, Table)
        query = select(*keys(table), *columns).where(table.c.scope == scope)
        for row in connection.execute(query).all():
            given = {column.name: row._mapping[column.name] for column in columns}
            kept = {name: without_private(value, hidden) for name, value in given.items()}
            if kept != given:
                at = matches(table, tuple(row[: len(keys(table))]))
                connection.execute(update(table).where(at).values(kept))
    of = select(facts.c.id, facts.c.text, facts.c.data).where(facts.c.scope == scope)
    told = [
        row.id
        for row in connection.execute(of)
        if without_private([row.text, row.data], hidden) != [row.text, row.data]
    ]
    return remove_facts(connection, told) if told else []


def without_private(value: Any, hidden: tuple[str, ...]) -> Any:
    """A JSON value of which every text that repeats a private one loses it; keys stay."""
    match value:
        case str():
            kept = public(value, hidden)
            return value if kept == value.strip() else kept
        case list():
            return [without_private(item, hidden) for item in value]
        case dict():
            return {name: without_private(item, hidden) for name, item in value.items()}
    return value
