"""Mem0's vector store in SQLite: rows on disk, a lexicon of each scope in memory, our ranking.

Mem0 gives `search` the question's text and its vector, and keeps the order it gets back, so the
whole ranking happens here. A scope's lexicon is made at its first search, and every search begins
by reading what was written since, by whatever process. With a `remote` store of Mem0's, the
vectors are there (and no text), and the words stay here.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from memory import ranking
from memory.index import IndexFailed, checked_id
from memory.lexicon import Lexicon, Places, Row, Scores
from memory.likeness import Likeness
from memory.words import entry_terms, question

log = logging.getLogger("moot.memory")

SCHEMA = 1
HELD = 400_000  # entries that the lexicons in memory may have together, some 0.5 GB
BUSY_MS = 5_000
CHUNK = 500  # ids in one statement
REMOTE_HITS = 200  # more make a server slow, and the words find what lies behind
_POINTS = uuid.UUID("6f2dd7a5-6a0c-5b0e-9d5b-0f6f3f1d7c11")  # names an entry's vector on a server

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    position INTEGER NOT NULL,
    source TEXT NOT NULL,
    day INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms TEXT NOT NULL,
    times BLOB NOT NULL,
    vector BLOB,
    payload TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_scope ON entries (scope, number);
CREATE TABLE IF NOT EXISTS gone (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, number INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS gone_scope ON gone (scope, seq);
"""


_COLUMNS = "id, scope, position, source, day, length, terms, times, vector, payload"
_INSERT = (
    f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * 10)}) ON CONFLICT (id) DO NOTHING"
)


class Remote(Protocol):
    """What is used of a vector store of Mem0's."""

    def insert(self, vectors: Any, payloads: Any = None, ids: Any = None) -> Any:
        """Put vectors in."""

    def search(self, query: str, vectors: Any, top_k: int = 5, filters: Any = None) -> Any:
        """The nearest, with `score` and `payload`."""

    def delete(self, vector_id: str) -> Any:
        """Take one out."""

    def reset(self) -> Any:
        """Take everything out."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row as Mem0 reads it."""

    id: str
    score: float
    payload: dict[str, Any]


