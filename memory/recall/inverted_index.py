"""One scope's entries held in memory: by their terms, by their vectors, and who is whose neighbour.

Entries have places, from 0 in the order in which they came. All that is asked of a lexicon is
answered by arrays over places, so that 100,000 entries take milliseconds. Not for two threads at
once.
"""

from __future__ import annotations

import bisect
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.recall.question import DatePart

Scores = NDArray[np.float32]
Places = NDArray[np.int32]
_Spot = tuple[int, int]  # an entry's order and its place

DATE_PARTS: tuple[DatePart, ...] = ("year", "month", "day")
EPOCH = date(1970, 1, 1).toordinal()

NOWHERE = -1  # the place of a neighbour that isn't there
STEM = 3  # letters at the beginning or the end that one slip leaves as they are
TYPO_LETTERS = 5  # a shorter term has too many others within one slip


class IndexedText(NamedTuple):
    """An entry as the lexicon takes it.

    number: rises with every row. day: the date's ordinal number. length:
    how many terms the text has. terms: each once. times: how often each stands there, a byte each.
    """

    number: int
    order: int
    source: str
    day: int
    length: int
    terms: str
    times: bytes


class Column:
    """An array that grows at its end."""

    def __init__(self, dtype: str, width: int = 0) -> None:
        self._data = np.zeros((0, width) if width else 0, dtype)
        self._size = 0

    def extend(self, values: Sequence[object] | NDArray[Any]) -> None:
        """Put more values, or rows, at the end."""
        size = self._size + len(values)
        if size > len(self._data):
            bigger = np.zeros((2 * size, *self._data.shape[1:]), self._data.dtype)
            bigger[: self._size] = self._data[: self._size]
            self._data = bigger
        self._data[self._size : size] = values
        self._size = size

    @property
    def values(self) -> NDArray[Any]:
        """The array's content; a view, good until the next extend."""
        return self._data[: self._size]


