"""Facts that say the same become one; those that no longer hold are marked by what does.

One scope at a time, and never two in one call. What a model proposes is checked: a merge that
loses or invents a claim is refused and both facts stay.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, select

from contract import ModelError
from memory.claims import claims, invented, lost, normalised
from memory.facts import NewFact, StoredFact, add_facts, every_fact_in, facts_by_id, replace_facts
from memory.gate import Gate
from memory.index import Index
from memory.model import Model
from memory.pointers import advance, failed, read_pointer
from memory.proposals import propose
from memory.recall import Recall
from memory.schema import fact_speakers, facts, messages
from memory.store import Store

log = logging.getLogger("moot.memory")

LAYER = "consolidation"
MOST_CALLS = 100  # a scope and pass: the rest waits for the next night
GROUP = 6  # facts in one question; more are mixed up by small models
NEIGHBOURS = 12  # hits looked at for a group
TELLING = 100  # facts of a scope that may share a word before it tells nothing
PATIENCE = 3  # passes that may fail at one fact for good before it is left out


@dataclass(slots=True)
class Outcome:
    """What a pass over one scope did. gone: ids that are recalled no more. refused: proposals that
    would have lost or invented something. stopped: it could not go on; the next pass does."""

    scope: str
    merged: int = 0
    superseded: int = 0
    duplicates: int = 0
    refused: int = 0
    calls: int = 0
    stopped: bool = False
    gone: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Living:
    """The facts of a scope that none has replaced. by_word: ids of those that say a word."""

    by_id: dict[str, StoredFact]
    words: dict[str, frozenset[str]]
    by_word: dict[str, list[str]]

    @classmethod
    def of(cls, facts: Sequence[StoredFact]) -> Living:
        """Look at every word; for a reader's thread."""
        said = {fact.id: claims(fact.text) for fact in facts}
        by_word: dict[str, list[str]] = {}
        for fact_id, its in said.items():
            for word in its:
                by_word.setdefault(word, []).append(fact_id)
        return cls({fact.id: fact for fact in facts}, said, by_word)

    def near(self, fact: StoredFact) -> list[StoredFact]:
        """The facts with which it shares the most words; words of many facts don't count."""
        telling = (self.by_word[word] for word in self.words[fact.id])
        shared = Counter(one for ids in telling if len(ids) <= TELLING for one in ids)
        best = shared.most_common(NEIGHBOURS + 1)
        return [self.by_id[one] for one, _ in best if one in self.by_id]


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
            "memory.consolidated merged=%d superseded=%d duplicates=%d refused=%d calls=%d",
            outcome.merged,
            outcome.superseded,
            outcome.duplicates,
            outcome.refused,
            outcome.calls,
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
        pointer = await self._store.read(lambda c: read_pointer(c, LAYER, scope))
        asked: set[frozenset[str]] = set()
        done = pointer.seq
        while True:
            facts = await self._store.read(lambda c: Living.of(every_fact_in(c, [scope])))
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

    async def _group(self, fact: StoredFact, facts: Living) -> list[StoredFact]:
        """The fact and those most like it, oldest first; none when it is not to be changed."""
        if fact.id not in facts.by_id or fact.id in self._made or not _may_change(fact):
            return []
        if self._recall is None:
            near = facts.near(fact)
        else:
            gate = Gate(frozenset({fact.scope}))
            hits = await self._recall.search(fact.text, gate, limit=NEIGHBOURS)
            near = [one for one, _ in hits if facts.words[fact.id] & claims(one.text)]
        kin = [one for one in near if one.id in facts.by_id and one.id != fact.id]
        kin = [one for one in kin if _kin(fact, one)]
        return sorted([fact, *kin[: GROUP - 1]], key=_age)

    async def _settle(
        self,
        model: Model,
        group: list[StoredFact],
        facts: Living,
        outcome: Outcome,
        patient: bool,
    ) -> bool:
        """Ask about one group and do what holds; False: the model is not to be had now."""
        try:
            proposal, calls = await propose(model, group)
        except ModelError as error:
            log.warning("memory.not_consolidated reason=%s", error)
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
            apart = _age(old) > _age(new) or not claims(old.text) & claims(new.text)
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
        facts: Living,
        outcome: Outcome,
    ) -> None:
        texts = [fact.text for fact in old]
        if lost(texts, sentence) or invented(texts, sentence):
            outcome.refused += 1
            return

        def work(connection: Connection) -> StoredFact | None:
            if not _unchanged(connection, old):
                return None
            speakers = _speakers(connection, old)
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
            if not _unchanged(connection, [*old, by]):
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


