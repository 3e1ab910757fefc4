"""Engines for the databases that Moot knows, each set up so that what is committed is on disk."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import InvalidatePoolError

from contract.storable import storable, storable_json
from store.health import NotSynced, without_values
from store.leading import gateway_name
from store.together import as_sqlalchemy, driver_of

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

log = structlog.stdlib.get_logger("moot.memory")

ON_LOOP_S = 0.002  # of small works, before others have their turn
SYNC_S = 0.5  # after a commit that need not be on disk at once
_PAGES = 1_000  # in the log, before they are brought into the database
_SQLITES = 16  # one of so many commits that are synced is so by SQLite
_PATIENT = "PRAGMA busy_timeout=5000"  # as long as another process's transaction may take
_sync_file: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)  # macOS has fsync alone
CONNECTIONS = 16  # kept open; a few more while many read at once
CONNECT_S = 5.0  # a server that does not answer for so long is away
_GONE = {  # the server sees within 4 s that the other end is gone, and lets go of its locks
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "2",
}
_UNHEARD_S = 10  # what is sent and not received for so long ends a connection


def engine_of(address: URL, *, read_only: bool = False) -> Engine | AsyncEngine:
    """The engine for a database, which isn't reached yet.

    read_only: nothing can be written by it.
    """
    if address.get_backend_name() == "sqlite":
        return _sqlite(only_read(address) if read_only else address)
    if address.drivername == "postgresql":
        address = address.set(drivername="postgresql+asyncpg")
    return _async_engine(address, read_only=read_only)


def lone_engine(address: URL) -> AsyncEngine:
    """An engine for a server, of one connection at a time that is nobody else's: each statement is
    its own transaction, and the server notices within seconds that the connection is gone."""
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    settings = {"application_name": gateway_name(), **_GONE}
    return create_async_engine(
        address.set(drivername="postgresql+asyncpg"),
        hide_parameters=True,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"timeout": CONNECT_S, "server_settings": settings},
    )


def only_read(url: URL) -> URL:
    """A SQLite file's address by which nothing can be written."""
    file = Path(url.database or "").absolute().as_uri()
    return url.set(database=file).update_query_dict({"mode": "ro", "uri": "true"})


def plain_engine_of(url: URL) -> Engine:
    """The engine for a SQLite file, with the standard library's driver."""
    engine = create_engine(url, hide_parameters=True, json_serializer=storable_json)
    event.listen(engine, "before_cursor_execute", _storable, retval=True)
    event.listen(engine, "connect", _pragmas(url))
    return engine


def _sqlite(url: URL) -> Engine | AsyncEngine:
    if url.database and not url.database.startswith("file:"):
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    if url.get_driver_name() != "aiosqlite":
        return plain_engine_of(url)
    engine = _async_engine(url)
    event.listen(engine.sync_engine, "connect", _pragmas(url))
    return engine


def _async_engine(url: URL, *, read_only: bool = False) -> AsyncEngine:
    from sqlalchemy.ext.asyncio import create_async_engine  # 60 ms of start-up that few need

    from store.commits import with_number

    given: dict[str, Any] = {}
    if url.get_driver_name() == "asyncpg":
        settings = {"application_name": gateway_name(), **_GONE}
        if read_only:
            settings["default_transaction_read_only"] = "on"
        connecting = {"timeout": CONNECT_S, "server_settings": settings}
        given = {"connect_args": connecting, "pool_size": CONNECTIONS, "pool_use_lifo": True}
    engine = create_async_engine(
        url,
        hide_parameters=True,  # they are what people wrote
        json_serializer=storable_json,
        **given,
    )
    if given:
        event.listen(engine.sync_engine, "connect", _notices)
        event.listen(engine.sync_engine, "checkout", _still_open)
        event.listen(engine.sync_engine, "before_execute", with_number, retval=True)
    event.listen(engine.sync_engine, "before_cursor_execute", _storable, retval=True)
    event.listen(engine.sync_engine, "handle_error", without_values)
    return engine