class InvertedIndex:
    """The entries of one scope, by their terms."""

    def __init__(self) -> None:
        self.size = 0
        self.living = 0
        self.numbers: list[int] = []
        self._places: dict[int, int] = {}
        self._ids: dict[str, int] = {}
        self._terms: list[str] = []
        self._in: list[array[int]] = []  # by term: the places it stands in, rising
        self._times: list[array[int]] = []  # by term: how often in each of them
        self._of: list[array[int]] = []  # by place: its terms
        self._lengths = Column("f4")
        self._alive = Column("?")
        self._before = Column("i4")
        self._after = Column("i4")
        self._days = Column("i4")
        self._dates: dict[DatePart, Column] = {part: Column("i2") for part in DATE_PARTS}
        self._sources = Column("i4")
        self._total_length = 0.0
        self._source_ids: dict[str, int] = {}
        self._threads: dict[str, list[_Spot]] = defaultdict(list)
        self._kin: dict[str, list[int]] = defaultdict(list)
        self._empty = 0

    # ── In and out ──────────────────────────────────────────────────────────────────────

    def extend(self, rows: Sequence[IndexedText]) -> None:
        """Take entries in; their numbers must be new."""
        first = self.size
        self.size += len(rows)
        self.living += len(rows)
        ids, places_in, times_in = self._ids, self._in, self._times
        for place, row in enumerate(rows, first):
            self._places[row.number] = place
            terms = row.terms.split()
            mine = [ids[term] if term in ids else self._new_term(term) for term in terms]
            for term, times in zip(mine, row.times, strict=True):
                places_in[term].append(place)
                times_in[term].append(times)
            self._of.append(array("i", mine))
        self.numbers += [row.number for row in rows]
        self._lengths.extend([row.length for row in rows])
        self._total_length += sum(row.length for row in rows)
        days = np.array([row.day for row in rows], np.int32)
        self._days.extend(days)
        for part, numbers in _calendar(days).items():
            self._dates[part].extend(numbers)
        known = self._source_ids
        self._sources.extend(
            [known.setdefault(row.source, len(known)) if row.source else NOWHERE for row in rows]
        )
        self._alive.extend([True] * len(rows))
        self._before.extend([NOWHERE] * len(rows))
        self._after.extend([NOWHERE] * len(rows))
        for place, row in enumerate(rows, first):
            if row.source:
                self._link(place, row)

    def _new_term(self, term: str) -> int:
        number = self._ids[term] = len(self._terms)
        self._terms.append(term)
        self._in.append(array("i"))
        self._times.append(array("B"))
        if len(term) >= TYPO_LETTERS and term.isalpha():
            self._kin[term[:STEM]].append(number)
            self._kin[f"-{term[-STEM:]}"].append(number)
        return number

    def _link(self, place: int, row: IndexedText) -> None:
        """Find the entry's neighbours: the nearest orders of its source."""
        spot = (row.order, place)
        thread = self._threads[row.source]
        index = bisect.bisect(thread, spot)
        thread.insert(index, spot)
        if index > 0:
            self._join(thread[index - 1][1], place)
        if index + 1 < len(thread):
            self._join(place, thread[index + 1][1])

    def _join(self, first: int, then: int) -> None:
        self._after.values[first] = then
        self._before.values[then] = first

    def _unlink(self, place: int) -> None:
        before, after = int(self._before.values[place]), int(self._after.values[place])
        if before != NOWHERE:
            self._after.values[before] = after
        if after != NOWHERE:
            self._before.values[after] = before
        source = int(self._sources.values[place])
        if source != NOWHERE:
            thread = self._threads[list(self._source_ids)[source]]
            thread.remove(next(spot for spot in thread if spot[1] == place))

    def remove(self, number: int) -> None:
        """Leave an entry out from now on; its place stays empty."""
        place = self._places.pop(number, None)
        if place is None:
            return
        self.living -= 1
        self._empty += 1
        self._alive.values[place] = False
        for term in self._of[place]:
            places = self._in[term]
            index = bisect.bisect_left(places, place)
            del places[index], self._times[term][index]
        self._of[place] = array("i")
        self._total_length -= float(self._lengths.values[place])
        self._unlink(place)

    @property
    def worn(self) -> bool:
        """So many places are empty that it should be made again."""
        return self._empty > 64 and self._empty > self.living // 4

    # ── Asked while ranking ─────────────────────────────────────────────────────────────

    @property
    def lengths(self) -> Scores:
        """The number of terms in each entry, marks left out."""
        return self._lengths.values

    @property
    def alive(self) -> NDArray[np.bool_]:
        """The places that aren't empty."""
        return self._alive.values

    @property
    def before(self) -> Places:
        """The place of each entry's predecessor in its source, or NOWHERE."""
        return self._before.values

    @property
    def after(self) -> Places:
        """The place of each entry's successor in its source, or NOWHERE."""
        return self._after.values

    @property
    def days(self) -> Places:
        """The ordinal number of the day on which each was said."""
        return self._days.values

    def said_in(self, part: DatePart, number: int) -> Places:
        """The places of what was said in a year, in a month or on a day of whatever month."""
        return np.flatnonzero((self._dates[part].values == number) & self.alive).astype(np.int32)

    @property
    def sources(self) -> Places:
        """A number for each entry's source, NOWHERE for none."""
        return self._sources.values

    @property
    def mean_length(self) -> float:
        """Terms of an entry on the average."""
        return max(self._total_length / max(self.living, 1), 1.0)

    def places(self, term: str) -> tuple[Places, Scores]:
        """Where a term stands, and how often there; empty when it is unknown."""
        number = self._ids.get(term)
        if number is None:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        return (
            np.array(self._in[number], np.int32),
            np.array(self._times[number], np.float32),
        )

    def frequency(self, term: str) -> int:
        """The number of entries in which a term stands."""
        number = self._ids.get(term)
        return 0 if number is None else len(self._in[number])

    def rarity(self, frequency: int) -> float:
        """The worth of a term that stands in so many entries: BM25's idf, never below 0."""
        return math.log(1 + (self.living - frequency + 0.5) / (frequency + 0.5))

    def kindred(self, term: str) -> list[str]:
        """Terms that may be meant by an unknown one: of its family, or one slip away."""
        if len(term) < TYPO_LETTERS or not term.isalpha():
            return []
        near = {*self._kin.get(term[:STEM], ()), *self._kin.get(f"-{term[-STEM:]}", ())}
        return [
            other
            for other in sorted(self._terms[number] for number in near)
            if self.frequency(other)
            and (other[:TYPO_LETTERS] == term[:TYPO_LETTERS] or one_slip(term, other))
        ]

    def place(self, number: int) -> int | None:
        """Where an entry is, by its number."""
        return self._places.get(number)

    def terms_of(self, places: Iterable[int], *, marks: bool = False) -> list[list[str]]:
        """The terms of some entries, each once. marks: those are among them."""
        return [
            [term for one in self._of[place] if (term := self._terms[one])[0] != "@" or marks]
            for place in places
        ]


