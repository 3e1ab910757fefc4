"""The database: opened once, written by one task that commits for everybody who waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from contract import ConfigError

log = logging.getLogger("moot.memory")

T = TypeVar("T")
Work = Callable[[AsyncConnection], Awaitable[T]]

HEAD = "0001"  # the newest file in migrations/versions; Alembic is imported only to get there


@dataclass(slots=True)
class _Job:
    work: Work[Any]
    done: asyncio.Future[Any]


class Store:
    """An open database. `write` is durable when it returns; `read` sees all that was written."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()

    @property
    def dialect(self) -> str:
        """ "sqlite" or "postgresql"."""
        return self.engine.dialect.name

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[Store]:
        """Open and bring up to date the database at `url`; closes it when left.

        Raises ConfigError when it can't be opened.
        """
        engine = _engine(url)
        store = cls(engine)
        try:
            try:
                await _migrate(engine)
            except (SQLAlchemyError, OSError) as error:
                raise ConfigError(
                    f"[store] url: the database can't be opened: {str(error).splitlines()[0]}"
                ) from error
            writer = asyncio.create_task(store._write_for_all(), name="store writer")
            try:
                yield store
            finally:
                await store._jobs.join()
                writer.cancel()
                await asyncio.wait([writer])
        finally:
            await engine.dispose()

    async def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction; return its result once it is on disk.

        Works of callers that wait at the same time share one commit, in the order of their
        calls. `work` may run a second time, alone, when a neighbour's failed.
        """
        job = _Job(work, asyncio.get_running_loop().create_future())
        self._jobs.put_nowait(job)
        return await job.done  # type: ignore[no-any-return]

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection for reading."""
        async with self.engine.connect() as connection:
            yield connection

    async def _write_for_all(self) -> None:
        async with self.engine.connect() as connection:
            while True:
                jobs = [await self._jobs.get()]
                while not self._jobs.empty() and len(jobs) < 256:
                    jobs.append(self._jobs.get_nowait())
                try:
                    await self._commit(connection, jobs)
                finally:
                    for _ in jobs:
                        self._jobs.task_done()

    async def _commit(self, connection: AsyncConnection, jobs: list[_Job]) -> None:
        try:
            async with connection.begin():
                results = [await job.work(connection) for job in jobs]
        except Exception as error:  # noqa: BLE001 - whatever one caller's work raises is that caller's
            if len(jobs) > 1:
                for job in jobs:
                    await self._commit(connection, [job])
            elif not jobs[0].done.done():
                jobs[0].done.set_exception(error)
            return
        for job, result in zip(jobs, results, strict=True):
            if not job.done.done():
                job.done.set_result(result)


def _engine(url: str) -> AsyncEngine:
    parsed = make_url(url)
    drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
    if parsed.drivername in drivers:
        parsed = parsed.set(drivername=drivers[parsed.drivername])
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_async_engine(parsed)
    if parsed.get_backend_name() == "sqlite":
        event.listen(engine.sync_engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")  # acknowledged means on disk, power cuts included
    cursor.execute("PRAGMA busy_timeout=5000")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


async def _migrate(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        try:
            found = (
                await connection.execute(text("SELECT version_num FROM alembic_version"))
            ).all()
        except SQLAlchemyError:
            found = []
        await connection.rollback()
    if [row[0] for row in found] == [HEAD]:
        return
    from memory.migrations import upgrade

    log.info("database.migrate from=%s to=%s", found[0][0] if found else "nothing", HEAD)
    async with engine.begin() as connection:
        await connection.run_sync(upgrade)
