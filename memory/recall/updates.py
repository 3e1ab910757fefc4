"""The newest statement of a subject wins, by rule: no model is asked.

A later statement takes an older one's place where it says that something changed and is about the
same: it has most of the other's terms, or names it alone ("we moved from A to B"). It does so
without a word of change where they differ in numbers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime

import regex

from contract.values import dataclass
from memory.recall.choice import FoundFact
from memory.recall.telling import subject
from memory.recall.words import changes

SAME = 0.5  # of the terms of the shorter one: then they are about the same
ON_IT = 0.5  # of the older one's bearing on the question
NAMED = 0.3  # of them, where the later one says little else
LITTLE = 2.5  # words that it says beside: what has come instead
ALIKE = 0.6  # of the terms of the shorter one: then one says the other once more
_NUMBER = regex.compile(r"\p{N}")


@dataclass(frozen=True, slots=True)
class ShownFact:
    """A fact that gets a line. by: the one that took its place, which stands above it."""

    found: FoundFact
    by: FoundFact | None = None


@dataclass(frozen=True, slots=True)
class _Statement:
    found: FoundFact
    terms: Mapping[str, float] = field(compare=False)
    changes: bool

    @classmethod
    def of(cls, found: FoundFact) -> _Statement:
        text = found.fact.text.removeprefix(f"{found.fact.person_name}: ")
        return cls(found, subject(text), changes(text))

    def common(self, other: _Statement) -> float:
        """The share of the shorter one's words that both have."""
        shared = sum(words for term, words in self.terms.items() if term in other.terms)
        shorter = min(sum(self.terms.values()), sum(other.terms.values()))
        return shared / shorter if shorter else 0.0

    def replaces(self, older: _Statement) -> bool:
        """True if it says that the older one is not so any more."""
        if _age(self) <= _age(older):
            return False
        common = self.common(older)
        if not self.changes:
            return common >= SAME and self._in_numbers(older)
        if not self.found.by_change and self.found.bearing >= ON_IT * older.found.bearing:
            return common >= SAME
        beside = sum(words for term, words in self.terms.items() if term not in older.terms)
        return common >= NAMED and beside <= LITTLE

    def _in_numbers(self, other: _Statement) -> bool:
        apart = self.terms.keys() ^ other.terms.keys()
        sides = apart & self.terms.keys(), apart & other.terms.keys()
        return all(sides) and all(_NUMBER.search(term) for term in apart)

    def restates(self, other: _Statement) -> bool:
        """True if it says later what the other says, or something else of the same."""
        near = self.found.bearing >= other.found.bearing * 0.95
        return _age(self) > _age(other) and near and self.common(other) >= ALIKE


def newest_first(chosen: Sequence[FoundFact], found: Sequence[FoundFact]) -> list[ShownFact]:
    """Those chosen, in their order, with what took their place above them.

    found: all that may have done so. Below it stands one that it replaces, the best; others
    are left out.
    """
    every = [_Statement.of(one) for one in found]
    shown: dict[str, list[ShownFact]] = {}  # by the id of the newest: itself, and one older
    for one in _restated([each for each in every if each.found in chosen]):
        later = max((each for each in every if each.replaces(one)), key=_age, default=one)
        lines = shown.setdefault(later.found.fact.id, [ShownFact(later.found)])
        if later is not one and len(lines) == 1:
            lines.append(ShownFact(one.found, later.found))
    return [line for lines in shown.values() for line in lines]


def _age(statement: _Statement) -> tuple[datetime, int]:
    return statement.found.fact.said_at, statement.found.fact.seq


def _restated(statements: Sequence[_Statement]) -> list[_Statement]:
    """The same, each before those that it says once more."""
    ordered: list[_Statement] = []
    for one in statements:
        at = next((i for i, other in enumerate(ordered) if one.restates(other)), len(ordered))
        ordered.insert(at, one)
    return ordered
