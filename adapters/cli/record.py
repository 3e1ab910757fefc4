"""Follows a program's own record of its session, from where a turn began."""

from __future__ import annotations

import asyncio
import heapq
import json
import re
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import structlog

from adapters.own_files import has_plain_journals, open_own, real_place
from adapters.turn_events import TurnEvent
from adapters.turn_signs import RecordFormat

log = structlog.stdlib.get_logger("moot.adapters.record")

FILES = 1000  # of a record, the newest; one for each session, as a rule
SLOW_S = 0.05  # of work to look for them; then one part of SHARE of the time at most goes into it
SHARE = 20
SQLITE_WAIT_S = 0.5
QUERY_S = 2.0  # of one look: a program may make a table of it that has no end
OPCODES = 100_000  # of SQLite's, between two looks at the clock
CHUNK_BYTES = 128 * 1024  # 1 to 4 ms of parsing, between two turns of the loop
CHUNKS = 16  # in one look: 2 MB
LINE_BYTES = 8 * 1024 * 1024  # a tool's output with pictures; a reply is never so long
ROWS = 200  # in one look: a row may hold a whole file
SKIP_TRIES = 10  # a database that was killed recovers within a second or two, on a busy machine
_OPENING = threading.Lock()  # so that a database that is open is known to be the one asked for
_WILD = re.compile(r"[*?[]")


class Follower(Protocol):
    """Reads what was added to a record since the last look."""

    async def skip(self) -> bool:
        """Forget what is there: only what comes from now on counts. False: there was nothing."""

    async def read(self, *, last: bool = False) -> Sequence[TurnEvent]:
        """The events of the rows added since; () when there is no record yet.

        Of very much the beginning: the next look goes on. last: the turn is over, so a file that
        nobody has found yet is looked for now.
        """

    def folder(self) -> Path | None:
        """The folder that it reads in; None: not known yet."""


def follow(record: RecordFormat, home: Path, glob: str) -> Follower:
    """The follower for the record's format. glob: filled in, relative to home."""
    if record.format == "sqlite":
        return _Table(record, home, glob)
    if record.segments:
        return _Segments(record, home, glob)
    return _Lines(record, home, glob)


def _matches(home: Path, glob: str) -> list[Path]:
    """The newest files that lie in HOME. A program could make its record a link to what others
    wrote, to have it posted."""
    found = home.glob(glob) if _WILD.search(glob) else [home / glob]
    newest = heapq.nlargest(FILES, filter(Path.is_file, found), key=_changed_at)
    inside = real_place(home)
    return [path for path in newest if real_place(path).is_relative_to(inside)]


def _searched(home: Path, glob: str) -> tuple[list[Path], float]:
    """The same, and the seconds of work that it took: on a busy machine a short search is late,
    and no reason to look for the record less often."""
    began = time.thread_time()
    return _matches(home, glob), time.thread_time() - began


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # it went away meanwhile
        return 0


class _Search:
    """The files of a record. A program may make very many: they are looked for in a thread, and
    not soon again where that takes long."""

    def __init__(self, home: Path, glob: str) -> None:
        self._home = home
        self._glob = glob
        self._found: list[Path] = []
        self._due_at = 0.0

    @property
    def folder(self) -> Path | None:
        """The folder of all of them, where it has a name, else that of the newest."""
        if not _WILD.search(folder := str(Path(self._glob).parent)):
            return self._home / folder
        return self._found[0].parent if self._found else None

    async def files(self, *, now: bool = False) -> Sequence[Path]:
        """Those that are there; now: at this moment, however long it takes."""
        if not _WILD.search(self._glob):
            return _matches(self._home, self._glob)
        if now or time.monotonic() >= self._due_at:
            self._found, took_s = await asyncio.to_thread(_searched, self._home, self._glob)
            if took_s > SLOW_S:
                self._due_at = time.monotonic() + took_s * SHARE
        return self._found


def _is_own_database(name: str, home: Path) -> bool:
    """True when a database that is open, and its journals, lie in HOME: SQLite opens them by name.
    Only one at a time is open."""
    opened = [fd for fd in Path("/proc/self/fd").glob("*") if fd.is_symlink()]
    inside = real_place(home)
    return all(
        file.is_relative_to(inside) for file in map(_led, opened) if file.name.startswith(name)
    )


def _led(link: Path) -> Path:
    try:
        return link.readlink()
    except FileNotFoundError:  # it was closed meanwhile
        return Path()


def _database_in(home: Path, glob: str) -> Path | None:
    """The newest one, unless it or a journal of it is none: opening a FIFO has no end."""
    path = next(iter(_matches(home, glob)), None)
    return path if path and has_plain_journals(path) else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it went away meanwhile
        return 0


