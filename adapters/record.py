"""Follows a program's own record of its session, from where a turn began."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from adapters.profiles.profile import Record, TurnEvent

log = logging.getLogger("moot.adapters.record")

SQLITE_WAIT_S = 0.5
_WILD = re.compile(r"[*?[]")


class Follower(Protocol):
    """Reads what was added to a record since the last look."""

    def skip(self) -> bool:
        """Forget what is there: only what comes from now on counts. False: there was nothing."""

    async def read(self) -> Sequence[TurnEvent]:
        """The events of the rows added since; () when there is no record yet."""


def follow(record: Record, home: Path, glob: str) -> Follower:
    """The follower for the record's format. glob: filled in, relative to home."""
    if record.format == "sqlite":
        return _Table(record, home, glob)
    return _Lines(record, home, glob)


def _matches(home: Path, glob: str) -> list[Path]:
    if not _WILD.search(glob):
        return [path] if (path := home / glob).is_file() else []
    return [path for path in home.glob(glob) if path.is_file()]


def _newest(home: Path, glob: str) -> Path | None:
    return max(_matches(home, glob), key=lambda path: path.stat().st_mtime_ns, default=None)


class _Lines:
    """A file that lines are appended to. A line without its end is left for the next look."""

    def __init__(self, record: Record, home: Path, glob: str) -> None:
        self._record = record
        self._home = home
        self._glob = glob
        self._path: Path | None = None
        self._known: set[Path] = set()  # files that are there since before
        self._offset = 0
        self._head, self._since = "", 0

    def skip(self) -> bool:
        self._known = set(_matches(self._home, self._glob))
        self._path = _newest(self._home, self._glob)
        self._offset = self._path.stat().st_size if self._path else 0
        self._head, self._since = "", 0
        return self._offset > 0

    async def read(self) -> Sequence[TurnEvent]:
        return [event for row in self._rows(self._added()) for event in self._record.read(row)]

    def _added(self) -> bytes:
        self._path = self._path or _newest(self._home, self._glob)
        if self._path is None:
            return b""
        try:
            size = self._path.stat().st_size
            if size == self._offset:
                self._go_on()
                return b""
            if size < self._offset:  # written anew
                self._offset = 0
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:  # moved away: look for it again
            self._path, self._offset = None, 0
            return b""
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole

    def _go_on(self) -> None:
        """Follow a file that the program began since, where it writes one after the other."""
        if self._path:
            self._known.add(self._path)
        if _WILD.search(self._glob):
            begun = sorted(set(_matches(self._home, self._glob)) - self._known)
            if begun:
                self._path, self._offset = begun[0], 0

    def _rows(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        for line in data.split(b"\n")[:-1]:
            if self._record.format == "text":
                text = line.decode("utf-8", "replace")
                if self._record.heads and self._record.heads.search(text):
                    self._head, self._since = text, -1
                self._since += 1
                yield {"line": text, "head": self._head, "since": self._since}
                continue
            try:
                row = json.loads(line)
            except ValueError:
                log.warning("a line of %s is not JSON", self._path)
                continue
            if isinstance(row, dict):
                yield row


class _Table:
    """Rows of a query; its `?` is the greatest value of the first column seen so far."""

    def __init__(self, record: Record, home: Path, glob: str) -> None:
        self._record = record
        self._home = home
        self._glob = glob
        self._last: Any = 0

    def skip(self) -> bool:
        rows = self._query()
        if rows:
            self._last = next(iter(rows[-1].values()))
        return bool(self._last)

    async def read(self) -> Sequence[TurnEvent]:
        rows = await asyncio.to_thread(self._query)
        for row in rows:
            self._last = next(iter(row.values()))
        return [event for row in rows for event in self._record.read(row)]

    def _query(self) -> list[dict[str, Any]]:
        path = _newest(self._home, self._glob)
        if path is None:
            return []
        try:
            uri = f"{path.as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, timeout=SQLITE_WAIT_S)) as database:
                database.row_factory = sqlite3.Row
                return [dict(row) for row in database.execute(self._record.query, (self._last,))]
        except sqlite3.OperationalError as error:  # locked, or not yet set up: the next look
            log.debug("reading %s: %s", path, error)
            return []
