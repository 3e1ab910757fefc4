"""Facts that say the same become one; those that no longer hold are marked by what does.

One scope at a time, and never two in one call. What a model proposes is checked: a merge that
loses or invents a claim is refused and both facts stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime

import structlog
from sqlalchemy import Connection, select

from contract.errors import ModelError
from contract.values import dataclass
from memory.consolidation.key_terms import claims, invented, lost
from memory.consolidation.merging import (
    NEIGHBOURS,
    CurrentFacts,
    age,
    are_kin,
    duplicates,
    may_change,
    merged,
    propose,
    speakers_of,
    unchanged,
)
from memory.cursors import advance, failed, read_cursor
from memory.model import Model
from memory.recall.facts import StoredFact, add_facts, every_fact_in, replace_facts
from memory.recall.index import Index
from memory.recall.recall import Recall
from memory.scopes import Gate
from store.database import Store
from store.schema import facts

log = structlog.stdlib.get_logger("moot.memory")

LAYER = "consolidation"
MOST_CALLS = 100  # a scope and pass: the rest waits for the next night
GROUP = 6  # facts in one question; more are mixed up by small models
PATIENCE = 3  # passes that may fail at one fact for good before it is left out


@dataclass(slots=True)
class Outcome:
    """The result of a pass over one scope. gone: ids that are recalled no more. refused: proposals
    that would have lost or invented something. stopped: it could not go on; the next pass does."""

    scope: str
    merged: int = 0
    superseded: int = 0
    duplicates: int = 0
    refused: int = 0
    calls: int = 0
    stopped: bool = False
    gone: list[str] = field(default_factory=list)


class Consolidation:
    """Goes over scopes. index, model: None when there is none.

    model: gives the model that works for a scope, so that its calls are recorded as that scope's.
    """

    def __init__(
        self,
        store: Store,
        *,
        index: Index | None,
        model: Callable[[str], Model] | None,
        clock: Callable[[], datetime],
        most_calls: int = MOST_CALLS,
    ) -> None:
        self._store = store
        self._index = index
        self._recall = Recall(store, index) if index is not None else None
        self._model = model
        self._clock = clock
        self._most_calls = most_calls
        self._made: set[str] = set()  # facts of our own are settled already

    async def run(self, scope: str) -> Outcome:
        """One pass over a scope: duplicates first, then what is new since the last pass."""
        outcome = Outcome(scope)
        await self._drop_duplicates(outcome)
        if self._model is not None:
            await self._tidy(self._model(scope), outcome)
        await self._tell_index(outcome)
        log.info(
            "memory.consolidated",
            merged=outcome.merged,
            superseded=outcome.superseded,
            duplicates=outcome.duplicates,
            refused=outcome.refused,
            calls=outcome.calls,
        )
        return outcome

    async def run_all(self) -> list[Outcome]:
        """One pass over every scope, one after the other."""
        return [await self.run(scope) for scope in await self._store.read(scopes_to_consolidate)]

    async def _drop_duplicates(self, outcome: Outcome) -> None:
        for same in await self._store.read(lambda c: duplicates(c, outcome.scope)):
            newest, older = same[-1], same[:-1]
            if await self._supersede(older, newest):
                outcome.duplicates += len(older)
                outcome.gone += [fact.id for fact in older]

    async def _tidy(self, model: Model, outcome: Outcome) -> None:
        """Ask about every group with a fact that is newer than the last pass."""
        scope = outcome.scope
        pointer = await self._store.read(lambda c: read_cursor(c, LAYER, scope))
        asked: set[frozenset[str]] = set()
        done = pointer.seq
        while True:
            facts = await self._store.read(lambda c: CurrentFacts.of(every_fact_in(c, [scope])))
            fresh = [fact for fact in facts.by_id.values() if fact.seq > done]
            if not fresh:
                return
            for fact in fresh:
                group = await self._group(fact, facts)
                ids = frozenset(one.id for one in group)
                if len(group) > 1 and not any(ids <= known for known in asked):
                    if outcome.calls >= self._most_calls:
                        outcome.stopped = True
                        return
                    asked.add(ids)
                    patient = pointer.failures < PATIENCE or fact.seq != fresh[0].seq
                    if not await self._settle(model, group, facts, outcome, patient):
                        await self._store.write(lambda c: failed(c, LAYER, scope, self._clock()))
                        outcome.stopped = True
                        return
                    await self._advance(scope, fact.seq)
                done = fact.seq
            await self._advance(scope, done)

    async def _advance(self, scope: str, seq: int) -> None:
        await self._store.write(lambda c: advance(c, LAYER, scope, seq, self._clock()))

    async def _group(self, fact: StoredFact, facts: CurrentFacts) -> list[StoredFact]:
        """The fact and those most like it, oldest first; none when it is not to be changed."""
        if fact.id not in facts.by_id or fact.id in self._made or not may_change(fact):
            return []
        if self._recall is None:
            near = facts.near(fact)
        else:
            gate = Gate(frozenset({fact.scope}))
            hits = await self._recall.search(fact.text, gate, limit=NEIGHBOURS)
            near = [one for one, _ in hits if facts.words[fact.id] & claims(one.text)]
        kin = [one for one in near if one.id in facts.by_id and one.id != fact.id]
        kin = [one for one in kin if are_kin(fact, one)]
        return sorted([fact, *kin[: GROUP - 1]], key=age)

    async def _settle(
        self,
        model: Model,
        group: list[StoredFact],
        facts: CurrentFacts,
        outcome: Outcome,
        patient: bool,
    ) -> bool:
        """Ask about one group and do what holds; False: the model is not to be had now."""
        try:
            proposal, calls = await propose(model, group)
        except ModelError as error:
            log.warning("memory.not_consolidated", reason=error)
            if patient or error.passing:
                return False
            proposal, calls = None, 1
        outcome.calls += calls
        if proposal is None:
            outcome.refused += 1
            return True
        for merge in proposal.merges:
            await self._merge([group[n - 1] for n in merge.facts], merge.sentence, facts, outcome)
        for entry in proposal.superseded:
            old, new = group[entry.outdated - 1], group[entry.later - 1]
            apart = age(old) > age(new) or not claims(old.text) & claims(new.text)
            if apart or not await self._supersede([old], new):
                outcome.refused += 1
                continue
            outcome.superseded += 1
            outcome.gone.append(old.id)
            facts.by_id.pop(old.id, None)
        return True

    async def _merge(
        self,
        old: list[StoredFact],
        sentence: str,
        facts: CurrentFacts,
        outcome: Outcome,
    ) -> None:
        texts = [fact.text for fact in old]
        if lost(texts, sentence) or invented(texts, sentence):
            outcome.refused += 1
            return

        def work(connection: Connection) -> StoredFact | None:
            if not unchanged(connection, old):
                return None
            speakers = speakers_of(connection, old)
            [new] = add_facts(connection, [merged(old, sentence, speakers)], self._clock())
            replace_facts(connection, [fact.id for fact in old], new.id)
            return new

        new = await self._store.write(work)
        if new is None:
            return
        self._made.add(new.id)
        outcome.merged += 1
        outcome.gone += [fact.id for fact in old]
        for fact in old:
            facts.by_id.pop(fact.id, None)

    async def _supersede(self, old: Sequence[StoredFact], by: StoredFact) -> bool:
        def work(connection: Connection) -> bool:
            if not unchanged(connection, [*old, by]):
                return False
            replace_facts(connection, [fact.id for fact in old], by.id)
            return True

        return await self._store.write(work)

    async def _tell_index(self, outcome: Outcome) -> None:
        if self._index is None or self._recall is None:
            return
        if outcome.gone:
            await self._index.remove(outcome.gone)
        if outcome.merged:
            await self._recall.index_pending()


def scopes_to_consolidate(connection: Connection) -> list[str]:
    """Every scope with facts."""
    query = select(facts.c.scope).where(facts.c.replaced_by.is_(None)).distinct()
    return sorted(connection.execute(query).scalars())
