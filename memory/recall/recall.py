"""Recall: the facts that bear on a message, from everywhere that may be read for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, tzinfo
from functools import partial
from itertools import accumulate

import structlog
from sqlalchemy import Connection, column, text

from contract.briefing import Fact
from contract.chat import unaddressed
from memory.given import GivenText
from memory.layers import BriefRequest, LayerAnswers
from memory.private import public
from memory.recall.choice import FoundFact, chosen
from memory.recall.facts import (
    StoredFact,
    count_facts,
    fact_ids,
    facts_by_id,
    forget_other_indexes,
    mark_indexed,
    mark_lost,
    not_indexed,
    remove_facts,
)
from memory.recall.index import Hit, Index, IndexEntry
from memory.recall.telling import telling
from memory.recall.updates import ShownFact, newest_first
from memory.scopes import Gate
from store.database import Store
from store.timestamps import day

log = structlog.stdlib.get_logger("moot.memory")

FETCHED = 10
CROWD = 200  # facts of shown messages, which are often the best hits, and keep no others out
BATCH = 500
INDEX_S = 10.0  # somebody in the chat waits for it

_HOLDING = {  # as many lookups as scopes, however much these hold
    "sqlite": text(
        "SELECT value FROM json_each(:scopes) AS listed WHERE EXISTS"
        " (SELECT 1 FROM facts WHERE scope = listed.value AND replaced_by IS NULL)"
    ).columns(column("value")),
    "postgresql": text(
        "SELECT value FROM json_array_elements_text(CAST(:scopes AS json)) AS listed WHERE EXISTS"
        " (SELECT 1 FROM facts WHERE scope = listed.value AND replaced_by IS NULL)"
    ).columns(column("value")),
}


class Recall:
    """Facts, found by the index, shown from our own table.

    The index may lie: an id that it invents is not in the table, and the scope and the text that
    count are the table's.
    """

    name = "recall"
    deadline_s = 2.0

    def __init__(self, store: Store, index: Index, zone: tzinfo = UTC) -> None:
        """zone: in which the dates of facts are told."""
        self._zone = zone
        self._store = store
        self.held = _HOLDING[store.dialect].exists()
        self._index = index
        self._indexing = asyncio.Lock()

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """The facts that bear on the message, but for what the agent is or was given anyway."""
        gate = ask.invocation.gate
        if not ask.recalls or not (scopes := await self._scopes(gate)):
            return LayerAnswers()
        query = public(unaddressed(ask.text))
        told = telling(query)
        if told.is_idle:
            return LayerAnswers()

        def known(fact: StoredFact) -> bool:
            return _is_given(fact, ask.given, ask.invocation.home)

        found = await self._find(query, gate, scopes, limit=FETCHED, known=known)
        lines = newest_first(chosen(found, told.asks), found)
        new = [
            line
            for line in lines
            if not known(line.found.fact) and not (line.by and known(line.by.fact))
        ]
        return LayerAnswers(recall=self._shown(new))

    def _shown(self, lines: Sequence[ShownFact]) -> tuple[Fact, ...]:
        """The lines in their order: a header puts the highest scores first."""
        scores = accumulate((line.found.score for line in lines), min)
        return tuple(map(self._line, lines, scores))

    def _line(self, line: ShownFact, score: float) -> Fact:
        fact = line.found.fact
        return Fact(
            id=fact.id,
            text=fact.text,
            kind="project" if fact.scope.startswith("project:") else fact.kind,
            date=day(fact.said_at, self._zone),
            origin=fact.origin,
            score=score,
            replaced=day(line.by.fact.said_at, self._zone) if line.by else None,
            about=fact.person_name,
        )

    async def search(self, query: str, gate: Gate, *, limit: int) -> list[tuple[StoredFact, float]]:
        """Facts behind the gate with their scores, best first."""
        scopes = await self._scopes(gate)
        if not scopes or not (query := public(query)):
            return []
        found = await self._find(query, gate, scopes, limit=limit, known=lambda fact: False)
        return [(one.fact, one.score) for one in found if not one.by_change][:limit]

    async def _scopes(self, gate: Gate) -> list[str]:
        """Those behind the gate that hold anything."""
        return await self._store.read(partial(scopes_with_facts, scopes=gate.scopes), small=True)

    async def _find(
        self,
        query: str,
        gate: Gate,
        scopes: Sequence[str],
        *,
        limit: int,
        known: Callable[[StoredFact], bool],
    ) -> list[FoundFact]:
        """Facts behind the gate, best first, `limit` of them that are not known, or all there are,
        and after them those by change."""
        for wanted in (limit * 2, limit * 2 + CROWD):
            hits = await self._index.search(query, scopes, wanted)
            found = await self._rows(hits, gate)
            new = [one for one in found if not one.by_change and not known(one.fact)]
            if len(new) >= limit or len(hits) < wanted:
                break
        return found

    async def _rows(self, hits: Sequence[Hit], gate: Gate) -> list[FoundFact]:
        """The table's rows for the hits, checked again, best first, each once."""
        best: dict[str, Hit] = {}
        for hit in sorted(hits, key=lambda hit: hit.score):
            best[hit.id] = hit
        known = await self._store.read(partial(facts_by_id, ids=list(best)), small=True)
        living = [fact for fact in known.values() if fact.replaced_by is None]
        admitted = gate.admit(self.name, living)
        found = [
            FoundFact(fact, hit.score, hit.bearing, hit.by_change)
            for fact in admitted
            for hit in (best[fact.id],)
        ]
        return sorted(found, key=lambda one: (one.by_change, -one.score, one.fact.seq))

    async def begin(self) -> None:
        """Make the index ready, and let it hold what the table holds.

        Everything is indexed again when another index held it until now, or its file is gone.
        """
        if not await self._store.read(count_facts):
            return  # nothing to find yet: what an index is made with need not be loaded
        await self._index.warm()
        await self._store.write(partial(forget_other_indexes, index=self._index.name))
        await self.sweep()
        await self.index_pending()

    async def sweep(self) -> int:
        """Let the index forget what is not in the table any more; return how many those were.

        What it should hold and doesn't counts as not indexed from now on.
        """
        held = await self._index.ids()
        known = await self._store.read(fact_ids)
        if gone := held - known:
            await self._index.remove(sorted(gone))
        if lost := known - held:
            await self._store.write(partial(mark_lost, ids=sorted(lost)))
        return len(gone)

    async def index_pending(self) -> int:
        """Give the index every fact that it doesn't hold yet; return how many those were."""
        count = 0
        async with self._indexing:
            while pending := await self._store.read(partial(not_indexed, limit=BATCH)):
                await self._index.add([_entry(fact) for fact in pending])
                await self._store.write(partial(mark_indexed, held=pending, index=self._index.name))
                count += len(pending)
        return count

    async def index_soon(self) -> None:
        """Give the index what it doesn't hold yet; a failure is put right by the next time."""
        try:
            async with asyncio.timeout(INDEX_S):
                await self.index_pending()
        except Exception as error:  # a layer's border: the fact is stored, only not found yet
            log.warning("memory.not_indexed", error=type(error).__name__)
            log.debug("memory.not_indexed", exc_info=True)

    async def forget(self, ids: Sequence[str]) -> int:
        """Delete facts, from the table and from the index; return how many went.

        They are gone once the table's rows are: what an index that fails still holds can't be
        shown, and `sweep` removes it.
        """

        def work(connection: Connection) -> list[str]:
            return remove_facts(connection, ids)

        gone = await self._store.write(work)
        try:
            async with asyncio.timeout(INDEX_S):
                await self._index.remove(gone)
        except Exception as error:  # a layer's border: nothing of them can surface any more
            log.warning("memory.not_swept", facts=len(gone), error=type(error).__name__)
            log.debug("memory.not_swept", exc_info=True)
        return len(gone)


