"""Entries of a scope that answer a question: a few features, added up, each with its reason.

What each is worth was measured on LoCoMo and REALTALK (bench/README.md has the tables); the
constants were chosen on the first five conversations of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from contract.values import dataclass
from memory.recall.fusion import Alike, by_what_they_say
from memory.recall.inverted_index import NOWHERE, InvertedIndex, Places, Scores
from memory.recall.question import OF_TALK, SearchQuestion
from memory.recall.words import CHANGED, NAMING, PERSON, TIMED

Cosines = Callable[[Places], tuple[Places, Scores]]

HEAD = 300  # entries that the features of the second look are computed for
SHORTLIST = 60  # of these, the best by all else, the own text counts once more
CHANGEABLE = 5  # of the best, for which changes are looked for
CHANGES = 3  # of each of them
RARE = 10  # entries at the most with a term that may name what changed


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the features. 1 is a term's own rarity, about 5 for a rare one."""

    saturation: float = 0.7
    """BM25's k1: chat repeats a word for emphasis, a third time says nothing new."""
    length: float = 0.3
    """BM25's b: a long message is about more, but it is also where things are told."""
    previous: float = 0.7
    """A term of the previous message: the answer seldom repeats the question's words."""
    following: float = 0.5
    """A term of the next one."""
    two_off: float = 0.35
    """A term two messages away."""
    name: float = 0.5
    """A person's name in the text: names stand everywhere in a chat."""
    of_talk: float = 0.4
    """A word of talking itself, such as "mention": it asks for what was said about the others."""
    by_person: float = 3.5
    """The entry is by, or about, the person whom the question names."""
    date: float = 1.0
    """A date that the question names is the entry's own."""
    timed: float = 1.5
    """The question asks when, and the entry speaks of a time."""
    named: float = 1.0
    """The question asks for a name ("who", "which city"), and the entry has one."""
    lately: float = 2.0
    """The question says "yesterday" or "last week", and the entry is of then."""
    kindred: float = 0.4
    """A term of the same family, or one slip away, of one that stands nowhere."""
    echo: float = 0.1
    """Terms of the best entries, as if they had been asked for too: the second hop."""
    echo_entries: int = 15
    echo_terms: int = 10
    own: float = 0.15
    """The entry's own bearing, in shares of the question's worth: else what lies around a hit is as
    good as the hit."""
    thread: float = 0.1
    """The mean of the three best of the entry's source: an answer lies where its topic is."""
    meaning: float = 0.5
    """Cosine of the vectors, where a model makes them, in shares of the question's whole worth."""
    meaning_beside: float = 0.2
    """The neighbours' cosine, beside the entry's own."""
    enough: float = 0.12
    """The least share of the question's worth that an entry must have to be a hit."""
    strange: float = 0.5
    """A term that stands nowhere, among those that an entry should have."""
    alike: float = 0.4
    """The least cosine by which an entry without any common term is a hit."""


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """An entry's place and its score, between 0 and 1 and comparable across scopes.

    bearing: the share, 0 to 1, of what the question is about that the entry's own text has, or
    its person or day. What its neighbours have raises the score alone.
    """

    place: int
    score: float
    bearing: float


def rank(
    lexicon: InvertedIndex,
    asked: SearchQuestion,
    limit: int,
    cosines: Cosines | None = None,
    weights: Weights = Weights(),  # noqa: B008  (it is frozen)
) -> list[RankedEntry]:
    """The best `limit` entries for a question, best first; those with nothing in common left out.

    cosines: where a model made vectors, tells which places are most like the question, and their
    cosines with it; it is given places that are asked for anyway.
    """
    if not lexicon.living:
        return []
    return Ranking(lexicon, asked, limit, cosines, weights).best()


