"""Everything that memory holds as JSON Lines, and back: one object a line, its `type` in it.

The order is fixed, and seqs and ids are kept: what was exported, wiped and imported again exports
to the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, text, update

from contract.values import dataclass
from memory.observations.rows import blank_sessions
from memory.transfer.rows import (
    EPOCH,
    LEFT_OUT,
    TABLES,
    VERSION,
    Head,
    PlainFact,
    fact_values,
    is_time,
    parse_lines,
)
from store.schema import agent_sessions, episodes, fact_speakers, facts, messages, pointers, staging

BATCH = 1000
_OF_FACTS = frozenset({"consolidation"})  # layers whose pointers are seqs of facts
_MICROSECOND = timedelta(microseconds=1)


# ── Export ──────────────────────────────────────────────────────────────────────────────


def export(connection: Connection) -> Iterator[bytes]:
    """Every line of an export, its end of line included."""
    yield _line({"type": "moot-memory", "version": VERSION})
    for name, table in TABLES.items():
        speakers = _speakers(connection) if table is facts else {}
        columns = [column for column in table.columns if column.name not in LEFT_OUT]
        times = frozenset(column.name for column in columns if is_time(column))
        rows = connection.execute(
            select(*columns).order_by(*table.primary_key.columns),
            execution_options={"yield_per": BATCH},
        )
        for row in rows.mappings():
            values = {"type": name, **row}
            values |= {key: _iso(row[key]) for key in times if row[key] is not None}
            if table is facts:
                values["speakers"] = speakers.get(row["seq"], [])
            yield _line(values)


def _speakers(connection: Connection) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for seq, sender in connection.execute(select(fact_speakers)):
        found.setdefault(seq, []).append(sender)
    return {seq: sorted(senders) for seq, senders in found.items()}


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _iso(at: int) -> str:
    """Exact, unlike a float's way."""
    return (EPOCH + at * _MICROSECOND).isoformat(timespec="microseconds")


# ── Import ──────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Imported:
    """The result of an import. rows: by type. known: were there already. strange: rows that
    speak of messages which are others here, and were left out or lost their range."""

    rows: Counter[str] = field(default_factory=Counter)
    known: int = 0
    strange: int = 0


def import_lines(connection: Connection, lines: Iterable[bytes], now: datetime) -> Imported:
    """Store checked lines, in the transaction of the connection; what is there already stays.

    A seq that is taken by another row is replaced by the next free one.
    """
    here = _KnownMessages.of(connection)
    writers = {name: _Writer(connection, table, here) for name, table in TABLES.items()}
    for _, item in parse_lines(lines):
        if isinstance(item, Head):
            continue
        if isinstance(item, PlainFact):
            writers["fact"].put(fact_values(item, now))
        else:
            values = dict(item)
            writers[values.pop("type")].put(values)
    result = Imported()
    for name, writer in writers.items():
        writer.flush()
        result.rows[name] = writer.added
        result.known += writer.known
        result.strange += writer.strange
    _count_on(connection, here.reached)
    return result


@dataclass(slots=True)
class _KnownMessages:
    """The messages that are here. counter: the highest seq that any ever had. reached: the highest
    that an imported row speaks of, where no message is."""

    connection: Connection
    counter: int
    reached: int = 0
    _at: dict[int, tuple[str, str] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: Connection) -> _KnownMessages:
        return cls(connection, _counter(connection, messages))

    def fits(self, seq: int, scope: str, room_id: str | None) -> bool:
        """True if a row of this scope may speak of this message: it is not another one here."""
        if seq > self.counter:
            if self.counter:
                return False
            self.reached = max(self.reached, seq)  # a new database counts on above it
            return True
        if seq not in self._at:
            query = select(messages.c.scope, messages.c.room_id).where(messages.c.seq == seq)
            row = self.connection.execute(query).first()
            self._at[seq] = None if row is None else (row.scope, row.room_id)
        found = self._at[seq]
        return found is None or found[0] == scope or found[1] == room_id or _wanders(scope)


def _wanders(scope: str) -> bool:
    """True for a scope whose content was said elsewhere."""
    return scope.startswith(("profile:", "project:"))