class _Scope:
    """A scope's lexicon, and up to where it has read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.empty()

    def empty(self) -> None:
        self.lexicon = Lexicon()
        self.likeness: Likeness | None = None
        self.read_to = 0
        self.gone_to = 0


class SqliteVectors:
    """The store. Its methods are Mem0's `VectorStoreBase`; any thread may call them."""

    def __init__(
        self,
        path: Path | str,
        now: Callable[[], datetime],
        dense: bool = False,
        remote: Remote | None = None,
        overfetch: int = 1,
        collection_name: str = "moot",
    ) -> None:
        """path: the database file. dense: vectors carry meaning, and are kept and compared.
        overfetch: the caller asks for so many times the rows that it keeps."""
        self._path = Path(path)
        self._now = now
        self._dense = dense and remote is None
        self._remote = remote
        self._overfetch = overfetch
        self.collection_name = collection_name
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._scopes: OrderedDict[str, _Scope] = OrderedDict()
        self._scopes_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._open()

    # ── The file ────────────────────────────────────────────────────────────────────────

    def _open(self) -> None:
        """Open the file, and start anew when it is broken: it is made from other data.

        It is not kept aside, for then what is forgotten later would stay in it.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._writer = self._prepared()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "lock" in str(error):
                raise
            log.error("index.broken reason=%r action=start_anew", str(error))
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            self._writer = self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("quick_check failed")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA):
                raise sqlite3.DatabaseError(f"schema {version}, not {SCHEMA}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(f"{_TABLES}PRAGMA user_version={SCHEMA};")
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        for pragma in ("synchronous=NORMAL", f"busy_timeout={BUSY_MS}", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _reader(self) -> sqlite3.Connection:
        """This thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            connection.execute("PRAGMA query_only=ON")
            with self._scopes_lock:
                self._connections.append(connection)
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; one at a time in this process, and SQLite sees to the others."""
        with self._write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file. Nobody may be in a method."""
        for connection in (*self._connections, self._writer):
            connection.close()

    # ── Writing ─────────────────────────────────────────────────────────────────────────

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Put rows in. A payload's `entry` is the row's id; a known one replaces the old row."""
        payloads = payloads or []
        rows = [
            _row(vector if self._dense else None, payload)
            for vector, payload in zip(vectors, payloads, strict=True)
        ]
        if self._remote is not None:
            self._put_remote(vectors, payloads)
        with self._writing() as connection:
            _delete(connection, [str(row[0]) for row in rows])
            connection.executemany(
                _INSERT,
                reversed(rows),  # of one id twice in a batch the last one counts
            )

    def _put_remote(
        self, vectors: Sequence[Sequence[float]], payloads: Sequence[Mapping[str, Any]]
    ) -> None:
        assert self._remote is not None
        latest = {payload["entry"]: i for i, payload in enumerate(payloads)}
        for entry in latest:
            with suppress(KeyError):
                self._remote.delete(_point(entry))
        self._remote.insert(
            vectors=[vectors[i] for i in latest.values()],
            payloads=[
                {"user_id": payloads[i]["user_id"], "entry": entry} for entry, i in latest.items()
            ],
            ids=[_point(entry) for entry in latest],
        )

    def delete(self, vector_id: str) -> None:
        """Take a row out."""
        self.forget([vector_id])

    def forget(self, ids: Sequence[str]) -> None:
        """Take rows out so that nothing of them stays in the file or its log."""
        if self._remote is not None:
            for entry in ids:
                self._remote.delete(_point(entry))
        with self._writing() as connection:
            _delete(connection, ids)
        self._scrub()

    def reset(self) -> None:
        """Take everything out."""
        if self._remote is not None:
            self._remote.reset()
        with self._writing() as connection:
            connection.execute("INSERT INTO gone (scope, number) SELECT scope, number FROM entries")
            connection.execute("DELETE FROM entries")
        self._scrub()

    def _scrub(self) -> None:
        """Empty the write-ahead log; deleted rows were overwritten where they stood."""
        with self._write_lock:
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise IndexFailed("the index's log is still read by another process; forget again")

    # ── Reading ─────────────────────────────────────────────────────────────────────────

    def search(
        self,
        query: str,
        vectors: Sequence[float],
        top_k: int = 5,
        filters: Mapping[str, Any] | None = None,
    ) -> list[Record]:
        """The best rows of the scope that `filters` names, best first.

        Raises IndexFailed for any filter but one scope: nothing else is ever meant.
        """
        scope = _only_scope(filters)
        asked = question(query, self._now())
        vector = np.asarray(vectors, np.float32)
        reader = self._reader()
        held = self._held(scope)
        with held.lock:
            self._catch_up(reader, scope, held)
            cosines = self._cosines(reader, scope, held, query, vector)
            found = ranking.rank(held.lexicon, asked, -(-top_k // self._overfetch), cosines)
            scores = {held.lexicon.numbers[one.place]: one.score for one in found}
        records = _read(reader, "number", scores, scope)
        return sorted(
            (Record(id_, scores[number], payload) for number, id_, payload in records),
            key=lambda record: -record.score,
        )

    def _cosines(
        self, reader: sqlite3.Connection, scope: str, held: _Scope, query: str, vector: Scores
    ) -> ranking.Cosines | None:
        if held.likeness is not None:
            likeness = held.likeness
            return lambda places: likeness.of(vector, places)
        if self._remote is None or not held.lexicon.living:
            return None
        near = self._near(reader, scope, held.lexicon, query, vector)
        return lambda _: near

    def _near(
        self,
        reader: sqlite3.Connection,
        scope: str,
        lexicon: Lexicon,
        query: str,
        vector: Scores,
    ) -> Scores:
        """Cosines of the server's nearest; of what it didn't name, 0.

        A server that fails is left out: the words still find.
        """
        cosines = np.zeros(lexicon.size, np.float32)
        assert self._remote is not None
        try:
            hits = self._remote.search(
                query=query, vectors=vector.tolist(), top_k=REMOTE_HITS, filters={"user_id": scope}
            )
        except Exception as error:  # noqa: BLE001 - any client's own; recall goes on without it
            log.warning("index.server_failed reason=%s", type(error).__name__)
            return cosines
        near = {
            str(hit.payload.get("entry")): float(hit.score)
            for hit in hits
            if hit.payload and hit.payload.get("user_id") == scope
        }
        for number, id_, _ in _read(reader, "id", near, scope):
            if (place := lexicon.place(number)) is not None:
                cosines[place] = near[id_]
        return cosines

    def keyword_search(self, query: str, top_k: int = 5, filters: object = None) -> None:
        """None: `search` has done it."""

    def _held(self, scope: str) -> _Scope:
        """The scope's lexicon; those unused longest are let go when all grow too large."""
        with self._scopes_lock:
            held = self._scopes.setdefault(scope, _Scope())
            self._scopes.move_to_end(scope)
            total = sum(other.lexicon.size for other in self._scopes.values())
            while total > HELD and len(self._scopes) > 1:
                _, other = self._scopes.popitem(last=False)
                total -= other.lexicon.size
            return held

    def _catch_up(self, reader: sqlite3.Connection, scope: str, held: _Scope) -> None:
        """Read what was written and removed since the last search."""
        gone = reader.execute(
            "SELECT seq, number FROM gone WHERE scope = ? AND seq > ? ORDER BY seq",
            (scope, held.gone_to),
        ).fetchall()
        if held.read_to:
            for _, number in gone:
                held.lexicon.remove(number)
            if held.lexicon.worn:
                held.empty()
        if gone:
            held.gone_to = gone[-1][0]
        rows = reader.execute(
            "SELECT number, position, source, day, length, terms, times, vector FROM entries"
            " WHERE scope = ? AND number > ? ORDER BY number",
            (scope, held.read_to),
        )
        while some := rows.fetchmany(CHUNK):
            held.lexicon.extend([Row(*row[:-1]) for row in some])
            held.read_to = some[-1][0]
            if some[0][-1] is not None:
                vectors = np.frombuffer(b"".join(row[-1] for row in some), np.float16)
                vectors = vectors.reshape(len(some), -1)
                held.likeness = held.likeness or Likeness(vectors.shape[1])
                held.likeness.extend(vectors)

    def get(self, vector_id: str) -> Record | None:
        """One row by its id."""
        found = _read(self._reader(), "id", [vector_id], None)
        return Record(found[0][1], 0.0, found[0][2]) if found else None

    def list(
        self, filters: Mapping[str, Any] | None = None, top_k: int | None = None
    ) -> list[list[Record]]:
        """The rows of one scope, oldest first."""
        rows = self._reader().execute(
            "SELECT id, payload FROM entries WHERE scope = ? ORDER BY number LIMIT ?",
            (_only_scope(filters), -1 if top_k is None else top_k),
        )
        return [[Record(id_, 0.0, json.loads(payload)) for id_, payload in rows]]

    def ids(self, scope: str | None) -> set[str]:
        """Ids of all rows, or of one scope's."""
        reader = self._reader()
        if scope is None:
            rows = reader.execute("SELECT id FROM entries")
        else:
            rows = reader.execute("SELECT id FROM entries WHERE scope = ?", (scope,))
        return {id_ for (id_,) in rows}

    # ── The rest of Mem0's interface ────────────────────────────────────────────────────

    def update(self, vector_id: str, vector: object = None, payload: object = None) -> None:
        """Refused: an entry is replaced by adding it again."""
        raise IndexFailed("rows of the index are replaced, not changed")

    def create_col(self, name: str, vector_size: int, distance: str) -> None:
        """Nothing to do: the file is there."""

    def list_cols(self) -> Sequence[str]:
        """The only collection."""
        return [self.collection_name]

    def delete_col(self) -> None:
        """Take everything out."""
        self.reset()

    def col_info(self) -> dict[str, Any]:
        """Its name and how many rows it has."""
        count = self._reader().execute("SELECT count(*) FROM entries").fetchone()[0]
        return {"name": self.collection_name, "count": count}

    def search_batch(
        self,
        queries: Sequence[str],
        vectors_list: Sequence[Sequence[float]],
        top_k: int = 1,
        filters: Mapping[str, Any] | None = None,
    ) -> Sequence[Sequence[Record]]:
        """One search after the other."""
        pairs = zip(queries, vectors_list, strict=True)
        return [self.search(query, vector, top_k, filters) for query, vector in pairs]


