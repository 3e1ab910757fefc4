"""Knows whether the database takes what is written: by the last write, and by trying one."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import structlog
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from contract.errors import MootError
from contract.language import phrase, say

log = structlog.stdlib.get_logger("moot.store")

Refused = Literal["full", "away"]
StoreState = Literal["ok", "full", "away"]

FRESH_S = 10.0  # so long a write that succeeded speaks for the next one
FRESH_REMOTE_S = 3.0  # the same of a server, which a network may part from us at any time
AGAIN_S = 1.0  # between tries while nothing is taken, however often somebody asks
PATIENCE_S = 2.0  # a probe of a monitor waits 4 or 5 s
ROOM_BYTES = 256 * 1024  # more than the commit of a message with its turns

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# Beside "full", SQLite has these for a write that the disk had no room for (sqlite3.h)
_SQLITE_FULL, _IOERR_WRITE, _IOERR_SHMSIZE = 13, 10 | 3 << 8, 10 | 19 << 8
_SQLITE_AWAY = frozenset({3, 5, 6, 8, 10, 11, 14, 15, 26})
"""PERM, BUSY, LOCKED, READONLY, IOERR, CORRUPT, CANTOPEN, PROTOCOL, NOTADB."""
_PG_FULL = "53100"
_PG_AWAY = ("08", "25006", "53", "57P", "58")  # connection, read-only, resources, shutdown, system

WHY = {
    "full": phrase("nothing can be stored, as the disk of the database is full"),
    "away": phrase("nothing can be stored, as the database takes no writes"),
}
REMEDY = {
    "full": phrase("make room on the disk of the database; Moot then goes on by itself"),
    "away": phrase(
        "start the database, end what keeps it locked, or put its file back; "
        "Moot then goes on by itself"
    ),
}


class StoreRefusal(MootError):
    """The database takes nothing, whoever asks. state: why."""

    def __init__(self, state: Refused, reason: str) -> None:
        super().__init__(f"{WHY[state]}: {reason}", say=sentence(state))
        self.state: Refused = state
        self.reason = reason


class NotSynced(StoreRefusal):
    """A commit that can be read, and may not be on disk."""


def sentence(state: Refused) -> str:
    """The state and its remedy, for people."""
    why = say(WHY[state])
    return f"{why[0].upper()}{why[1:]}: {say(REMEDY[state])}."


class StoreHealth:
    """Told of every failure. known_at: when there was one, or a commit, by the loop's clock; None:
    never. trouble: why nothing is taken now; None: it is. since: when that began. on_recovery: told
    when something is taken again. refusals: how often something was refused, by the reason."""

    def __init__(self, attempt: Callable[[], asyncio.Future[Any]], *, remote: bool) -> None:
        """attempt: begins a write that stands for any other, or a read where all are. remote: the
        database is a server."""
        self._attempt = attempt
        self._remote = remote
        self.known_at: float | None = None
        self._pending: asyncio.Future[Any] | None = None
        self.trouble: StoreRefusal | None = None
        self.since: datetime | None = None
        self.on_recovery: Callable[[], None] = lambda: None
        self.refusals: Counter[Refused] = Counter()
        self._watching: asyncio.Task[None] | None = None

    @property
    def state(self) -> StoreState:
        """A word for it, as it was last seen."""
        return "ok" if self.trouble is None else self.trouble.state

    def recovered(self) -> None:
        """A commit is on disk again."""
        self.trouble = self.since = None
        log.info("store.well")
        with contextlib.suppress(RuntimeError):  # where tasks end already, none begins any more
            self.on_recovery()

    def failed(self, error: Exception) -> Exception:
        """Note what the database answered; returns what its caller is to be given."""
        if (refusal := refusal_of(error, remote=self._remote)) is None:
            return error
        self.known_at = asyncio.get_running_loop().time()
        self.refusals[refusal.state] += 1
        self._note(refusal)
        return refusal

    async def recovery(self) -> None:
        """Return when the database takes something."""
        while True:
            if await self.look() == "ok":
                return
            await asyncio.sleep(AGAIN_S)

    async def look(self) -> StoreState:
        """The state now. A write is tried where none has succeeded lately, one at a time."""
        fresh_s = FRESH_REMOTE_S if self._remote else FRESH_S
        waits_s = fresh_s if self.trouble is None else AGAIN_S
        now = asyncio.get_running_loop().time()
        if (self._pending is None or self._pending.done()) and (
            self.known_at is None or now - self.known_at >= waits_s
        ):
            self._pending = self._attempt()
            self._pending.add_done_callback(_taken)
        if self._pending is not None and not self._pending.done():
            await asyncio.wait([self._pending], timeout=PATIENCE_S)
            if not self._pending.done():
                self._note(StoreRefusal("away", f"it has not answered for {PATIENCE_S:g} s"))
        return self.state

    def _note(self, refusal: StoreRefusal) -> None:
        if refusal.state != self.state:
            log.error("store.refused", state=refusal.state, reason=refusal.reason)
            self.since = datetime.now(UTC)
        self.trouble = refusal
        if self._watching is None or self._watching.done():  # where nobody writes, who would see?
            self._watching = asyncio.create_task(self.recovery(), name="database away")

    async def close(self) -> None:
        """Look no more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])


