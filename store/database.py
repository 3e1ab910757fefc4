"""The database: opened once, written by one task that commits for everybody who waits.

Work on it is a plain function of a SQLAlchemy Core connection; the store runs it off the loop:
SQLite in threads of our own, everything else through SQLAlchemy's asyncio engine. (aiosqlite
changes threads four times a statement: measured 60 times a turn, against once a commit here.)
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from contract.errors import ConfigError, MootError
from store.engines import engine_of, only_read, plain_engine_of
from store.health import StoreHealth, StoreRefusal, try_writing
from store.opening import opening_fault, parsed_address

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

log = structlog.stdlib.get_logger("moot.memory")

T = TypeVar("T")
Work = Callable[[Connection], T]

HEAD = "0016"  # the newest file in migrations/versions; Alembic is imported only to get there
READERS = 2
LATER_S = 0.05


class StoreError(MootError):
    """The database could not do what it was asked for."""


@dataclass(slots=True)
class _Job:
    work: Work[Any]
    done: asyncio.Future[Any]
    later: bool = False  # nobody waits for it


class Store(ABC):
    """An open database. `write` is durable when it returns; `read` sees all that was written."""

    def __init__(self, dialect: str) -> None:
        """dialect: "sqlite" or "postgresql"."""
        self.dialect = dialect
        self.health = StoreHealth(lambda: self.write(self._try), remote=dialect != "sqlite")
        self._file: Path | None = None  # SQLite's
        self._opened: tuple[int, int] | None = None  # it, as it was then
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()
        self._later: list[_Job] = []
        self._hurrying: asyncio.TimerHandle | None = None

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, *, read_only: bool = False) -> AsyncIterator[Store]:
        """Open and bring up to date the database at `url`; closes it when left.

        read_only: nothing in it is changed, so it must be up to date already. Raises ConfigError
        when it can't be opened.
        """
        address = parsed_address(url)
        store = await _opened(address, read_only=read_only)
        store._know_file(address)
        writer = asyncio.create_task(store._write_for_all(), name="store writer")
        try:
            yield store
        finally:
            store._hurry()
            await store._jobs.join()
            writer.cancel()
            await asyncio.wait([writer])
            await store._close()

    async def read(self, work: Work[T], *, small: bool = False) -> T:
        """Run `work`, which only reads.

        small: some dozen recent rows by an index; to change threads would take SQLite longer.
        """
        try:
            return await self._read(work, small=small)
        except Exception as error:
            if (told := self.health.failed(error)) is error:
                raise
            raise told from error

    @abstractmethod
    async def _read(self, work: Work[T], *, small: bool = False) -> T:
        """Read, and raise what the driver raises."""

    @abstractmethod
    def _transact(self, works: Sequence[Work[Any]]) -> Awaitable[list[Any]]:
        """Run works one after the other in a transaction of their own; never two at a time."""

    @abstractmethod
    async def _rewrite(self) -> None:
        """Write the files again, without what was deleted."""

    @abstractmethod
    async def _close(self) -> None:
        """Let go of every connection."""

    def write(self, work: Work[T]) -> asyncio.Future[T]:
        """Run `work` in a transaction; gives its result once it is on disk.

        Works of callers that wait at the same time share one commit, in the order of their
        calls. `work` may run a second time, alone, when a neighbour's failed.
        """
        if self._later:
            self._hurry()
        job = _Job(work, asyncio.get_running_loop().create_future())
        self._jobs.put_nowait(job)
        return job.done

    def _know_file(self, url: URL) -> None:
        if self.dialect == "sqlite" and url.database and Path(url.database).is_file():
            self._file = Path(url.database).absolute()
            self._opened = _identity(self._file)

    def _try(self, connection: Connection) -> None:
        try_writing(connection, self._file)

    async def scrub(self) -> None:
        """Write the database's files again, so that no byte of what was deleted stays in them.

        Takes as long as copying them. Raises StoreError when somebody else uses the database.
        """
        await self._jobs.join()
        try:
            await self._rewrite()
        except SQLAlchemyError as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"the database can't be rewritten: {reason}") from error

    def write_later(self, work: Work[T]) -> asyncio.Future[T]:
        """Run `work` before the next `write`, in its commit; after LATER_S in one of its own.

        For what nobody waits for; the future is done when it is on disk. A failure is logged.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work, loop.create_future(), later=True)
        self._later.append(job)
        self._hurrying = self._hurrying or loop.call_later(LATER_S, self._hurry)
        return job.done

    def _hurry(self) -> None:
        if self._hurrying is not None:
            self._hurrying.cancel()
            self._hurrying = None
        for job in self._later:
            self._jobs.put_nowait(job)
        self._later.clear()

    async def _write_for_all(self) -> None:
        while True:
            jobs = [await self._jobs.get()]
            while not self._jobs.empty() and len(jobs) < 256:
                jobs.append(self._jobs.get_nowait())
            try:
                results = await self._transact([job.work for job in jobs])
            except Exception as error:  # noqa: BLE001 - what a caller's work raises is that caller's
                await self._write_each(jobs, error)
            else:
                self._wrote()
                for job, result in zip(jobs, results, strict=True):
                    if not job.done.done():
                        job.done.set_result(result)
            finally:
                for _ in jobs:
                    self._jobs.task_done()

    def _wrote(self) -> None:
        self.health.known_at = asyncio.get_running_loop().time()
        if self.health.trouble is not None:
            self.health.recovered()

    async def _write_each(self, jobs: Sequence[_Job], error: Exception) -> None:
        """A commit failed: whoever is not at fault gets one of their own."""
        if len(jobs) == 1:
            _fail(jobs[0], self.health.failed(error))
            return
        for job in jobs:
            try:
                [result] = await self._transact([job.work])
            except Exception as own:  # noqa: BLE001 - see above
                _fail(job, self.health.failed(own))
            else:
                self._wrote()
                if not job.done.done():
                    job.done.set_result(result)