class _Lines:
    """A file that lines are appended to. A line without its end is left for the next look."""

    def __init__(self, record: RecordFormat, home: Path, glob: str) -> None:
        self._record = record
        self._home = home
        self._search = _Search(home, glob)
        self._path: Path | None = None
        self._offset = 0  # of what was read
        self._begun = b""  # a line whose end was not read yet
        self._leaving_out = False  # what is read belongs to a line that is too long
        self._caught_up = True
        self._seen: Mapping[Path, int] = {}  # sizes at the last `skip`
        self._found: list[TurnEvent] = []  # a look that is broken off loses none
        self._head, self._since = "", 0

    async def skip(self) -> bool:
        self._found = []
        self._path, self._offset, self._begun = None, 0, b""
        self._head, self._since = "", 0
        self._seen = {path: _size(path) for path in await self._search.files(now=True)}
        return any(self._seen.values())

    async def read(self, *, last: bool = False) -> Sequence[TurnEvent]:
        for _ in range(CHUNKS):
            if self._path is None:
                self._path = self._growing(await self._search.files(now=last))
                self._offset = self._seen.get(self._path, 0) if self._path else 0
            if added := self._added():
                for row in self._rows(added):
                    self._found += self._record.read(row)
            if self._caught_up:
                break
            await asyncio.sleep(0)
        found, self._found = self._found, []
        return found

    def folder(self) -> Path | None:
        return self._path.parent if self._path else self._search.folder

    def _added(self) -> bytes:
        """The lines that a chunk completes."""
        self._caught_up = True
        if self._path is None:
            return b""
        try:
            size = self._path.stat().st_size
            if size == self._offset:
                return b""
            if size < self._offset:  # rewritten
                self._offset, self._begun = 0, b""
            with open_own(self._path, self._home) as file:
                file.seek(self._offset)
                data = file.read(CHUNK_BYTES)
        except OSError:  # moved away, or another thing stands in its place: look for it again
            self._path, self._offset, self._begun = None, 0, b""
            return b""
        self._offset += len(data)
        self._caught_up = self._offset >= size
        return self._completed(data)

    def _completed(self, data: bytes) -> bytes:
        """Whole lines; what is left of one waits for its end, unless it is far too long."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._begun = self._begun + data
            if len(self._begun) > LINE_BYTES:
                self._begun, self._leaving_out = b"", True
            return b""
        whole, self._begun = self._begun + data[:end], data[end:]
        if self._leaving_out:
            log.warning("record.line_too_long", file=self._path, most=LINE_BYTES)
            self._leaving_out = False
            return whole[whole.find(b"\n") + 1 :]
        return whole

    def _growing(self, files: Sequence[Path]) -> Path | None:
        """The newest that is not as it was: there may be records of earlier sessions."""
        grown = [path for path in files if _size(path) != self._seen.get(path, 0)]
        return max(grown, key=_changed_at, default=None)

    def _rows(self, data: bytes) -> list[Mapping[str, Any]]:
        lines = data.split(b"\n")[:-1]
        if self._record.format == "text":
            return [self._text_row(line.decode("utf-8", "replace")) for line in lines]
        found: list[Mapping[str, Any]] = []
        for line in lines:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                log.warning("record.no_json", file=self._path)
                continue
            if isinstance(row, dict):
                found.append(row)
        return found

    def _text_row(self, line: str) -> Mapping[str, Any]:
        """See `RecordFormat.format`."""
        if self._record.heads and self._record.heads.search(line):
            self._head, self._since = line, -1
        self._since += 1
        return {"line": line, "head": self._head, "since": self._since}


class _Segments:
    """Files that follow one another: each is read from where it was left."""

    def __init__(self, record: RecordFormat, home: Path, glob: str) -> None:
        self._record = record
        self._home = home
        self._search = _Search(home, glob)
        self._files: dict[Path, _Lines] = {}
        self._found: list[TurnEvent] = []  # a look that is broken off loses none

    async def skip(self) -> bool:
        self._files, self._found = {}, []
        had = [await file.skip() for file in await self._all(now=True)]
        return any(had)

    async def read(self, *, last: bool = False) -> Sequence[TurnEvent]:
        for file in await self._all(now=last):
            self._found += await file.read(last=last)
        found, self._found = self._found, []
        return found

    def folder(self) -> Path | None:
        return self._search.folder

    async def _all(self, *, now: bool = False) -> Sequence[_Lines]:
        """The files in order of their names, without those that are gone."""
        found = sorted(await self._search.files(now=now), key=lambda path: path.name)
        self._files = {path: self._files.get(path) or self._of(path) for path in found}
        return list(self._files.values())

    def _of(self, path: Path) -> _Lines:
        return _Lines(self._record, self._home, str(path.relative_to(self._home)))


class _Table:
    """Rows of a query; its `?` is the greatest value of the first column seen so far."""

    def __init__(self, record: RecordFormat, home: Path, glob: str) -> None:
        self._record = record
        self._home = home
        self._glob = glob
        self._last: Any = 0

    async def skip(self) -> bool:
        newest = f"SELECT * FROM ({self._record.query}) ORDER BY 1 DESC LIMIT 1"  # noqa: S608
        for _ in range(SKIP_TRIES):  # rows of earlier turns would be taken for this one's
            rows = await asyncio.to_thread(self._query, newest)
            if rows is not None:
                break
        if rows:
            self._last = next(iter(rows[0].values()))
        return bool(self._last)

    async def read(self, *, last: bool = False) -> Sequence[TurnEvent]:
        rows = await asyncio.to_thread(self._query, self._record.query) or []
        for row in rows:
            self._last = next(iter(row.values()))
        return [event for row in rows for event in self._record.read(row)]

    def folder(self) -> Path | None:
        return (self._home / self._glob).parent

    def _query(self, query: str) -> list[dict[str, Any]] | None:
        """The rows; none where there is no table yet; None when they can't be read now."""
        path = _database_in(self._home, self._glob)
        if path is None:
            return []
        try:
            uri = f"{path.as_uri()}?mode=ro"
            with (
                _OPENING,
                closing(sqlite3.connect(uri, uri=True, timeout=SQLITE_WAIT_S)) as database,
            ):
                late_at = time.monotonic() + QUERY_S
                database.set_progress_handler(lambda: time.monotonic() > late_at, OPCODES)
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LINE_BYTES)
                database.row_factory = sqlite3.Row
                found = database.execute(query, (self._last,)).fetchmany(ROWS)
                if not _is_own_database(path.name, self._home):
                    log.warning("record.leads_out", file=path)
                    return None
                return [dict(row) for row in found]
        except sqlite3.Error as error:
            log.debug("record.unreadable", file=path, reason=error)
            return [] if str(error).startswith("no such") else None  # else locked, or half made