def _still_open(connection: Any, _record: object, _proxy: object) -> None:
    """A server that was started again has none of the old connections. asyncpg hears of that; to
    ask the server each time would be three more round trips."""
    if connection.driver_connection.is_closed():
        raise InvalidatePoolError


def _notices(connection: Any, _record: object) -> None:
    """A network that is gone says nothing: this machine's own TCP does so, within seconds."""
    sock = connection.driver_connection._transport.get_extra_info("socket")
    if sock is None or sock.family == socket.AF_UNIX or sys.platform != "linux":
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, _UNHEARD_S // 2),
        (socket.TCP_KEEPINTVL, 2),
        (socket.TCP_KEEPCNT, 2),
        (socket.TCP_USER_TIMEOUT, _UNHEARD_S * 1000),
    ):
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


class SilentConnections:
    """Where one connection of an engine is open and says nothing, those made before it are as
    suspect, and are made again."""

    def __init__(self) -> None:
        self._until = 0.0

    def listen(self, engine: AsyncEngine) -> None:
        """Look at each connection that is taken."""
        event.listen(engine.sync_engine, "connect", self._made)
        event.listen(engine.sync_engine, "checkout", self._taken)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Statements of one connection; a time-out is its silence."""
        try:
            yield
        except TimeoutError:
            self._until = time.monotonic()
            raise

    def _made(self, _connection: object, record: Any) -> None:
        record.info["made"] = time.monotonic()

    def _taken(self, _connection: object, record: Any, _proxy: object) -> None:
        if record.info["made"] <= self._until:
            raise InvalidatePoolError


def silent_connections(engine: AsyncEngine) -> SilentConnections:
    """Those of an engine."""
    made = SilentConnections()
    made.listen(engine)
    return made


def _storable(
    _connection: object, _cursor: object, statement: str, given: Any, _context: object, _many: bool
) -> tuple[str, Any]:
    """The values of a statement as every database can hold them; a list is of several runs."""
    several = isinstance(given, list)
    return statement, [_texts(one) for one in given] if several else _texts(given)


def _texts(given: Any) -> Any:
    if isinstance(given, dict):
        return {name: storable(v) if isinstance(v, str) else v for name, v in given.items()}
    return tuple(storable(value) if isinstance(value, str) else value for value in given)


def begun_at_once(connection: Connection) -> bool:
    """Begin to write in SQLite; False: another process writes, and would have to be waited for."""
    raw = driver_of(connection)
    raw.execute("PRAGMA busy_timeout=0")
    try:
        raw.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return False
    finally:
        raw.execute(_PATIENT)
    return True


def commit(connection: Connection) -> None:
    """Commit what was begun at once; where that fails, roll back."""
    try:
        connection.commit()  # SQLAlchemy knows of it where a work went through it
        driver_of(connection).commit()
    except sqlite3.Error as error:
        roll_back(connection)
        raise as_sqlalchemy(error, "COMMIT") from error
    except BaseException:
        roll_back(connection)
        raise


def roll_back(connection: Connection) -> None:
    """Undo what was begun at once."""
    connection.rollback()
    driver_of(connection).rollback()


async def worked(connection: Connection, works: Sequence[Callable[[Connection], Any]]) -> list[Any]:
    """The results of works on the loop, which others have in between. Where one fails, what was
    begun at once is undone."""
    results = []
    try:
        since = time.perf_counter()
        for work in works:
            results.append(work(connection))
            if time.perf_counter() - since > ON_LOOP_S:
                await asyncio.sleep(0)
                since = time.perf_counter()
    except BaseException:
        roll_back(connection)
        raise
    return results


def identity_of(file: Path) -> tuple[int, int] | None:
    """Device and number of a file; None: it isn't there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class SyncedLog:
    """The log into which SQLite writes what is committed: it is synced by a commit, after it, or
    soon after those that need not be on disk at once. thread: the one that writes."""

    def __init__(self, thread: Executor) -> None:
        self._thread = thread
        self._each = True  # commit
        self._commits = 0  # since one was SQLite's
        self._soon: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[None] | None = None  # done when it is synced
        self._next: asyncio.Future[None] | None = None  # likewise, once again after that

    def sync_with(self, connection: Connection, *, each: bool) -> None:
        """From now on each commit syncs it, or none. Nor does SQLite then do what it does from time
        to time after a commit, and takes much longer."""
        if self._each == each:
            return
        raw = driver_of(connection)
        raw.execute(f"PRAGMA synchronous={'FULL' if each else 'NORMAL'}")
        raw.execute(f"PRAGMA wal_autocheckpoint={_PAGES if each else 0}")
        self._each = each

    def begun(self, connection: Connection, *, synced: bool, known: bool) -> bool:
        """Begin what `commit` commits; False: another process writes. known: the log's file is."""
        self._commits = (self._commits + synced) % _SQLITES
        self.sync_with(connection, each=synced and not (known and self._commits))
        return begun_at_once(connection)

    async def commit(
        self, connection: Connection, database: Path | None, *, synced: bool
    ) -> asyncio.Future[None] | None:
        """Commit, and return when that can be read; gives what is done when it is on disk; None: it
        is, or need not be. One of some commits is SQLite's own, which brings the log into the
        database where it has grown long. Raises what the driver raises; the future, NotSynced."""
        if self._each:
            await asyncio.get_running_loop().run_in_executor(self._thread, commit, connection)
            return None
        commit(connection)
        if not synced:
            self.sync_soon(database)
            return None
        assert database is not None
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            if self._running is None:
                self._sync_next(database)
        return self._next or self._running

    def _sync_next(self, database: Path) -> None:
        """Sync all that is committed by now. What comes meanwhile waits for the next time,
        together: a commit of SQLite's own says nothing of it, which syncs only what it changed."""
        self._running, self._next = self._next, None
        self._not_soon()
        syncing = asyncio.get_running_loop().run_in_executor(self._thread, sync_log, database)
        syncing.add_done_callback(partial(self._synced, database))

    def _synced(self, database: Path, syncing: asyncio.Future[None]) -> None:
        done, self._running = self._running, None
        assert done is not None
        error = syncing.exception()
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
        if self._next is not None:
            self._sync_next(database)
        elif error is not None:
            self.sync_soon(database)

    def sync_soon(self, database: Path | None) -> None:
        """Something was committed without it. database: the file; None: there is none."""
        if self._soon is None and self._next is None and database is not None:
            self._soon = asyncio.get_running_loop().call_later(SYNC_S, self.sync, database)

    def _not_soon(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def sync(self, database: Path | None) -> Future[None] | None:
        """Begin to sync; None: nothing needs it."""
        if self._soon is None or database is None:
            return None
        self._not_soon()
        return self._thread.submit(_sync, database)


def sync_log(database: Path) -> None:
    """Sync the log of a database. Raises NotSynced."""
    try:
        opened = os.open(f"{database}-wal", os.O_RDONLY)
        try:
            _sync_file(opened)
        finally:
            os.close(opened)
    except FileNotFoundError:  # all of it is in the database
        return
    except OSError as error:
        raise NotSynced("away", f"its log can't be synced: {error.strerror}") from error


def _sync(database: Path) -> None:
    try:
        sync_log(database)
    except NotSynced as error:
        log.error("store.not_synced", reason=error.reason)


def _pragmas(url: URL) -> Any:
    return _reads if url.query.get("mode") == "ro" else _writes


def _writes(connection: Any, record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")  # acknowledged means on disk, power cuts included
    cursor.close()
    _reads(connection, record)


def _reads(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(_PATIENT)
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
