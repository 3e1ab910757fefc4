"""Which facts may become one, and the fact that they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from memory.extraction.key_terms import claims, normalised
from memory.recall.facts import NewFact, StoredFact, every_fact_in, facts_by_id
from store.schema import fact_speakers, messages

NEIGHBOURS = 12  # facts looked at for a group
TELLING = 100  # facts of a scope that may share a word before it tells nothing


@dataclass(frozen=True, slots=True)
class CurrentFacts:
    """The facts of a scope that none has replaced. by_word: ids of those that say a word."""

    by_id: dict[str, StoredFact]
    words: dict[str, frozenset[str]]
    by_word: dict[str, list[str]]

    @classmethod
    def of(cls, facts: Sequence[StoredFact]) -> CurrentFacts:
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


def duplicates(connection: Connection, scope: str) -> list[list[StoredFact]]:
    """Groups of facts with the same text but for case, white space and marks; oldest first."""
    groups: dict[object, list[StoredFact]] = {}
    for fact in every_fact_in(connection, [scope]):
        key = (fact.kind, fact.person, fact.person_name, fact.shared_from)
        if said := normalised(fact.text):
            groups.setdefault((*key, said), []).append(fact)
    return [sorted(same, key=age) for same in groups.values() if len(same) > 1]


def age(fact: StoredFact) -> tuple[datetime, int]:
    """What tells the older of two facts."""
    return (fact.said_at, fact.seq)


def may_change(fact: StoredFact) -> bool:
    """Not a person's own words, and not what they shared: that goes when its origin goes."""
    return fact.kind != "message" and fact.shared_from is None


def _family(kind: str) -> str:
    return "fact" if kind == "preference" else kind


def are_kin(one: StoredFact, other: StoredFact) -> bool:
    """Whether two facts may become one: of one scope, about one person, of one kind."""
    same = (one.scope, one.person, _family(one.kind)) == (
        other.scope,
        other.person,
        _family(other.kind),
    )
    named = one.person is not None or one.person_name == other.person_name
    return same and named and may_change(one) and may_change(other)


def unchanged(connection: Connection, given: Sequence[StoredFact]) -> bool:
    """Whether the facts are all still there, and none was replaced meanwhile."""
    now = facts_by_id(connection, [fact.id for fact in given])
    return all(
        fact.id in now and now[fact.id].text == fact.text and now[fact.id].replaced_by is None
        for fact in given
    )


def speakers_of(connection: Connection, given: Sequence[StoredFact]) -> set[str]:
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
    newest = max(old, key=age)
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