class _Writer:
    """Puts rows into one table, many at a time."""

    def __init__(self, connection: Connection, table: Table, here: _KnownMessages) -> None:
        self.added = self.known = self.strange = 0
        self._connection = connection
        self._table = table
        self._here = here
        self._waiting: list[dict[str, Any]] = []
        self._speakers: list[dict[str, Any]] = []
        columns = table.columns
        self._said = [column.name for column in columns if column.name != "seq"]
        self._ids = set[tuple[Any, ...]]()
        self._contents = Counter[bytes]()
        if keys := self._names():
            found = connection.execute(select(*(columns[key] for key in keys)))
            self._ids = {tuple(row) for row in found}
        else:
            rows = connection.execute(select(table)).mappings()
            self._contents = Counter(self._digest(row) for row in rows)
        self._seqs = set[int]()
        if "seq" in columns and columns["seq"].primary_key:
            self._seqs = set(connection.execute(select(columns["seq"])).scalars())
        self._next = max(max(self._seqs, default=0), _counter(connection, table))

    def _names(self) -> list[str]:
        """The columns that name a row whatever its seq; none: all that it says."""
        if "id" in self._table.columns:
            return ["id"]
        keys = [column.name for column in self._table.primary_key.columns]
        return [] if keys == ["seq"] else keys

    def _digest(self, row: Mapping[Any, Any]) -> bytes:
        said = {name: row.get(name) for name in self._said}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).digest()

    def put(self, given: Mapping[str, Any]) -> None:
        """Add one row, unless it is there."""
        speakers = given.get("speakers", ())
        values = {column.name: _stored(given.get(column.name)) for column in self._table.columns}
        if not self._settle(values):
            self.strange += 1
            return
        if self._is_known(values):
            self.known += 1
            if self._table is agent_sessions:
                _tell_again(self._connection, values)
            return
        if "seq" in values and self._table.columns["seq"].primary_key:
            values["seq"] = self._seq(values["seq"])
        self._waiting.append(values)
        self._speakers += [
            {"fact_seq": values["seq"], "sender_id": sender} for sender in dict.fromkeys(speakers)
        ]
        self.added += 1
        if len(self._waiting) >= BATCH:
            self.flush()

    def _settle(self, values: dict[str, Any]) -> bool:
        """Take from a row what speaks of others' messages; False: nothing of use is left."""
        scope, room = values.get("scope", ""), values.get("room_id")
        seqs = [
            values[name] for name in ("first_seq", "last_seq", "message_seq") if values.get(name)
        ]
        if self._table is pointers and values["seq"] and values["layer"] not in _OF_FACTS:
            seqs = [values["seq"]]
        if all(self._here.fits(seq, scope, room) for seq in seqs):
            return True
        if self._table in (pointers, staging):
            return False
        self.strange += 1
        for name in ("first_seq", "last_seq", "message_seq"):
            if name in values:
                values[name] = 0 if self._table is episodes else None
        return True

    def _is_known(self, values: Mapping[str, Any]) -> bool:
        if keys := self._names():
            name = tuple(values[key] for key in keys)
            known = name in self._ids
            self._ids.add(name)
            return known
        digest = self._digest(values)
        self._contents[digest] -= 1
        return self._contents[digest] >= 0

    def _seq(self, wanted: int | None) -> int:
        """The seq that it had, if it is free; else the next one."""
        seq = self._next + 1 if wanted is None or wanted in self._seqs else wanted
        self._seqs.add(seq)
        self._next = max(self._next, seq)
        return seq

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            self._connection.execute(insert(self._table), self._waiting)
        if self._speakers:
            self._connection.execute(insert(fact_speakers), self._speakers)
        self._waiting.clear()
        self._speakers.clear()


def _tell_again(connection: Connection, values: Mapping[str, Any]) -> None:
    """Give an emptied session its words back; let it count on above the higher number."""
    at = agent_sessions.c
    here = update(agent_sessions).where(at.id == values["id"])
    texts = {name: values[name] for name in ("title", "subtitle", "overview")}
    connection.execute(here.where(at.title.is_(None), at.overview.is_(None)).values(**texts))
    number = values["last_number"]
    connection.execute(here.where(at.last_number < number).values(last_number=number))


def _stored(value: Any) -> Any:
    """A value as its column holds it."""
    return (value - EPOCH) // _MICROSECOND if isinstance(value, datetime) else value


def _count_on(connection: Connection, reached: int) -> None:
    """Let every table count on above the highest seq that was imported or spoken of."""
    if connection.dialect.name == "postgresql":
        for table in (*TABLES.values(), messages):
            if "seq" in table.primary_key.columns:
                _raise_postgres(connection, table, reached if table is messages else 0)
    elif reached:  # SQLite itself remembers the highest one of the rows
        name = {"name": "messages", "reached": reached}
        gone = text("DELETE FROM sqlite_sequence WHERE name = :name AND seq < :reached")
        there = text("SELECT 1 FROM sqlite_sequence WHERE name = :name")
        connection.execute(gone, name)
        if connection.execute(there, name).first() is None:
            new = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :reached)")
            connection.execute(new, name)


def _counter(connection: Connection, table: Table) -> int:
    """The highest seq that a row of the table ever had."""
    if "seq" not in table.primary_key.columns:
        return 0
    if connection.dialect.name == "sqlite":
        query = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        counted = connection.execute(query, {"name": table.name}).scalar()
    else:
        query = text("SELECT last_value FROM pg_sequences WHERE sequencename = :name")
        counted = connection.execute(query, {"name": f"{table.name}_seq_seq"}).scalar()
    highest = connection.execute(select(func.max(table.c.seq))).scalar()
    return max(counted or 0, highest or 0)


def _raise_postgres(connection: Connection, table: Table, reached: int) -> None:
    highest = connection.execute(select(func.max(table.c.seq))).scalar() or 0
    sequence = f"pg_get_serial_sequence('{table.name}', 'seq')"
    current = connection.execute(text(f"SELECT nextval({sequence})")).scalar_one()
    value = {"value": max(highest, reached, current)}
    connection.execute(text(f"SELECT setval({sequence}, :value)"), value)


def wipe(connection: Connection) -> int:
    """Delete everything that memory holds; messages and what was paid for stay.

    Pointers stay too: what was read once, and perhaps forgotten since, is not learned again; and
    so do the rows of sessions, emptied, for they count the numbers of observations.
    Returns how many rows went. Seqs and numbers are not used again.
    """
    kept = (pointers, agent_sessions)
    tables = (fact_speakers, *(table for table in TABLES.values() if table not in kept))
    blank_sessions(connection)
    return sum(connection.execute(table.delete()).rowcount for table in tables)
