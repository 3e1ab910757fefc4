"""One gateway leads on a PostgreSQL; others stand by until it is gone.

Who leads holds an advisory lock on a connection of its own, and beats in the row `house`. Each time
that another one leads, the row's epoch grows: a commit of an earlier epoch is refused, and before
the new one begins, every connection of the one before is ended. So a gateway that was stopped and
wakes writes nothing, also if it was stopped within a commit.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import BigInteger, Connection, bindparam, cast, delete, func, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from contract.errors import MootError
from contract.values import dataclass
from store.gateway_schema import commits, house

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

log = structlog.stdlib.get_logger("moot.store")

LOCK = 0x6D6F6F74  # "moot"; of the one database
BEAT_S = 0.5
SURE_S = 1.5  # so long after a beat nobody else can lead
GONE_S = 2.5  # without a beat and without the lock, it is gone; longer than SURE_S
HUNG_S = 6.0  # without a beat, though its connection is there
ANSWER_S = 3.0  # a statement that takes longer failed
TIDY_BEATS = 600
KEPT_S = 600  # a commit's number

_C = house.c
_NOW = cast(func.extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger)
_ROW = select(_C.epoch, _C.holder, _C.seen_at)


def _first() -> Any:
    from sqlalchemy.dialects.postgresql import insert  # see `insert_of` in store/database.py

    new = insert(house).values(id=1, epoch=1, holder=bindparam("name"), seen_at=_NOW)
    return new.on_conflict_do_nothing().returning(_C.epoch)


_TAKE = (
    update(house)
    .where(_C.epoch == bindparam("old"), _C.seen_at == bindparam("seen"))
    .values(epoch=_C.epoch + 1, holder=bindparam("name"), seen_at=_NOW)
    .returning(_C.epoch)
)
_BEAT = update(house).where(_C.epoch == bindparam("mine")).values(seen_at=_NOW).returning(_C.epoch)
_LEAVE = update(house).where(_C.epoch == bindparam("mine")).values(seen_at=0)
_FORGET = delete(commits).where(commits.c.at < bindparam("before"))
_TRY_LOCK = select(func.pg_try_advisory_lock(LOCK))
_UNLOCK = select(func.pg_advisory_unlock(LOCK))
_OF = {"lock": LOCK}
_THEIRS = (
    "pg_stat_activity WHERE application_name = :name AND datname = current_database()"
    " AND pid <> pg_backend_pid()"
)
_END = text(f"SELECT count(pg_terminate_backend(pid)) FROM {_THEIRS}")  # noqa: S608 - a constant
_LEFT = text(f"SELECT count(*) FROM {_THEIRS}")  # noqa: S608 - a constant


_LOCKS = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = :lock"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class LeadLost(MootError):
    """Another gateway leads."""

    def __init__(self) -> None:
        super().__init__(
            "another gateway leads on this database: this one ends, and may be started again to "
            "stand by"
        )


def gateway_name() -> str:
    """A name of this process: of its connections, and for people; 63 bytes at most."""
    return f"moot {socket.gethostname()[:32]}:{os.getpid()}:{_OWN}"


_OWN = secrets.token_hex(4)


@dataclass(frozen=True, slots=True)
class _Seen:
    epoch: int
    holder: str
    seen_at: int


class Lead:
    """The lead on a database. epoch: since it was taken; None: it is not. leader: who has it, as
    it was last seen, else ""."""

    def __init__(self, engine: AsyncEngine) -> None:
        """engine: of connections that nobody else uses."""
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._locked = False
        self._seen: _Seen | None = None
        self._since = 0.0  # by the loop's clock: it was seen first
        self._sure_at = 0.0
        self._beats = 0  # on this connection
        self._beaten = asyncio.Event()
        self.epoch: int | None = None
        self.lost = False
        self.leader = ""

    # ── Who stands by ───────────────────────────────────────────────────────────────────

    async def take(self) -> bool:
        """Look once; True: it is ours from now on."""
        try:
            async with asyncio.timeout(ANSWER_S):
                self.epoch = await self._taken()
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            log.warning("lead.not_seen", reason=type(error).__name__)
            await self._let_go()
        return self.epoch is not None

    async def _taken(self) -> int | None:
        began = asyncio.get_running_loop().time()
        await self._lock()
        row = (await self._do(_ROW)).first()
        if row is None:
            return await self._first(began) if self._locked else None
        seen = _Seen(row.epoch, row.holder, row.seen_at)
        if seen != self._seen:
            if self._locked and self._seen is not None and seen.epoch == self._seen.epoch:
                await self._unlock()  # its connection was lost, and it is there again
            self._seen, self._since, self.leader = seen, began, seen.holder
        needed_s = GONE_S if self._locked else HUNG_S
        if self._locked and seen.seen_at == 0:
            needed_s = 0.0  # it has left
        if began - self._since < needed_s:
            return None
        return await self._succeed(seen, began)

    async def _first(self, began: float) -> int | None:
        epoch = (await self._do(_first(), name=gateway_name())).scalar()
        self._sure_at = began
        return None if epoch is None else int(epoch)

    async def _succeed(self, before: _Seen, began: float) -> int | None:
        """The epoch grows first: whatever the one before begins then is refused, and what it has
        begun ends with its connections."""
        given = {"old": before.epoch, "seen": before.seen_at, "name": gateway_name()}
        epoch = (await self._do(_TAKE, **given)).scalar()
        if epoch is None:
            return None
        while True:
            await self._do(_END, name=before.holder)
            if not (await self._do(_LEFT, name=before.holder)).scalar():
                break
            await asyncio.sleep(BEAT_S / 10)
        self._sure_at = began
        log.info("lead.taken", epoch=epoch, before=before.holder)
        return int(epoch)

    # ── Who leads ───────────────────────────────────────────────────────────────────────

    async def keep(self) -> None:
        """Beat until another one leads."""
        while not self.lost:
            began = asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout(ANSWER_S):
                    still = (await self._do(_BEAT, mine=self.epoch)).scalar()
                    await self._lock()
            except (SQLAlchemyError, OSError, TimeoutError):
                await self._let_go()  # the database is away
            else:
                self.lost = still is None
                self._sure_at = began
                await self._tidy()
                self._beaten.set()
                self._beaten = asyncio.Event()
            await asyncio.sleep(BEAT_S)

    async def _tidy(self) -> None:
        """Forget old commits. Whoever asks for one does so as soon as the database is back."""
        self._beats += 1
        if self._beats % TIDY_BEATS == 0:
            with suppress(SQLAlchemyError, OSError):
                await self._do(_FORGET, before=time.time_ns() // 1000 - KEPT_S * 1_000_000)

    async def until_lost(self) -> None:
        """Raise LeadLost when another one leads."""
        while not self.lost:
            await self._beaten.wait()
        log.error("lead.lost", epoch=self.epoch)
        raise LeadLost

    async def sure(self) -> None:
        """Return when nobody else can lead. Raises LeadLost."""
        while asyncio.get_running_loop().time() - self._sure_at > SURE_S:
            await self._beaten.wait()
        if self.lost:
            raise LeadLost

    async def leave(self) -> None:
        """Another one may lead at once."""
        if self.epoch is not None and not self.lost:
            with suppress(SQLAlchemyError, OSError, TimeoutError):
                async with asyncio.timeout(ANSWER_S):
                    await self._do(_LEAVE, mine=self.epoch)
        await self._let_go()

    # ── Its connection ──────────────────────────────────────────────────────────────────

    async def _do(self, statement: Any, **given: Any) -> Any:
        if self._connection is None:
            self._connection = await self._engine.connect()
        return await self._connection.execute(statement, given)

    async def _lock(self) -> None:
        if not self._locked:
            self._locked = bool((await self._do(_TRY_LOCK)).scalar())

    async def _unlock(self) -> None:
        await self._do(_UNLOCK)
        self._locked = False

    async def _let_go(self) -> None:
        connection, self._connection, self._locked = self._connection, None, False
        self._beats = 0
        self._seen = None  # what was not watched may have changed
        if connection is not None:
            with suppress(SQLAlchemyError, OSError, TimeoutError):
                await connection.invalidate()
                await connection.close()


async def living_leader(look: Callable[[Callable[[Connection], Any]], Awaitable[Any]]) -> str:
    """The name of a gateway that leads and beats; "": there is none, after a look of some seconds
    at one that may have died. look: runs work that only reads."""
    clock = asyncio.get_running_loop().time
    began, before = clock(), None
    while True:
        row, locked = await look(
            lambda c: (c.execute(_ROW).first(), c.execute(_LOCKS, _OF).scalar())
        )
        if row is None or row.seen_at == 0:
            return ""
        if before is not None and (row.epoch, row.seen_at) != before:
            return str(row.holder)
        before = (row.epoch, row.seen_at)
        if clock() - began > (HUNG_S if locked else GONE_S):
            return ""
        await asyncio.sleep(BEAT_S)


@asynccontextmanager
async def candidate(engine: AsyncEngine) -> AsyncIterator[Lead]:
    """A gateway that may lead; it lets go when the block ends."""
    lead = Lead(engine)
    try:
        yield lead
    finally:
        await lead.leave()
        await engine.dispose()