def _calendar(days: NDArray[np.int32]) -> dict[DatePart, NDArray[Any]]:
    """Years, months and days of the month of days by their ordinal numbers."""
    dates = (days.astype(np.int64) - EPOCH).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    return {
        "year": months.astype("datetime64[Y]").astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "day": (dates - months).astype(np.int64) + 1,
    }


def one_slip(one: str, other: str) -> bool:
    """Are they the same but for one letter left out, put in, wrong, or changed with the next?"""
    if abs(len(one) - len(other)) > 1:
        return False
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    left, right = one[same:], other[same:]
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return left[1:] == right[1:] or left == right[1:] or left[1:] == right or swapped


Vectors = NDArray[np.floating[Any]]

EXACT = 4_000  # so many are compared exactly in 2 ms
CHOSEN = 1_000


class CosineIndex:
    """Vectors of length 1, by place; a place may be without."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._vectors = Column("f2", dimensions)
        # the vectors' signs, 64 of them in each: side by side they would take three times as long
        self._bits = [Column("u8") for _ in range(-(-dimensions // 64))]

    def grow(self, size: int) -> None:
        """Have so many places; the new ones are without."""
        more = size - len(self._vectors.values)
        self._vectors.extend(np.zeros((more, self.dimensions), np.float16))
        for bits in self._bits:
            bits.extend(np.zeros(more, np.uint64))

    def put(self, places: Sequence[int], vectors: Vectors) -> None:
        """Give places their vectors."""
        self._vectors.values[places] = vectors
        for bits, signs in zip(self._bits, self._signs(vectors), strict=True):
            bits.values[places] = signs

    def of(self, question: Scores, also: Places) -> tuple[Places, Scores]:
        """The places that are most like a question, and `also`; and their cosines with it."""
        vectors = self._vectors.values
        if len(vectors) <= EXACT:
            return np.arange(len(vectors), dtype=np.int32), vectors.astype(np.float32) @ question
        unlike = np.zeros(len(vectors), np.uint16)
        for bits, signs in zip(self._bits, self._signs(question), strict=True):
            unlike += np.bitwise_count(bits.values ^ signs)
        most = np.searchsorted(np.cumsum(np.bincount(unlike)), CHOSEN)
        chosen = unlike <= most
        chosen[also] = True
        places = np.flatnonzero(chosen).astype(np.int32)
        return places, vectors[places].astype(np.float32) @ question

    def _signs(self, vectors: Vectors) -> NDArray[np.uint64]:
        """One bit a number, in words of 64: a row for each of these."""
        bits = np.packbits(np.atleast_2d(vectors) > 0, axis=1)
        padded = np.zeros((len(bits), len(self._bits) * 8), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return padded.view(np.uint64).T
