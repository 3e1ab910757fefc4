"""The database: opened once, written by one task that commits for everybody who waits.

Work on it is a plain function of a SQLAlchemy Core connection; the store runs it off the loop:
SQLite in threads of our own, everything else through SQLAlchemy's asyncio engine. (aiosqlite
changes threads four times a statement: measured 60 times a turn, against once a commit here.)
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from contract.errors import ConfigError, MootError
from store.commits import numbered
from store.engines import (
    SyncedLog,
    engine_of,
    identity_of,
    lone_engine,
    silent_connections,
    sync_log,
    worked,
)
from store.health import StoreHealth, StoreRefusal, refusal_of, try_reading, try_writing
from store.leading import Lead, living_leader
from store.opening import opening_fault, parsed_address
from store.patience import patience, wait_s, waiting
from store.versions import HEAD, LED, check_current, version_of
from store.writer import LATER_S, CommitInDoubt, Committed, How, T, Work, Writer

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

log = structlog.stdlib.get_logger("moot.memory")

Numbers = Callable[[Connection], AbstractContextManager[object]]

SURE = How()
READERS = 2
LOOK_S = 0.2  # between tries of a read that waits for the database
ANSWER_S = 15.0  # a server that is silent for so long is away, though its connection is there


class StoreError(MootError):
    """The database could not do what it was asked for."""


class Store(ABC):
    """An open database. `write` is durable when it returns; `read` sees all that was written."""

    def __init__(self, dialect: str) -> None:
        """dialect: "sqlite" or "postgresql"."""
        self.dialect = dialect
        remote = dialect != "sqlite"
        self.read_only = False  # True: the database refuses whatever is written by it
        self.health = StoreHealth(self._try, remote=remote)
        self._file: Path | None = None  # SQLite's
        self._opened: tuple[int, int] | None = None  # it, as it was then
        self.lead: Lead | None = None  # of a gateway; others write whoever leads
        self._writer = Writer(self._transact, self.health, holds=remote)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, read_only: bool = False, patience_s: float = 0.0
    ) -> AsyncIterator[Store]:
        """Open and bring up to date the database at `url`; closes it when left.

        read_only: nothing in it can be changed; it must be up to date. patience_s: so long a server
        may be away, see store/patience.py. Raises ConfigError when it can't be opened.
        """
        address = parsed_address(url)
        store = await _opened(address, read_only=read_only)
        store._know(address)
        store.read_only = read_only
        store._writer.patience_s = patience_s
        try:
            async with store._writer.running():
                try:
                    yield store
                finally:
                    await store.health.close()
        finally:
            await store._close()

    async def read(self, work: Work[T], *, small: bool = False, cursor: bool = False) -> T:
        """Run `work`, which only reads.

        small: some dozen recent rows by an index; to change threads would take SQLite longer.
        cursor: it fetches rows by and by (`yield_per`), for which a server wants a transaction.
        """
        patient_s = wait_s(patience(), self._writer.patience_s)
        began = asyncio.get_running_loop().time() if patient_s else 0.0
        while True:
            try:
                return await self._read(work, small=small, cursor=cursor)
            except Exception as error:
                if (told := self.health.failed(error)) is error:
                    raise
                if not patient_s or asyncio.get_running_loop().time() - began >= patient_s:
                    raise told from error
            await asyncio.sleep(LOOK_S)

    @abstractmethod
    async def _read(self, work: Work[T], *, small: bool = False, cursor: bool = False) -> T:
        """Read, and raise what the driver raises."""

    @abstractmethod
    def _transact(self, works: Sequence[Work[Any]], how: How = SURE) -> Awaitable[Committed]:
        """Run works one after the other in a transaction of their own; never two at a time.

        Raises CommitInDoubt, CommittedBefore.
        """

    @abstractmethod
    async def _rewrite(self) -> None:
        """Write the files again, without what was deleted."""

    @abstractmethod
    async def _close(self) -> None:
        """Let go of every connection."""

    def write(
        self,
        work: Work[T],
        *,
        small: bool = False,
        synced: bool = True,
        seen: Callable[[T], object] | None = None,
        within_s: float = 0.0,
    ) -> asyncio.Future[T]:
        """Run `work` in a transaction; gives its result once it is on disk.

        Works of callers that wait at the same time share one commit, in the order of their
        calls. `work` may run a second time, alone, when a neighbour's failed. small: a few rows by
        an index, which SQLite changes sooner than it could change threads. synced: False: SQLite
        lets a power cut, and no less, take back what was written in the last half second. seen: is
        told the result once it can be read, which may be before it is on disk. within_s: so long
        it may wait for the next `write`, to be in its commit.
        """
        return self._writer.write(work, small=small, synced=synced, seen=seen, within_s=within_s)

    def _know(self, url: URL) -> None:
        self._address = url
        if self.dialect == "sqlite" and url.database and Path(url.database).is_file():
            self._file = Path(url.database).absolute()
            self._opened = identity_of(self._file)

    def _try(self) -> asyncio.Future[None]:
        attempt = try_reading if self.read_only else partial(try_writing, file=self._file)
        with waiting("none"):
            return self.write(attempt)

    def lone_engine(self) -> AsyncEngine | None:
        """An engine for what is done beside the store; None: nobody else can know the database."""
        return lone_engine(self._address) if self.dialect == "postgresql" else None

    async def leader(self) -> str:
        """The name of a gateway that leads on the database, see `living_leader`."""
        return await living_leader(self._read) if self.dialect == "postgresql" else ""

    async def flush(self) -> None:
        """Return when all that was given to be written is on disk."""
        await self._writer.flush()

    async def scrub(self) -> None:
        """Write the database's files again, so that no byte of what was deleted stays in them.

        Takes as long as copying them. Raises StoreError when somebody else uses the database.
        """
        await self._writer.written()
        try:
            await self._rewrite()
        except SQLAlchemyError as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"the database can't be rewritten: {reason}") from error

    def write_later(self, work: Work[T], *, within_s: float = LATER_S) -> asyncio.Future[T]:
        """Run `work` before the next `write`, in its commit; after a while in one of its own, which
        is not synced.

        For what nobody waits for, and is small; the future is done when it is written. A failure
        is logged.
        """
        return self._writer.write_later(work, within_s)


class ThreadStore(Store):
    """SQLite: a thread that writes and two that read. What is small runs on the loop, and only the
    disk is waited for in the thread, which holds no other one up: to hand a statement of 50 µs to a
    thread takes longer, and both then wait for the interpreter's lock."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.dialect.name)
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, "store-write")
        self._written: Connection | None = None  # the writer's, taken from the pool once
        self._at_rest: Connection | None = None  # that, while nothing is written by it
        self._glanced: Connection | None = None  # reads on the loop meanwhile
        self._readers = ThreadPoolExecutor(READERS, "store-read")
        self._log = SyncedLog(self._thread)

    async def _read(self, work: Work[T], *, small: bool = False, cursor: bool = False) -> T:
        def run() -> T:
            with self._engine.connect() as connection:
                return work(connection)

        if small:  # by the writer's where that is free: it has at hand what it wrote
            if (connection := self._at_rest) is None:
                connection = self._glanced = self._glanced or self._engine.connect()
            try:
                return work(connection)
            finally:
                connection.rollback()  # the next one sees what was written since
        return await asyncio.get_running_loop().run_in_executor(self._readers, run)

    async def _transact(self, works: Sequence[Work[Any]], how: How = SURE) -> Committed:
        if self._file is not None and identity_of(self._file) != self._opened:
            raise StoreRefusal("away", f"{self._file} was moved, removed or replaced")
        connection, known, self._at_rest = self._written, self._file is not None, None
        try:
            if (
                connection is None
                or not how.small
                or not self._log.begun(connection, synced=how.synced, known=known)
            ):
                results, on_disk = await self._in_thread(partial(self._write, works)), None
            else:
                results = await worked(connection, works)
                on_disk = await self._log.commit(connection, self._file, synced=how.synced)
            if on_disk is None and how.synced and self.health.trouble and self._file:
                await self._in_thread(partial(sync_log, self._file))  # it may have changed nothing
            return Committed(results, on_disk)
        finally:
            self._at_rest = self._written

    async def flush(self) -> None:
        await super().flush()
        if (syncing := self._log.sync(self._file)) is not None:
            await asyncio.wrap_future(syncing)

    def _write(self, works: Sequence[Work[Any]]) -> list[Any]:
        connection = self._written = self._written or self._engine.connect()
        self._log.sync_with(connection, each=True)
        with connection.begin():
            return [work(connection) for work in works]

    def _in_thread(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _rewrite(self) -> None:
        def run() -> None:
            with self._engine.connect() as connection:
                _scrub(connection.execution_options(isolation_level="AUTOCOMMIT"))

        await self._in_thread(run)

    async def _close(self) -> None:
        if self._glanced is not None:
            self._glanced.close()
        self._log.sync(self._file)
        if self._written is not None:
            self._thread.submit(self._written.close)
        self._thread.shutdown()
        self._readers.shutdown()
        self._engine.dispose()


class AsyncStore(Store):
    """Any database that SQLAlchemy's asyncio engine has a driver for."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine.dialect.name)
        self._engine = engine
        # each statement is a transaction: to begin and end one takes two round trips
        self._reads = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._silent = silent_connections(engine)

    async def _read(self, work: Work[T], *, small: bool = False, cursor: bool = False) -> T:
        engine = self._engine if cursor else self._reads
        with self._silent.told():
            async with asyncio.timeout(None if cursor else ANSWER_S), engine.connect() as made:
                return await made.run_sync(work)

    async def _transact(self, works: Sequence[Work[Any]], how: How = SURE) -> Committed:
        number = "" if self.read_only or self.dialect != "postgresql" else how.number
        made: list[Any] = []
        try:
            with self._silent.told():
                async with (
                    asyncio.timeout(ANSWER_S if number else None),
                    self._engine.connect() as connection,
                ):
                    numbers = self._numbers(number, again=how.again)
                    await connection.run_sync(partial(_commit, works, numbers, made))
        except (DBAPIError, TimeoutError) as error:
            if not number or not made or refusal_of(error, remote=True) is None:
                raise
            raise CommitInDoubt(made) from error
        return Committed(made)

    def _numbers(self, number: str, *, again: bool) -> Numbers:
        """number: "": it is kept nowhere."""
        epoch = self.lead.epoch if self.lead else None
        return partial(numbered, number=number, epoch=epoch, again=again) if number else nullcontext

    async def _rewrite(self) -> None:
        async with self._engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.run_sync(_scrub)

    async def _close(self) -> None:
        await self._engine.dispose()


def _commit(
    works: Sequence[Work[Any]], numbers: Numbers, made: list[Any], connection: Connection
) -> None:
    """made: is given the results, but for the commit."""
    with numbers(connection):
        made += [work(connection) for work in works]
    connection.commit()


def _scrub(connection: Connection) -> None:
    """VACUUM copies what is there; the log before it still holds what was deleted."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete=ON")
        connection.exec_driver_sql("VACUUM")
        busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar()
        connection.exec_driver_sql("PRAGMA secure_delete=OFF")
        if busy:
            raise StoreError("the database is in use: what was deleted still lies in its log")
    else:
        connection.exec_driver_sql("VACUUM FULL")