def _taken(attempt: asyncio.Future[Any]) -> None:
    """Whoever looks has been told by `failed`."""
    if not attempt.cancelled():
        attempt.exception()


def refusal_of(error: Exception, *, remote: bool) -> StoreRefusal | None:
    """The refusal that a driver's error stands for; None: the fault is of what was asked for."""
    if isinstance(error, StoreRefusal):
        return error
    if (state := _state_of(error, remote=remote)) is None:
        return None
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    refusal = StoreRefusal(state, (str(cause).splitlines() or [type(cause).__name__])[0])
    refusal.__cause__ = error
    return refusal


def _state_of(error: Exception, *, remote: bool) -> Refused | None:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return _state_of_sqlite(getattr(cause, "sqlite_errorcode", None) or 0)
    if isinstance(cause, OSError) and cause.errno in _FULL:
        return "full"
    code = str(getattr(cause, "sqlstate", None) or "")
    if code == _PG_FULL:
        return "full"
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    gone = isinstance(error, NoConnection) or (remote and isinstance(cause, OSError))
    return "away" if lost or gone or code.startswith(_PG_AWAY) else None


def _state_of_sqlite(code: int) -> Refused | None:
    if code in (_SQLITE_FULL, _IOERR_WRITE, _IOERR_SHMSIZE):
        return "full"
    return "away" if code & 0xFF in _SQLITE_AWAY else None


def without_values(context: Any) -> None:
    """Takes PostgreSQL's DETAIL, which quotes the row, from an error that a log may show."""
    error = context.sqlalchemy_exception or context.original_exception
    while error is not None:
        error.args = tuple(
            arg.partition("\nDETAIL:")[0] if isinstance(arg, str) else arg for arg in error.args
        )
        if getattr(error, "detail", None) and isinstance(error.detail, str):
            error.detail = None
        error = error.__cause__ or getattr(error, "orig", None)


def has_room(folder: Path) -> None:
    """Raises StoreRefusal when the disk of `folder` has no room for a commit."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM_BYTES))
    except OSError as error:
        state: Refused = "full" if error.errno in _FULL else "away"
        raise StoreRefusal(state, f"{folder} takes no file: {error.strerror}") from error


def try_reading(connection: Connection) -> None:
    """Stands for any read of a database that is only read."""
    connection.execute(text("SELECT 1"))


def try_writing(connection: Connection, file: Path | None) -> None:
    """Write something that stands for any commit. file: of a database that is one."""
    if connection.dialect.name != "sqlite":
        _try_postgresql(connection)
        return
    if file is not None:
        has_room(file.parent)
    _try_sqlite(connection)


def _try_sqlite(connection: Connection) -> None:
    """Writes a number into the header, which nobody reads."""
    number = connection.exec_driver_sql("PRAGMA user_version").scalar()
    connection.exec_driver_sql(f"PRAGMA user_version = {0 if number else 1}")


def _try_postgresql(connection: Connection) -> None:
    """Makes a table as large as a commit, for this transaction alone."""
    connection.execute(
        text(
            "CREATE TEMPORARY TABLE moot_room ON COMMIT DROP AS"
            " SELECT repeat('.', 1024) FROM generate_series(1, :count)"
        ),
        {"count": ROOM_BYTES // 1024},
    )