def _only_scope(filters: Mapping[str, Any] | None) -> str:
    if not filters or set(filters) != {"user_id"}:
        raise IndexFailed(f"only a scope may be asked for, not {sorted(filters or ())}")
    return checked_id(filters["user_id"])


def _point(entry: str) -> str:
    return str(uuid.uuid5(_POINTS, entry))


def _row(vector: Sequence[float] | None, payload: Mapping[str, Any]) -> tuple[object, ...]:
    """A payload as its row, in the order of _COLUMNS."""
    at = datetime.fromisoformat(payload["at"])
    text = payload["data"][payload["skip"] :]
    terms = Counter(entry_terms(text, payload["person"], at))
    return (
        checked_id(payload["entry"]),
        checked_id(payload["user_id"]),
        payload["order"],
        payload["source"],
        at.toordinal(),
        sum(times for term, times in terms.items() if term[0] != "@"),
        " ".join(terms),
        bytes(min(times, 255) for times in terms.values()),
        None if vector is None else np.asarray(vector, np.float16).tobytes(),
        json.dumps(payload, ensure_ascii=False),
    )


def _delete(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Delete rows, and note their numbers for the lexicons of every process."""
    for start in range(0, len(ids), CHUNK):
        some = list(ids[start : start + CHUNK])
        found = f"FROM entries WHERE id IN ({_marks(some)})"
        connection.execute(f"INSERT INTO gone (scope, number) SELECT scope, number {found}", some)
        connection.execute(f"DELETE {found}", some)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _read(
    reader: sqlite3.Connection,
    column: str,
    values: Mapping[Any, object] | Sequence[str],
    scope: str | None,
) -> list[tuple[int, str, dict[str, Any]]]:
    """Number, id and payload of the rows with these values, of one scope if it is given."""
    wanted = list(values)
    only = "" if scope is None else " AND scope = ?"
    found = f"FROM entries WHERE {column} IN ({_marks(wanted)}){only}"
    given = wanted if scope is None else [*wanted, scope]
    rows = reader.execute(f"SELECT number, id, payload {found}", given)
    return [(number, id_, json.loads(payload)) for number, id_, payload in rows]


__all__ = ["Places", "Record", "Remote", "SqliteVectors"]