async def _opened(address: URL, *, read_only: bool) -> Store:
    store: Store | None = None
    try:
        store = _connected(address, read_only=read_only)
        if read_only:
            check_current(await store._read(version_of))
        else:
            await _migrate(store, address)
    except Exception as error:
        if store is not None:
            await store._close()
        if (why := opening_fault(error, address)) is None:
            raise
        raise ConfigError(f"[store] url: the database can't be opened: {why}") from error
    return store


def _connected(address: URL, *, read_only: bool) -> Store:
    engine = engine_of(address, read_only=read_only)
    return ThreadStore(engine) if isinstance(engine, Engine) else AsyncStore(engine)


async def _migrate(store: Store, url: URL) -> None:
    found = await store._read(version_of)
    if found == HEAD:
        return
    from store.migrations.upgrading import check_known, copy_before, told, upgrade_whole

    copy: Path | None = None
    if found is not None:
        check_known(found, HEAD)
        if url.get_backend_name() == "sqlite" and url.database:
            copy = await asyncio.to_thread(copy_before, Path(url.database), found, HEAD)
        elif found >= LED and (leader := await store.leader()):
            raise ConfigError(
                f"the database has version {found} and must be brought to {HEAD}, but {leader} "
                "leads on it and knows no later version: stop that one, and start this one again; "
                "it then brings the database up to date and leads"
            )
    log.info("database.migrate", **{"from": found or "nothing"}, to=HEAD)
    with told(found, HEAD, copy):
        await store._transact([partial(upgrade_whole, head=HEAD)])


def insert_of(store: Store) -> Any:
    """The dialect's INSERT, which knows ON CONFLICT."""
    if store.dialect == "sqlite":
        return sqlite.insert
    from sqlalchemy.dialects import postgresql  # nineteen modules that SQLite does not need

    return postgresql.insert
