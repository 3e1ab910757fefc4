"""`moot memory list`, `scopes` and `search`."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import tzinfo
from functools import partial
from typing import Any

from gateway.cli.memory.context import MemoryContext
from memory.browse.admin_stats import count_by_scope, facts_like
from memory.recall.facts import StoredFact
from memory.recall.recall import Recall
from memory.scopes import Gate, check_scope
from store.timestamps import day


async def list_facts(on: MemoryContext) -> int:
    """Facts, in the order in which they came."""
    given, zone = on.given, on.config.gateway.zone
    if given.scope is not None:
        check_scope(given.scope)
    after = 0
    while True:
        work = partial(
            facts_like,
            scope=given.scope,
            person=given.person,
            kind=given.kind,
            replaced=given.replaced,
            after=after,
        )
        page = await on.store.read(work)
        if not page:
            return 0
        for fact in page:
            on.say(fact_line(fact, zone), **_values(fact, zone), replaced_by=fact.replaced_by)
        after = page[-1].seq


async def list_scopes(on: MemoryContext) -> int:
    """The number of facts and other rows, by scope."""
    for census in await on.store.read(count_by_scope):
        rows = {f"{name}s": count for name, count in census.rows.items()}
        told = ", ".join(f"{count} {name}" for name, count in rows.items())
        replaced = f" ({census.replaced} facts replaced)" if census.replaced else ""
        counts = {**rows, "replaced": census.replaced}
        on.say(f"{census.scope}  {told}{replaced}", scope=census.scope, **counts)
    return 0


async def search(on: MemoryContext) -> int:
    """The hits of one query; or with `-` of every line, a line of JSON for each."""
    zone = on.config.gateway.zone
    recall = Recall(on.store, on.searched())
    gate = Gate(frozenset(check_scope(scope) for scope in on.given.scope))
    if on.given.query != "-":
        hits = await recall.search(on.given.query, gate, limit=on.given.limit)
        for fact, score in hits:
            on.say(f"{score:.3f}  {fact_line(fact, zone)}", **_values(fact, zone), score=score)
        if not hits:
            print("nothing is remembered there that fits", file=sys.stderr)  # noqa: T201
        return 0 if hits else 1
    while line := await asyncio.to_thread(sys.stdin.readline):
        query = line.rstrip("\r\n")
        hits = await recall.search(query, gate, limit=on.given.limit)
        found = [{**_values(fact, zone), "score": score} for fact, score in hits]
        on.write_line(json.dumps({"query": query, "hits": found}, ensure_ascii=False))
        on.out.flush()
    return 0


def _values(fact: StoredFact, zone: tzinfo) -> dict[str, Any]:
    return {
        "id": fact.id,
        "seq": fact.seq,
        "scope": fact.scope,
        "text": fact.text,
        "kind": fact.kind,
        "date": day(fact.said_at, zone),
        "person": fact.person or fact.person_name,
        "person_name": fact.person_name,
        "origin": fact.origin,
    }


def fact_line(fact: StoredFact, zone: tzinfo) -> str:
    """A fact on a line, its number first."""
    who = fact.person_name or fact.person
    marks = [fact.kind, day(fact.said_at, zone), who, fact.origin]
    told = ", ".join(mark for mark in marks if mark)
    replaced = ", replaced" if fact.replaced_by else ""
    return f"#{fact.seq}  {fact.scope}  {fact.text}  ({told}{replaced})"