def _is_given(fact: StoredFact, given: GivenText, home: str) -> bool:
    """True if an agent that was given this knows the fact: seqs are those of its own scope."""
    if fact.id in given.facts:
        return True
    last = fact.last_seq
    if fact.scope != home or last is None:
        return False
    return given.holds_lines(last if fact.first_seq is None else fact.first_seq, last)


def _entry(fact: StoredFact) -> IndexEntry:
    return IndexEntry(
        id=fact.id,
        scope=fact.scope,
        text=fact.text.removeprefix(f"{fact.person_name}: "),
        at=fact.said_at,
        order=fact.seq,
        person=fact.person_name or "",
        kind=fact.kind,
        source=_conversation(fact),
    )


def _conversation(fact: StoredFact) -> str:
    """Within it messages are each other's context: a thread, and of a room's own talk a day's, for
    a room is about something else tomorrow."""
    day_said = f" {fact.said_at.date()}"
    return fact.source + (day_said if fact.source == fact.scope else "")


def scopes_with_facts(connection: Connection, scopes: Iterable[str]) -> list[str]:
    """The scopes that hold anything, sorted."""
    holding = _HOLDING[connection.dialect.name]
    return sorted(connection.execute(holding, {"scopes": json.dumps(list(scopes))}).scalars())
