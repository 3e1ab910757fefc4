"""Two rankings in one: by words and all else that is known, and by likeness in meaning alone.

A sum of both is no use to an answer in other words: it has none of the question's, and each entry
that has one of them, about whatever, stands before it. So entries that are plainly more alike than
all others have seats of their own, right after the best. What is alike to many is about nothing in
particular, such as a greeting, and has none.

The numbers were chosen on LoCoMo's first five conversations, on one half of the questions of
bench/paraphrases, and on English rooms of bench/header's seed 1; bench/README.md has what they do
on the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple

FIRST = 2  # of the other ranking: they stay before the seats
SEATS = 3
REST = 10  # so many may be alike; the next is the likeness that anything has here
CLEAR = 0.0165  # cosine above that, times the logarithm of how many entries there are:
# of more, some are more alike by chance; 0.08 in a small room, 0.11 among a thousand
LEAST = 0.2  # cosine: in a small room nothing may be alike, and yet something is the best
COMMON = 0.1  # cosine that two sentences about nothing the same may have

SAME = 0.6  # of the terms of the shorter of two entries: more, and they say the same
BEARS, BEARS_MORE = 0.35, 2.0  # the bearing of what stands clear, and how it rises with the cosine
STEP = 1e-9  # of a score, between one seat and the next

NEAREST = 4 * (REST + 1)
"""So many of the most alike are looked at: some say the same."""


class Place(NamedTuple):
    """A place among the hits. score: 0 to 1, orders. bearing: see `RankedEntry`. by_change: see
    `Hit`."""

    score: float
    bearing: float
    by_change: bool = False


class Alike(NamedTuple):
    """An entry's cosine with the question, and its number. first: the number of the most alike of
    those that say the same, which share a seat and count once."""

    cosine: float
    number: int
    first: int


def by_what_they_say(
    found: Sequence[tuple[float, int]], all_terms: Sequence[Iterable[str]]
) -> list[Alike]:
    """Each with the first that says the same. found: cosines and numbers, most alike first."""
    firsts: dict[int, set[str]] = {}
    made = []
    for (cosine, number), terms in zip(found, map(set, all_terms), strict=True):
        same = (one for one, other in firsts.items() if _is_same(terms, other))
        firsts.setdefault(first := next(same, number), terms)
        made.append(Alike(cosine, number, first))
    return made


def _is_same(one: Set[str], other: Set[str]) -> bool:
    return len(one & other) > SAME * min(len(one), len(other))


def seated(ranked: Mapping[int, Place], alike: Sequence[Alike], size: int) -> dict[int, Place]:
    """Numbers of entries and their places, best first, with the seats taken.

    ranked: the same before that. alike: the NEAREST of all entries. size: how many there are.
    """
    nearest = sorted((one for one in alike if one.number == one.first), reverse=True)
    rest = max(nearest[REST].cosine if len(nearest) > REST else COMMON, COMMON)
    clear: dict[int, float] = {}
    for first in nearest[:SEATS]:
        if first.cosine >= LEAST and first.cosine - rest >= CLEAR * math.log(size):
            same = [one for one in alike if one.first == first.number]
            newest = max(same, key=lambda one: one.number)
            clear |= {first.number: first.cosine, newest.number: newest.cosine}
    made = dict(islice(ranked.items(), FIRST))
    edge = min((place.score for place in made.values()), default=None)
    for seat, (number, cosine) in enumerate(clear.items(), 1):
        bearing = min(BEARS + BEARS_MORE * (cosine - rest), 1)
        if (place := ranked.get(number)) is not None:
            bearing = max(bearing, place.bearing)
        score = cosine if edge is None else edge * (1 - seat * STEP)
        made[number] = Place(made[number].score if number in made else score, bearing)
    return made | {number: place for number, place in ranked.items() if number not in made}