class ThreadStore(Store):
    """SQLite: a thread that writes and two that read."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.dialect.name)
        self._engine = engine
        self._writer = ThreadPoolExecutor(1, "store-write")
        self._written: Connection | None = None  # the writer thread's, taken from the pool once
        self._glanced: Connection | None = None  # the loop's own, likewise
        self._readers = ThreadPoolExecutor(READERS, "store-read")

    async def _read(self, work: Work[T], *, small: bool = False) -> T:
        def run() -> T:
            with self._engine.connect() as connection:
                return work(connection)

        if small:
            connection = self._glanced = self._glanced or self._engine.connect()
            try:
                return work(connection)
            finally:
                connection.rollback()  # the next one sees what was written since
        return await asyncio.get_running_loop().run_in_executor(self._readers, run)

    def _transact(self, works: Sequence[Work[Any]]) -> Awaitable[list[Any]]:
        def run() -> list[Any]:
            if self._file is not None and _identity(self._file) != self._opened:
                raise StoreRefusal("away", f"{self._file} was moved, removed or replaced")
            connection = self._written = self._written or self._engine.connect()
            with connection.begin():
                return [work(connection) for work in works]

        return asyncio.get_running_loop().run_in_executor(self._writer, run)

    async def _rewrite(self) -> None:
        def run() -> None:
            with self._engine.connect() as connection:
                _scrub(connection.execution_options(isolation_level="AUTOCOMMIT"))

        await asyncio.get_running_loop().run_in_executor(self._writer, run)

    async def _close(self) -> None:
        if self._glanced is not None:
            self._glanced.close()
        if self._written is not None:
            self._writer.submit(self._written.close)
        self._writer.shutdown()
        self._readers.shutdown()
        self._engine.dispose()


class AsyncStore(Store):
    """Any database that SQLAlchemy's asyncio engine has a driver for."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine.dialect.name)
        self._engine = engine

    async def _read(self, work: Work[T], *, small: bool = False) -> T:
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    async def _transact(self, works: Sequence[Work[Any]]) -> list[Any]:
        async with self._engine.begin() as connection:
            return [await connection.run_sync(work) for work in works]

    async def _rewrite(self) -> None:
        async with self._engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.run_sync(_scrub)

    async def _close(self) -> None:
        await self._engine.dispose()


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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


def _fail(job: _Job, error: Exception) -> None:
    if job.done.done():  # whoever waited was cancelled
        return
    job.done.set_exception(error)
    if job.later:
        job.done.exception()  # seen, or asyncio would log it as well
        log.error("store.late_write_failed", reason=str(error))


async def _opened(address: URL, *, read_only: bool) -> Store:
    store: Store | None = None
    try:
        store = _connected(address, read_only=read_only)
        if read_only:
            _check_current(await store._read(_version))
        else:
            await _migrate(store, address)
    except Exception as error:
        if store is not None:
            await store._close()
        if (why := opening_fault(error, address)) is None:
            raise
        raise ConfigError(f"[store] url: the database can't be opened: {why}") from error
    return store


def look_into(url: str) -> None:
    """Raises ConfigError for a SQLite file that `Store.open` would refuse; changes nothing."""
    from store.upgrading import check_known

    address = parsed_address(url)
    engine = plain_engine_of(only_read(address))
    try:
        with engine.connect() as connection:
            if (found := _version(connection)) is not None:
                check_known(found, HEAD)
    except SQLAlchemyError as error:
        raise ConfigError(f"[store] url: {opening_fault(error, address)}") from error
    finally:
        engine.dispose()


def _connected(address: URL, *, read_only: bool) -> Store:
    engine = engine_of(address, read_only=read_only)
    return ThreadStore(engine) if isinstance(engine, Engine) else AsyncStore(engine)


async def _migrate(store: Store, url: URL) -> None:
    found = await store._read(_version)
    if found == HEAD:
        return
    from store.upgrading import check_known, copy_before, told, upgrade_whole

    copy: Path | None = None
    if found is not None:
        check_known(found, HEAD)
        if url.get_backend_name() == "sqlite" and url.database:
            copy = await asyncio.to_thread(copy_before, Path(url.database), found, HEAD)
    log.info("database.migrate", **{"from": found or "nothing"}, to=HEAD)
    with told(found, HEAD, copy):
        await store._transact([upgrade_whole])


def _check_current(found: str | None) -> None:
    """Raises ConfigError for a database that is not to be read as it is."""
    if found is None:
        raise ConfigError("[store] url: there are no tables of Moot's yet: start Moot once")
    from store.upgrading import check_known

    check_known(found, HEAD)
    if found != HEAD:
        raise ConfigError(
            f"the database has version {found}, and this Moot works with {HEAD}: `moot run` brings "
            "it up to date"
        )


def _version(connection: Connection) -> str | None:
    """None: there is nothing yet. Raises ConfigError for another program's tables."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables:
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if tables and connection.dialect.name == "sqlite":  # a server's may be shared
        raise ConfigError(
            f"[store] url: the database holds another program's tables ({', '.join(tables[:3])}); "
            "name another file"
        )
    return None


def insert_of(store: Store) -> Any:
    """The dialect's INSERT, which knows ON CONFLICT."""
    return postgresql.insert if store.dialect == "postgresql" else sqlite.insert
