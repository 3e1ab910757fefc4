"""Mem0's vector store: rows in SQLite, a lexicon of each scope in memory, our own ranking.

Mem0 gives `search` the question's text and its vector, and keeps the order that it gets back, so
the whole ranking happens here, of all scopes of a question together: a hundred small ones cost as
much as one. With a store of Mem0's on a server, the vectors are there (and no text), and the words
stay here.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from contract.values import dataclass
from memory.recall import fusion, ranking
from memory.recall.embedders import UNKNOWN
from memory.recall.held import HELD, HeldGroup, HeldGroups
from memory.recall.index import AGENT, MOST_CHANGES, IndexFailed, checked_id
from memory.recall.index_file import IndexFile, IndexRow
from memory.recall.inverted_index import InvertedIndex, Scores
from memory.recall.question import question, without
from memory.recall.server import Remote, VectorServer
from memory.recall.words import PERSON, entry_terms

CHOICE = 4  # as many rows as it returns Mem0 asks for, to choose from; here they are chosen


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A row as Mem0 reads it."""

    id: str
    score: float
    payload: dict[str, Any]


class SqliteVectors:
    """The store. Its methods are Mem0's `VectorStoreBase`; any thread may call them."""

    def __init__(
        self,
        path: Path | str,
        now: Callable[[], datetime],
        dense: bool = False,
        connect: Callable[[], Remote] | None = None,
        collection_name: str = "moot",
        most: int = HELD,
    ) -> None:
        """path: the database file. dense: vectors carry meaning, and are kept and compared.
        connect: opens the store on a server that has the vectors instead. most: entries that are
        held in memory, unless one search needs more."""
        self.file = self._file = IndexFile(Path(path))
        self._now = now
        self._dense = dense and connect is None
        self._server = connect and VectorServer(connect, self._file, collection_name)
        self.collection_name = collection_name
        self._gathered: dict[str, tuple[Sequence[float], Mapping[str, Any]]] | None = None
        self.held = HeldGroups(self._file, most)

    def close(self) -> None:
        """Let go of the file. Nobody may be in a method."""
        self._file.close()

    def preload(self) -> None:
        """Make the lexicons of the largest scopes, so that nobody waits for them, and send a
        server what it lacks. Raises ConfigError for a server that can't be used as it is set."""
        if self._server is not None:
            self._server.open()
            self._server.send()
        self.held.preload()

    # ── Writing ─────────────────────────────────────────────────────────────────────────

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Put rows in. A payload's `entry` is the row's id; a known one replaces the old row."""
        given = zip(vectors, payloads or (), strict=True)
        last = {payload["entry"]: (vector, payload) for vector, payload in given}
        if self._gathered is None:
            self._put(last)
        else:
            self._gathered |= last

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what is inserted meanwhile, by one thread, in one transaction at the end."""
        self._gathered = {}
        try:
            yield
            self._put(self._gathered)
        finally:
            self._gathered = None

    def _put(self, given: Mapping[str, tuple[Sequence[float], Mapping[str, Any]]]) -> None:
        rows = [
            _stored(vector if self._dense and vector != UNKNOWN else None, payload)
            for vector, payload in given.values()
        ]
        vectors = [vector for vector, _ in given.values()]
        self._file.put(rows, None if self._server is None else vectors)
        if self._server is not None:
            self._server.send(patiently=len(rows) > 1)

    def delete(self, vector_id: str) -> None:
        """Take a row out."""
        self.forget([vector_id])

    def forget(self, ids: Sequence[str]) -> None:
        """Take rows out so that nothing of them stays in the file or its log."""
        self._file.forget(ids, served=self._server is not None)
        if self._server is not None:
            self._server.send(patiently=len(ids) > 1)

    def reset(self) -> None:
        """Take everything out that is ours. Raises ConfigError for a server's collection that
        isn't."""
        if self._server is not None:
            self._server.open()
        self._file.forget_all(served=self._server is not None)
        self.held.clear()
        if self._server is not None:
            self._server.send(patiently=True)

    # ── Searching ───────────────────────────────────────────────────────────────────────

    def search(
        self,
        query: str,
        vectors: Sequence[float],
        top_k: int = 5,
        filters: Mapping[str, Any] | None = None,
    ) -> list[VectorRecord]:
        """The best rows of the scopes that `filters` names together, best first.

        top_k: CHOICE times as many as are wanted (mem0ai 2.2.1, `_search_vector_store`), and
        MOST_CHANGES for those by change. Raises IndexFailed for any filter but scopes: nothing else
        is ever meant.
        """
        scopes = _only_scopes(filters)
        scores = self._scores(query, vectors, scopes, max(top_k // CHOICE - MOST_CHANGES, 1))
        rows = self._file.texts(list(scores), scopes)
        return [
            VectorRecord(
                rows[number].id,
                score,
                {**rows[number].payload, "bearing": bearing, "by_change": by_change},
            )
            for number, (score, bearing, by_change) in scores.items()
            if number in rows
        ]

    def _scores(
        self, query: str, vectors: Sequence[float], scopes: Sequence[str], limit: int
    ) -> dict[int, fusion.Place]:
        """Numbers of the best rows, best first, and after them those by change."""
        asked = question(query, self._now())
        vector = np.asarray(vectors, np.float32)
        near = {} if self._server is None else self._server.near(query, vectors, scopes)
        with self._living(scopes) as all_held:
            spelled = {
                term
                for term in asked.terms
                if any(held.lexicon.frequency(term) for held in all_held)
            }
            looks = []
            for held in all_held:
                cosines = self._cosines(held, vector, near)
                look = ranking.Ranking(held.lexicon, asked, limit, cosines, spelled=spelled)
                looks.append((held.lexicon, look))
            return _ranked(looks, limit)

    @contextmanager
    def _living(self, scopes: Sequence[str]) -> Iterator[list[HeldGroup]]:
        """The groups of these scopes that have any entries, as they are on disk now, locked."""
        end = self._file.end()
        with ExitStack() as locks:
            all_held: list[HeldGroup] = []
            # the same order for everybody: none waits for another
            for held in self.held.of(scopes):
                locks.enter_context(held.lock)
                held.catch_up(self._file, end)
                if held.lexicon.living:
                    all_held.append(held)
            yield all_held

    def meant(self, query: str, scopes: Sequence[str]) -> str:
        """The part of a question that its vector is made of, where vectors are compared here.

        The people of these scopes are left out: a model finds all that has their name, or one like
        it, while the ranking knows who said what.
        """
        if not self._dense:
            return query
        with self._living(scopes) as all_held:
            return without(
                query,
                lambda term: any(held.lexicon.frequency(PERSON + term) for held in all_held),
            )

    def keyword_search(self, query: str, top_k: int = 5, filters: object = None) -> None:
        """None: `search` has done it."""

    def _cosines(
        self, held: HeldGroup, vector: Scores, near: Mapping[str, Mapping[str, float]]
    ) -> ranking.Cosines | None:
        """Cosines of the group's rows. near: what a server found; of what it didn't name, 0."""
        likeness = held.likeness
        if likeness is not None and len(vector) == likeness.dimensions:
            return lambda places: likeness.of(vector, places)
        if self._server is None:
            return None
        cosines = np.zeros(held.lexicon.size, np.float32)
        for scope in near.keys() & set(held.group):
            scored = near[scope]
            for number, entry in self._file.numbers(scope, list(scored)):
                if (place := held.lexicon.place(number)) is not None:
                    cosines[place] = scored[entry]
        every = np.arange(held.lexicon.size, dtype=np.int32)
        return lambda _: (every, cosines)

    # ── The rest of Mem0's interface ────────────────────────────────────────────────────

    def get(self, vector_id: str) -> VectorRecord | None:
        """One row by its id."""
        row = self._file.one(vector_id)
        return VectorRecord(row.id, 0.0, row.payload) if row else None

    def list(
        self, filters: Mapping[str, Any] | None = None, top_k: int | None = None
    ) -> Sequence[Sequence[VectorRecord]]:
        """The rows of these scopes, oldest first."""
        rows = [row for scope in _only_scopes(filters) for row in self._file.all(scope, top_k)]
        return [[VectorRecord(row.id, 0.0, row.payload) for row in rows]]

    def ids(self, scope: str | None) -> set[str]:
        """Ids of all rows, or of one scope's."""
        return self._file.ids(scope)

    def update(self, vector_id: str, vector: object = None, payload: object = None) -> None:
        """Refused: an entry is replaced by adding it again."""
        raise IndexFailed("rows of the index are replaced, not changed")

    def create_col(self, name: str, vector_size: int, distance: str) -> None:
        """Nothing to do: the file is there."""

    def list_cols(self) -> Sequence[str]:
        """The only collection."""
        return [self.collection_name]

    def delete_col(self) -> None:
        """Take everything out that is ours."""
        self.reset()

    def col_info(self) -> Mapping[str, Any]:
        """The collection's name, and its number of rows."""
        return {"name": self.collection_name, "count": self._file.count()}

    def search_batch(
        self,
        queries: Sequence[str],
        vectors_list: Sequence[Sequence[float]],
        top_k: int = 1,
        filters: Mapping[str, Any] | None = None,
    ) -> Sequence[Sequence[VectorRecord]]:
        """One search after the other."""
        pairs = zip(queries, vectors_list, strict=True)
        return [self.search(query, vector, top_k, filters) for query, vector in pairs]


def _ranked(
    looks: Sequence[tuple[InvertedIndex, ranking.Ranking]], limit: int
) -> dict[int, fusion.Place]:
    """The best of all scopes, and after them those by change, which are not counted.

    The second look, which is the dear one, is taken only at scopes that have one of the best after
    the first.
    """
    firsts = [look.first() for _, look in looks]
    least = heapq.nlargest(limit, chain.from_iterable(firsts))[-1:]
    found: list[tuple[int, ranking.RankedEntry]] = []
    for (lexicon, look), first in zip(looks, firsts, strict=True):
        if first and first[:1] >= least:
            found += [(lexicon.numbers[one.place], one) for one in look.best()]
    found.sort(key=lambda item: -item[1].score)
    ranked = {number: fusion.Place(one.score, one.bearing) for number, one in found}
    alike = [one for _, look in looks for one in look.nearest(fusion.NEAREST)]
    size = sum(lexicon.living for lexicon, _ in looks)
    seated = dict(islice(fusion.seated(ranked, alike, size).items(), limit))
    changes = [
        (lexicon.numbers[one.place], fusion.Place(one.score, one.bearing, True))
        for lexicon, look in looks
        for one in look.changes(_placed(lexicon, seated))
    ]
    return seated | dict(changes[:MOST_CHANGES])


def _placed(
    lexicon: InvertedIndex, seated: Mapping[int, fusion.Place]
) -> list[ranking.RankedEntry]:
    """Those of one lexicon, in their order."""
    return [
        ranking.RankedEntry(place, one.score, one.bearing)
        for number, one in seated.items()
        if (place := lexicon.place(number)) is not None
    ]


def _only_scopes(filters: Mapping[str, Any] | None) -> list[str]:
    """The scopes of `{"agent_id": AGENT, "OR": [{"user_id": scope}, ...]}`, as Mem0 hands it on."""
    given = dict(filters or {})
    either = given.pop("$or", None)
    if given != {"agent_id": AGENT} or not either or any(set(one) != {"user_id"} for one in either):
        raise IndexFailed(f"only scopes may be asked for, not {sorted(filters or ())}")
    return [checked_id(one["user_id"]) for one in either]


def _stored(vector: Sequence[float] | None, payload: Mapping[str, Any]) -> IndexRow:
    """A payload as its row. What Mem0 adds for full-text search is the text once more: left out."""
    at = datetime.fromisoformat(payload["at"])
    text = payload["data"][payload["skip"] :]
    terms = Counter(entry_terms(text, payload["person"]))
    return IndexRow(
        id=checked_id(payload["entry"]),
        scope=checked_id(payload["user_id"]),
        position=payload["order"],
        source=payload["source"],
        day=at.toordinal(),
        length=sum(times for term, times in terms.items() if term[0] != "@"),
        terms=" ".join(terms),
        times=bytes(min(times, 255) for times in terms.values()),
        vector=None if vector is None else np.asarray(vector, np.float16).tobytes(),
        payload=json.dumps({**payload, "text_lemmatized": None}, ensure_ascii=False),
    )
