"""The index's file: rows in SQLite, readable by several processes, forgetful when asked.

It is made from other data: a broken file is thrown away and begun again, not kept aside, for then
what is forgotten later would stay in it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import structlog

from memory.recall.index import IndexFailed
from memory.recall.inverted_index import IndexedText

log = structlog.stdlib.get_logger("moot.memory")

SCHEMA = 2
BUSY_MS = 5_000  # another process's transaction takes milliseconds
CHUNK = 500  # ids in one statement, rows in one fetch

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
    seq INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_unembedded ON entries (number) WHERE vector IS NULL;
CREATE TABLE IF NOT EXISTS embedded (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS unsent (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL UNIQUE, scope TEXT, vector BLOB
);
"""
_INSERT = """
INSERT INTO entries (id, scope, position, source, day, length, terms, times, vector, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UNSENT = "INSERT OR REPLACE INTO unsent (entry, scope, vector) VALUES (?, ?, ?)"
_NEWER = """
SELECT number, position, CASE source WHEN '' THEN '' ELSE scope || ' ' || source END,
    day, length, terms, times, vector
FROM entries WHERE scope IN (SELECT value FROM json_each(?)) AND number > ? ORDER BY number
"""


_EMBEDDED = """
SELECT number, vector FROM embedded JOIN entries USING (number)
WHERE seq > ? AND scope IN (SELECT value FROM json_each(?)) AND vector IS NOT NULL
"""


class IndexEnd(NamedTuple):
    """The last row that was written, removed, and given its vector afterwards."""

    entries: int
    gone: int
    embedded: int


class IndexRow(NamedTuple):
    """A new row: what the lexicon will be given, and what Mem0 wants back."""

    id: str
    scope: str
    position: int
    source: str
    day: int
    length: int
    terms: str
    times: bytes
    vector: bytes | None
    payload: str


class FoundRow(NamedTuple):
    """A row that was asked for."""

    number: int
    id: str
    payload: dict[str, Any]


class UnsentRow(NamedTuple):
    """A row that a server is to have, or without a vector is to have no longer."""

    seq: int
    entry: str
    scope: str | None
    vector: list[float] | None


class IndexFile:
    """An open file. Any thread may call its methods; each has a connection of its own to read."""

    def __init__(self, path: Path) -> None:
        """Open, and begin again when the file is broken. Raises OSError, sqlite3.Error."""
        self._path = path
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._write_lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._writer = self._prepared()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "lock" in str(error):
                raise
            log.error("index.broken", reason=str(error), action="start_anew")
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            self._writer = self._prepared()

    def close(self) -> None:
        """Let go of the file. Nobody may be in a method."""
        with self._write_lock:
            for connection in (*self._connections, self._writer):
                connection.close()

    # ── Writing ─────────────────────────────────────────────────────────────────────────

    def put(self, rows: Sequence[IndexRow], sent: Sequence[Sequence[float]] | None = None) -> None:
        """Insert rows with different ids; those with a known id replace the old ones.

        sent: their vectors, if a server is to have them.
        """
        with self._writing() as connection:
            _delete(connection, [row.id for row in rows])
            connection.executemany(_INSERT, rows)
            if sent is not None:
                blobs = [array("f", vector).tobytes() for vector in sent]
                waiting = [(row.id, row.scope, blob) for row, blob in zip(rows, blobs, strict=True)]
                connection.executemany(_UNSENT, waiting)

    def forget(self, ids: Sequence[str], served: bool = False) -> None:
        """Delete rows so that nothing of them stays in the file or its log.

        served: a server is to delete them too.
        """
        with self._writing() as connection:
            _delete(connection, ids)
            if served:
                connection.executemany(_UNSENT, [(entry, None, None) for entry in ids])
            else:
                connection.executemany("DELETE FROM unsent WHERE entry = ?", zip(ids))
        self._scrub()

    def forget_all(self, served: bool = False) -> None:
        """Delete every row in the same way."""
        with self._writing() as connection:
            connection.execute("INSERT INTO gone (number) SELECT number FROM entries")
            if served:
                connection.execute("UPDATE unsent SET scope = NULL, vector = NULL")
                connection.execute("INSERT OR IGNORE INTO unsent (entry) SELECT id FROM entries")
            connection.execute("DELETE FROM entries")
        self._scrub()

    def embed(self, vectors: Mapping[int, bytes]) -> None:
        """Give rows their vectors, by the rows' numbers; those that are gone meanwhile stay so."""
        with self._writing() as connection:
            connection.executemany(
                "UPDATE entries SET vector = ? WHERE number = ?",
                [(vector, number) for number, vector in vectors.items()],
            )
            numbers = [(number,) for number in vectors]
            connection.executemany("INSERT INTO embedded (number) VALUES (?)", numbers)

    def sent(self, seqs: Sequence[int]) -> None:
        """The server has done what these rows say."""
        with self._writing() as connection:
            connection.executemany("DELETE FROM unsent WHERE seq = ?", [(seq,) for seq in seqs])

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

    def _scrub(self) -> None:
        """Empty the write-ahead log; deleted rows were overwritten where they stood."""
        with self._write_lock:
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise IndexFailed("the index's log is still read by another process; forget again")

    # ── Reading ─────────────────────────────────────────────────────────────────────────

    def newer(
        self, scopes: Sequence[str], number: int
    ) -> Iterator[tuple[list[IndexedText], Sequence[bytes | None]]]:
        """These scopes' rows after a number, and their vectors, some at a time.

        Two scopes' rows are of different sources, whatever these are called.
        """
        rows = self._reader().execute(_NEWER, (json.dumps(scopes), number))
        while some := rows.fetchmany(CHUNK):
            yield [IndexedText(*row[:-1]) for row in some], [row[-1] for row in some]

    def unsent(self, limit: int) -> list[UnsentRow]:
        """What a server is to have or to delete and isn't known to have done, oldest first."""
        found = "SELECT seq, entry, scope, vector FROM unsent ORDER BY seq LIMIT ?"
        with self._write_lock:  # asked for by threads that live for one call
            rows = self._writer.execute(found, (limit,)).fetchall()
        return [
            UnsentRow(seq, entry, scope, vector and array("f", vector).tolist())
            for seq, entry, scope, vector in rows
        ]

    def gone(self, seq: int) -> list[tuple[int, int]]:
        """The rows deleted after a `seq`, of any scope: pairs of `seq` and the row's number.

        No scope is kept with it: it would name people who are not there any more.
        """
        found = "SELECT seq, number FROM gone WHERE seq > ? ORDER BY seq"
        return self._reader().execute(found, (seq,)).fetchall()

    def unembedded(self, limit: int) -> list[tuple[int, str]]:
        """Rows without a vector, the newest first: numbers, and the texts to embed."""
        found = "SELECT number, payload FROM entries WHERE vector IS NULL ORDER BY number DESC"
        rows = self._reader().execute(f"{found} LIMIT ?", (limit,)).fetchall()
        return [(number, json.loads(payload)["data"]) for number, payload in rows]

    def embedded(self, scopes: Sequence[str], seq: int) -> list[tuple[int, bytes]]:
        """These scopes' rows that were given their vector after a `seq`: numbers and vectors."""
        return self._reader().execute(_EMBEDDED, (seq, json.dumps(scopes))).fetchall()

    def end(self) -> IndexEnd:
        """Changes with every row that is written, removed or embedded, by whatever process."""
        ends = dict(self._reader().execute("SELECT name, seq FROM sqlite_sequence").fetchall())
        return IndexEnd(*(ends.get(table, 0) for table in IndexEnd._fields))

    def texts(self, numbers: Sequence[int], scopes: Sequence[str]) -> dict[int, FoundRow]:
        """The rows with these numbers, of these scopes alone; of the payload text and scope."""
        found = "SELECT number, id, scope, json_extract(payload, '$.data') FROM entries"
        rows = self._reader().execute(f"{found} WHERE number IN ({_marks(numbers)})", numbers)
        return {
            number: FoundRow(number, id_, {"data": text, "user_id": scope})
            for number, id_, scope, text in rows
            if scope in scopes
        }

    def numbers(self, scope: str, ids: Sequence[str]) -> list[tuple[int, str]]:
        """Numbers and ids of the rows with these ids, of this scope alone."""
        found = f"FROM entries WHERE id IN ({_marks(ids)}) AND scope = ?"
        return self._reader().execute(f"SELECT number, id {found}", [*ids, scope]).fetchall()

    def one(self, id_: str) -> FoundRow | None:
        """A row by its id, of whatever scope."""
        found = "SELECT number, id, payload FROM entries WHERE id = ?"
        row = self._reader().execute(found, (id_,)).fetchone()
        return FoundRow(row[0], row[1], json.loads(row[2])) if row else None

    def all(self, scope: str, limit: int | None) -> list[FoundRow]:
        """A scope's rows, oldest first."""
        found = "SELECT number, id, payload FROM entries WHERE scope = ? ORDER BY number LIMIT ?"
        rows = self._reader().execute(found, (scope, -1 if limit is None else limit))
        return [FoundRow(number, id_, json.loads(payload)) for number, id_, payload in rows]

    def ids(self, scope: str | None) -> set[str]:
        """Ids of all rows, or of one scope's."""
        if scope is None:
            rows = self._reader().execute("SELECT id FROM entries")
        else:
            rows = self._reader().execute("SELECT id FROM entries WHERE scope = ?", (scope,))
        return {id_ for (id_,) in rows}

    def largest(self, limit: int) -> list[tuple[str, int]]:
        """The scopes with the most rows, and how many they have."""
        found = "SELECT scope, count(*) FROM entries GROUP BY scope ORDER BY 2 DESC LIMIT ?"
        return self._reader().execute(found, (limit,)).fetchall()

    def larger(self, scopes: Sequence[str], least: int) -> list[str]:
        """Those of the scopes that have at least so many rows."""
        found = "SELECT scope FROM entries WHERE scope IN (SELECT value FROM json_each(?))"
        rows = self._reader().execute(
            f"{found} GROUP BY scope HAVING count(*) >= ?", (json.dumps(scopes), least)
        )
        return [scope for (scope,) in rows]

    def count(self) -> int:
        """The number of rows."""
        rows: int = self._reader().execute("SELECT count(*) FROM entries").fetchone()[0]
        return rows

    # ── Connections ─────────────────────────────────────────────────────────────────────

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
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            connection.execute("PRAGMA query_only=ON")
            self._connections.append(connection)
        return connection


def drop(path: Path, wanted: Callable[[str], bool]) -> int:
    """Let a file that this process has not open forget the entries whose ids are wanted, and what a
    server was to have of them; return how many those were. Raises IndexFailed, OSError."""
    if not path.exists():
        return 0
    try:
        file = IndexFile(path)
        try:
            ids = sorted(filter(wanted, file.ids(None)))
            if ids:
                file.forget(ids)
            return len(ids)
        finally:
            file.close()
    except sqlite3.Error as error:
        raise IndexFailed(f"the index's file: {error}") from error


def _delete(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Delete rows, and note their numbers for the lexicons of every process."""
    for start in range(0, len(ids), CHUNK):
        some = list(ids[start : start + CHUNK])
        found = f"FROM entries WHERE id IN ({_marks(some)})"
        connection.execute(f"INSERT INTO gone (number) SELECT number {found}", some)
        connection.execute(f"DELETE {found}", some)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