class Ranking:
    """One scope's ranking, in two looks: `first` is cheap, `best` takes all features."""

    def __init__(
        self,
        lexicon: InvertedIndex,
        asked: SearchQuestion,
        limit: int,
        cosines: Cosines | None = None,
        weights: Weights = Weights(),  # noqa: B008  (it is frozen)
        spelled: Set[str] = frozenset(),
    ) -> None:
        """Takes the first look. Arguments as `rank` has them; spelled: terms that stand in some
        scope of the search, so that no other is meant by them where they don't."""
        self._spelled = spelled
        self._limit = limit
        self._lexicon = lexicon
        self._asked = asked
        self._w = weights
        k1, b = weights.saturation, weights.length
        self._spread_out = np.zeros(lexicon.size + 1, np.float32)
        self._damping = k1 * (1 - b + b / lexicon.mean_length * lexicon.lengths)

        self._scale = 1.0
        self._alike: Scores = np.zeros(lexicon.size, np.float32)
        self._wanted: list[tuple[float, frozenset[str]]] = []  # worth, and terms that have it
        self._scores, self._head = self._look(limit, cosines)

    def _look(self, limit: int, cosines: Cosines | None) -> tuple[Scores, Places]:
        scores, worth = self._text()
        np.putmask(scores, scores < self._w.enough * worth, 0)
        if self._asked.dates or self._asked.days:
            scores += self._date_bonus()
        known = np.flatnonzero(scores > 0)
        scores[known] += self._bonus(scores.size)[known]
        if cosines is not None:
            self._mean(scores, worth, *cosines(_head(scores, HEAD, known)))
            known = np.flatnonzero(scores)
        self._scale = max(worth, 1.0)
        return scores, _head(scores, max(HEAD, limit), known)

    def first(self) -> list[float]:
        """The best scores at the first look, best first; `best` makes them higher."""
        best = self._scores[self._head[: self._limit]]
        return (best / (best + self._scale)).tolist()  # type: ignore[no-any-return]

    def nearest(self, count: int) -> list[Alike]:
        """The entries that are most like the question in meaning, most alike first."""
        places = _head(self._alike, count)
        cosines = zip(self._alike[places].tolist(), places.tolist(), strict=True)
        numbers, all_terms = self._lexicon.numbers, self._lexicon.terms_of(places.tolist())
        found = [(cosine, numbers[place]) for cosine, place in cosines]
        return by_what_they_say(found, all_terms)

    def best(self) -> list[RankedEntry]:
        """Add all features up."""
        scores, head = self._scores, self._head
        if not head.size:
            return []
        final = scores[head] + self._echo(scores, head)
        final += self._w.thread * self._thread_means(final, head)
        order = np.argsort(-final, kind="stable")[: max(SHORTLIST, self._limit)]
        scale, places, bearings = self._scale, head[order], self._bearings(head[order])
        whole = final[order] + self._w.own * scale * np.array(bearings, np.float32)
        return [
            RankedEntry(int(places[i]), float(whole[i] / (whole[i] + scale)), bearings[i])
            for i in np.argsort(-whole, kind="stable")[: self._limit].tolist()
        ]

    def changes(self, ranked: Sequence[RankedEntry]) -> list[RankedEntry]:
        """The entries of a change after one of the best, with a rare term of it that the question
        lacks: "we moved from A to B" doesn't say what A was for. They have that one's score and
        bearing; those that are ranked are left out."""
        changed = np.zeros(self._lexicon.size, np.bool_)
        changed[self._lexicon.places(CHANGED)[0]] = True
        known = {entry.place for entry in ranked}
        found: dict[int, RankedEntry] = {}
        for entry in ranked[:CHANGEABLE]:
            for place in self._later(entry.place, changed):
                if place not in known:
                    made = RankedEntry(place, entry.score, entry.bearing)
                    found.setdefault(place, made)
        return list(found.values())

    def _later(self, place: int, changed: NDArray[np.bool_]) -> list[int]:
        """The newest entries of a change that share a rare term with a place, newest first."""
        lexicon, asked = self._lexicon, self._asked.telling
        later = {
            other
            for term in lexicon.terms_of([place])[0]
            if lexicon.frequency(term) <= RARE
            and term not in asked
            and not lexicon.frequency(PERSON + term)
            for other in lexicon.places(term)[0].tolist()
            if other > place and changed[other]
        }
        return sorted(later, reverse=True)[:CHANGES]

    def _bearings(self, places: Places) -> list[float]:
        """The bearing of each place."""
        dated = np.minimum(self._date_bonus()[places], self._scale)
        alike = self._alike[places]
        alike[alike < self._w.alike] = 0
        all_terms = [set(terms) for terms in self._lexicon.terms_of(places.tolist(), marks=True)]
        worth = sum(worth for worth, _ in self._wanted) or float(dated.max()) or 1.0
        return [
            min(max((self._had(terms) + day) / worth, like), 1)
            for terms, day, like in zip(all_terms, dated.tolist(), alike.tolist(), strict=True)
        ]

    def _had(self, terms: Set[str]) -> float:
        """The worth of what these terms have of what is wanted."""
        return sum(worth for worth, some in self._wanted if not some.isdisjoint(terms))

    def _text(self) -> tuple[Scores, float]:
        """Scores by the text's terms, and what an entry with all of them would have."""
        lexicon, w = self._lexicon, self._w
        scores = np.zeros(lexicon.size + 1, np.float32)  # the last place is NOWHERE's
        worth = 0.0
        for term in self._asked.terms:
            weight = w.of_talk if term in OF_TALK else 1.0
            weight = w.name if lexicon.frequency(PERSON + term) else weight
            found = (
                [(term, 1.0)]
                if lexicon.frequency(term) or term in self._spelled
                else [(other, w.kindred) for other in lexicon.kindred(term)]
            )
            frequency = sum(lexicon.frequency(other) for other, _ in found)
            if term in self._asked.telling:
                self._want(term, [other for other, _ in found], frequency)
            weight *= lexicon.rarity(min(frequency, lexicon.living))
            worth += weight
            if found:
                self._spread(found, np.float32(weight), scores)
        return scores[:-1], worth

    def _want(self, term: str, found: Sequence[str], frequency: int) -> None:
        """Note that an entry should have one of these terms, or be of the person of that name."""
        lexicon, mark = self._lexicon, PERSON + term
        of_person = lexicon.frequency(mark)
        worth = lexicon.rarity(min(max(frequency, of_person, 1), lexicon.living))
        worth *= self._w.name if of_person else 1.0 if found else self._w.strange
        self._wanted.append((worth, frozenset((*found, mark))))

    def _spread(
        self, found: Sequence[tuple[str, float]], weight: np.float32, scores: Scores
    ) -> None:
        """Add to the scores how strongly each entry has a term, itself or through its neighbours.

        That is 0 to 1 + k1. The same array is used for every term, and only the places where the
        term stands are looked at: to go over all 100,000 takes longer.
        """
        lexicon, w, spread = self._lexicon, self._w, self._spread_out
        touched = []
        for term, share in found:
            places, times = lexicon.places(term)
            value = times * (w.saturation + 1) / (times + self._damping[places])
            touched += [(places, share * value)]
            for side, beside in ((lexicon.before, w.following), (lexicon.after, w.previous)):
                near = side[places]
                far = np.where(near >= 0, side[near], NOWHERE)
                touched += [(near, share * beside * value), (far, share * w.two_off * value)]
        for places, values in touched:
            spread[places] = np.maximum(spread[places], values)
        for places, _ in touched:
            scores[places] += weight * spread[places]
            spread[places] = 0  # so that no place is counted twice

    def _mean(self, scores: Scores, worth: float, places: Places, cosines: Scores) -> None:
        """Add the likeness in meaning of these places, and some of their neighbours'."""
        lexicon, w = self._lexicon, self._w
        alike = np.zeros(lexicon.size + 1, np.float32)  # the last place is NOWHERE's
        alike[places] = np.maximum(cosines, 0) * lexicon.alive[places]
        self._alike = alike[:-1]
        around = alike[lexicon.before[places]] + alike[lexicon.after[places]]
        strange = (scores[places] <= 0) & (alike[places] < w.alike)
        meaning = alike[places] + np.float32(w.meaning_beside) * around
        scores[places] += np.float32(w.meaning * worth) * meaning
        scores[places[strange]] = 0

    def _bonus(self, size: int) -> Scores:
        """An entry's bonus for its person and its time, if its text has something at all."""
        lexicon, w = self._lexicon, self._w
        bonus = np.zeros(size, np.float32)
        for term in self._asked.terms:
            bonus[lexicon.places(PERSON + term)[0]] += w.by_person
        if self._asked.when:
            bonus[lexicon.places(TIMED)[0]] += w.timed
        if self._asked.who:
            bonus[lexicon.places(NAMING)[0]] += w.named
        return bonus

    def _date_bonus(self) -> Scores:
        lexicon, w = self._lexicon, self._w
        bonus = np.zeros(lexicon.size, np.float32)
        for part, number in self._asked.dates:
            places = lexicon.said_in(part, number)
            bonus[places] += w.date * lexicon.rarity(len(places))
        if self._asked.days is not None:
            first, last = (day.toordinal() for day in self._asked.days)
            bonus[(lexicon.days >= first) & (lexicon.days <= last)] += w.lately
        return bonus

    def _echo(self, scores: Scores, head: Places) -> Scores:
        """The share of the terms of the head's best that its other entries have."""
        lexicon, w = self._lexicon, self._w
        top = head[: w.echo_entries]
        asked = set(self._asked.terms)
        shares: dict[str, float] = defaultdict(float)
        for share, terms in zip(
            (scores[top] / scores[top[0]]).tolist(), lexicon.terms_of(top.tolist()), strict=True
        ):
            for term in terms:
                shares[term] += share
        rarity = {term: lexicon.rarity(lexicon.frequency(term)) for term in shares}
        by_worth = sorted(((share * rarity[term], term) for term, share in shares.items()))
        fit = (
            (value, term)
            for value, term in reversed(by_worth)
            if term not in asked and not lexicon.frequency(PERSON + term)
        )
        best = list(islice(fit, w.echo_terms))
        if not best:
            return np.zeros(len(head), np.float32)
        weights = [w.echo * value / best[0][0] * rarity[term] for value, term in best]
        return self._spread_at(head, [term for _, term in best], np.array(weights, np.float32))

    def _spread_at(self, head: Places, terms: Sequence[str], weights: Scores) -> Scores:
        """The same as `_spread` for many terms and few places: all at once, by their neighbours."""
        lexicon, w = self._lexicon, self._w
        around = self._around(head)
        seats = np.unique(around)  # a row of `has` for each place that counts
        seat_of = np.full(lexicon.size + 1, -1, np.int32)
        seat_of[seats] = np.arange(seats.size, dtype=np.int32)
        seat_of[NOWHERE] = -1
        found = [lexicon.places(term) for term in terms]
        places = np.concatenate([places for places, _ in found])
        times = np.concatenate([times for _, times in found])
        of_term = np.repeat(np.arange(len(terms)), [len(places) for places, _ in found])
        near = np.flatnonzero(seat_of[places] >= 0)
        places, times, of_term = places[near], times[near], of_term[near]
        has = np.zeros((seats.size, len(terms)), np.float32)
        value = times * (w.saturation + 1) / (times + self._damping[places])
        has[seat_of[places], of_term] = value
        seats_around = np.searchsorted(seats, around)
        most = has[seats_around[0]]
        for row, share in zip(
            seats_around[1:], (w.previous, w.following, w.two_off, w.two_off), strict=True
        ):
            np.maximum(most, np.float32(share) * has[row], out=most)
        made: Scores = most @ weights
        return made

    def _around(self, places: Places) -> Places:
        """Rows: the places, those before and after them, and those two off."""
        lexicon = self._lexicon
        rows = [places]
        for side in (lexicon.before, lexicon.after):
            near = side[places]
            rows += [near, np.where(near >= 0, side[near], NOWHERE)]
        at, before, before_that, after, after_that = rows
        return np.stack([at, before, after, before_that, after_that])

    def _thread_means(self, scores: Scores, head: Places) -> Scores:
        """The mean, for each of the head, of the three best entries of its source."""
        of_all = self._lexicon.sources[head]
        order = np.lexsort((-scores, of_all))
        sources = of_all[order]
        begins = np.flatnonzero(np.r_[True, sources[1:] != sources[:-1]])
        lengths = np.diff(np.r_[begins, sources.size])
        group = np.repeat(np.arange(begins.size), lengths)
        counts = np.arange(sources.size) - np.repeat(begins, lengths) < 3
        sums = np.bincount(group, np.where(counts & (sources >= 0), scores[order], 0))
        means = np.empty(len(head), np.float32)
        means[order] = (sums / 3)[group]
        return means


def _head(scores: Scores, count: int, places: NDArray[np.intp] | None = None) -> Places:
    """The places of the best scores above 0, best first. places: where those above 0 are."""
    if places is None:
        places = np.flatnonzero(scores)
    if places.size > count:
        places = places[np.argpartition(-scores[places], count)[:count]]
    return places[np.lexsort((places, -scores[places]))].astype(np.int32)