def duplicates(connection: Connection, scope: str) -> list[list[StoredFact]]:
    """Groups of facts with the same text but for case, white space and marks; oldest first."""
    groups: dict[object, list[StoredFact]] = {}
    for fact in every_fact_in(connection, [scope]):
        key = (fact.kind, fact.person, fact.person_name, fact.shared_from)
        if said := normalised(fact.text):
            groups.setdefault((*key, said), []).append(fact)
    return [sorted(same, key=_age) for same in groups.values() if len(same) > 1]


def _age(fact: StoredFact) -> tuple[datetime, int]:
    return (fact.said_at, fact.seq)


def _may_change(fact: StoredFact) -> bool:
    """Not a person's own words, and not what they shared: that goes when its origin goes."""
    return fact.kind != "message" and fact.shared_from is None


def _family(kind: str) -> str:
    return "fact" if kind == "preference" else kind


def _kin(one: StoredFact, other: StoredFact) -> bool:
    """Whether two facts may become one: of one scope, about one person, of one kind."""
    same = (one.scope, one.person, _family(one.kind)) == (
        other.scope,
        other.person,
        _family(other.kind),
    )
    named = one.person is not None or one.person_name == other.person_name
    return same and named and _may_change(one) and _may_change(other)


def _unchanged(connection: Connection, given: Sequence[StoredFact]) -> bool:
    """Whether the facts are all still there, and none was replaced meanwhile."""
    now = facts_by_id(connection, [fact.id for fact in given])
    return all(
        fact.id in now and now[fact.id].text == fact.text and now[fact.id].replaced_by is None
        for fact in given
    )


def _speakers(connection: Connection, given: Sequence[StoredFact]) -> set[str]:
    """Whose words the facts were made from; where that is not on record, who spoke there."""
    found: set[str] = set()
    at = messages.c
    for fact in given:
        known = select(fact_speakers.c.sender_id).where(fact_speakers.c.fact_seq == fact.seq)
        spoke = set(connection.execute(known).scalars())
        if not spoke and fact.first_seq is not None:
            around = select(at.sender_id).distinct().where(at.sender_type == "human")
            here = at.scope == fact.scope if fact.room_id is None else at.room_id == fact.room_id
            around = around.where(here, at.seq.between(fact.first_seq, fact.last_seq))
            spoke = set(connection.execute(around).scalars())
        found |= spoke
    return found


def _common(values: Iterable[str | None]) -> str | None:
    """The one value that all have."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def merged(old: Sequence[StoredFact], sentence: str, speakers: Iterable[str]) -> NewFact:
    """The fact that takes the place of others, with the sources of all of them."""
    newest = max(old, key=_age)
    firsts = [fact.first_seq for fact in old if fact.first_seq is not None]
    lasts = [fact.last_seq for fact in old if fact.last_seq is not None]
    return NewFact(
        scope=newest.scope,
        kind=newest.kind,
        text=" ".join(sentence.split()),
        said_at=newest.said_at,
        source=newest.source,
        person=newest.person,
        person_name=newest.person_name,
        persona=_common(fact.persona for fact in old),
        origin=newest.origin,
        room_id=_common(fact.room_id for fact in old),
        first_seq=min(firsts, default=None),
        last_seq=max(lasts, default=None),
        speakers=tuple(sorted(speakers)),
        data={"merged": [fact.id for fact in old]},
    )


def scopes_to_consolidate(connection: Connection) -> list[str]:
    """Every scope with facts."""
    query = select(facts.c.scope).where(facts.c.replaced_by.is_(None)).distinct()
    return sorted(connection.execute(query).scalars())
