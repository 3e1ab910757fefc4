"""One task writes for everybody who waits, and holds works while the database is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import field
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import structlog
from sqlalchemy import Connection

from contract.turnstile import turnstile
from contract.values import dataclass
from store.health import NotSynced, StoreHealth, StoreRefusal
from store.patience import Patience, patience, wait_s

log = structlog.stdlib.get_logger("moot.memory")

T = TypeVar("T")
Work = Callable[[Connection], T]

LATER_S = 0.5  # most turns write something else before
AT_ONCE = 256  # works in a commit
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0  # between tries of what is held


class CommitInDoubt(Exception):
    """The connection was lost while it committed. results: of the works, if they are on disk."""

    def __init__(self, results: list[Any]) -> None:
        super().__init__("the connection was lost in a commit")
        self.results = results


class CommittedBefore(Exception):
    """The commit of this id is on disk."""


@dataclass(frozen=True, slots=True)
class How:
    """A transaction's number, which a server keeps, and what is known of its works: small: all are,
    synced: one of them is, see Store.write; again: they may be on disk."""

    number: str = ""
    small: bool = False
    synced: bool = True
    again: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """A transaction that can be read. results: of its works. on_disk: done when it is; None: it is,
    or need not be."""

    results: list[Any]
    on_disk: asyncio.Future[None] | None = None


@dataclass(slots=True, eq=False)
class _Job:
    work: Work[Any]
    done: asyncio.Future[Any]
    later: bool = False  # nobody waits for it
    small: bool = False
    synced: bool = True
    seen: Callable[[Any], object] | None = None
    context: Context = field(default_factory=copy_context)  # of its caller
    patience: Patience = field(default_factory=patience)
    until: float | None = None  # by the loop's clock: held so long; None: it wasn't tried yet


@dataclass(slots=True, eq=False)
class _Commit:
    """Works of one transaction. results: set when its outcome is not known."""

    jobs: list[_Job]
    id: str = field(default_factory=lambda: uuid4().hex)
    results: list[Any] | None = None

    @property
    def works(self) -> list[Work[Any]]:
        return [job.work for job in self.jobs]

    @property
    def synced(self) -> bool:
        return any(job.synced for job in self.jobs)

    @property
    def how(self) -> How:
        return How(
            self.id,
            small=all(job.small for job in self.jobs),
            synced=self.synced,
            again=self.results is not None,
        )

    def seen(self, results: Sequence[Any]) -> None:
        """They can be read: whoever wants to know of it is told."""
        for job, result in zip(self.jobs, results, strict=True):
            if job.seen is not None:
                asyncio.get_running_loop().call_soon(job.seen, result, context=job.context)


class Writer:
    """Takes works in the order of their calls.

    A work that the database could not take, as it was away, is held as long as its caller has
    patience, and made again before all that came later. A commit whose outcome is not known is
    made again under its own id, which the database takes once.
    """

    def __init__(
        self,
        transact: Callable[[Sequence[Work[Any]], How], Awaitable[Committed]],
        health: StoreHealth,
        *,
        holds: bool,
    ) -> None:
        """transact: commits works, never two times at once. holds: it holds works; what fails is
        else tried once again alone, and no longer."""
        self._transact = transact
        self._health = health
        self._holds = holds
        self.patience_s = 0.0
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()
        self._held: list[_Commit] = []
        self._later: list[_Job] = []
        self._hurrying: asyncio.TimerHandle | None = None
        self._pause_s = FIRST_PAUSE_S
        self._syncing: asyncio.Future[None] | None = None  # of the last commit that waits for it

    def write(
        self,
        work: Work[T],
        *,
        small: bool = False,
        synced: bool = True,
        seen: Callable[[T], object] | None = None,
        within_s: float = 0.0,
    ) -> asyncio.Future[T]:
        """See Store.write."""
        done = asyncio.get_running_loop().create_future()
        job = _Job(work, done, small=small, synced=synced, seen=seen)
        if within_s:
            self._put_off(job, within_s)
        else:
            if self._later:
                self._hurry()
            self._jobs.put_nowait(job)
        return done

    def write_later(self, work: Work[T], within_s: float) -> asyncio.Future[T]:
        """See Store.write_later."""
        done = asyncio.get_running_loop().create_future()
        self._put_off(_Job(work, done, later=True, small=True, synced=False), within_s)
        return done

    def _put_off(self, job: _Job, within_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._later.append(job)
        before = self._hurrying
        if before is None or before.when() > loop.time() + within_s:
            if before is not None:
                before.cancel()
            self._hurrying = loop.call_later(within_s, self._hurry)

    def _hurry(self) -> None:
        if self._hurrying is not None:
            self._hurrying.cancel()
            self._hurrying = None
        for job in self._later:
            self._jobs.put_nowait(job)
        self._later.clear()

    async def written(self) -> None:
        """Return when everything is on disk or has failed."""
        await self._jobs.join()

    async def flush(self) -> None:
        """The same at once, for what need only be written later as well."""
        self._hurry()
        await self.written()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write within the block, and at its end what is left. Raises what ended it before."""
        writing = asyncio.create_task(self._run(), name="store writer")
        try:
            yield
        finally:
            finishing = asyncio.create_task(self._finish(), name="store writer's end")
            both = finishing, writing
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in both:
                task.cancel()
            await asyncio.wait(both)
            if not writing.cancelled():
                writing.result()

    async def _finish(self) -> None:
        """Everything is on disk or has failed, and nothing is held any more."""
        self._holds = False
        await self.flush()

    async def _run(self) -> None:
        """Write, for ever."""
        while True:
            commits = await self._next()
            for number, commit in enumerate(commits):
                if not await self._take(commit):
                    self._wait_or_fail(commits[number + 1 :])
                    break

    async def _next(self) -> list[_Commit]:
        """What is held, then what is new: it waits for that, but not for long while it holds."""
        commits, self._held = self._held, []
        jobs: list[_Job] = []
        try:
            async with asyncio.timeout(self._pause_s if commits else None):
                jobs.append(await self._jobs.get())
        except TimeoutError:
            pass
        while not self._jobs.empty() and len(jobs) < AT_ONCE:
            jobs.append(self._jobs.get_nowait())
        if commits:
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        return [*commits, _Commit(jobs)] if jobs else commits

    async def _take(self, commit: _Commit) -> bool:
        """Commit; False: the database is away, and whoever has patience is held. The next one is
        made while this one is synced."""
        try:
            made = await self._transact(commit.works, commit.how)
        except CommittedBefore:
            assert commit.results is not None
            made = Committed(commit.results)
        except Exception as error:  # noqa: BLE001 - what a caller's work raises is that caller's
            return await self._failed(commit, error)
        self._pause_s = FIRST_PAUSE_S
        commit.seen(made.results)
        if made.on_disk is not None:
            self._syncing = made.on_disk
            made.on_disk.add_done_callback(partial(self._synced, commit, made.results))
        elif self._syncing is not None:  # who wrote before is told before
            self._syncing.add_done_callback(lambda _: self._tell_all(commit, made.results))
        else:
            self._tell_all(commit, made.results)
        return True

    def _synced(
        self, commit: _Commit, results: Sequence[Any], on_disk: asyncio.Future[None]
    ) -> None:
        """It is on disk, or whoever wants that is told why not."""
        if self._syncing is on_disk:
            self._syncing = None
        error = on_disk.exception()
        if not isinstance(error, Exception):
            self._tell_all(commit, results)
            return
        told = self._health.failed(error)
        for job, result in zip(commit.jobs, results, strict=True):
            if job.synced:
                self._fail(job, told)
            else:
                self._tell(job, result)

    def _tell_all(self, commit: _Commit, results: Sequence[Any]) -> None:
        if commit.synced or self._holds:  # a server syncs each
            self._wrote()
        for job, result in zip(commit.jobs, results, strict=True):
            turnstile("turns").let(partial(self._tell, job, result))

    def _tell(self, job: _Job, result: Any) -> None:
        if not job.done.done():
            job.done.set_result(result)
        self._jobs.task_done()

    def _wrote(self) -> None:
        self._health.known_at = asyncio.get_running_loop().time()
        if self._health.trouble is not None:
            self._health.recovered()

    async def _failed(self, commit: _Commit, error: Exception) -> bool:
        """Whoever is not at fault gets a commit of their own, or waits."""
        if isinstance(error, CommitInDoubt):
            commit.results = error.results
            error = error.__cause__ if isinstance(error.__cause__, Exception) else error
        told = self._health.failed(error)
        if self._holds and isinstance(told, StoreRefusal) and told.state == "away":
            self._wait_or_fail([commit])
            return False
        if len(commit.jobs) == 1 or isinstance(told, NotSynced):
            for job in commit.jobs:
                self._fail(job, told)
            return True
        for number, job in enumerate(commit.jobs):
            if not await self._take(_Commit([job])):
                self._wait_or_fail([_Commit([left]) for left in commit.jobs[number + 1 :]])
                return False
        return True

    def _wait_or_fail(self, commits: Sequence[_Commit]) -> None:
        """Hold what somebody still waits for; the others are told why."""
        now, trouble = asyncio.get_running_loop().time(), self._health.trouble
        refusal = trouble or StoreRefusal("away", "it does not answer")
        for commit in commits:
            in_doubt = commit.results is not None
            gone = [job for job in commit.jobs if not self._still_waits(job, now, in_doubt)]
            if in_doubt and len(gone) < len(commit.jobs):
                gone = []  # it is made again as a whole, or not at all
            for job in gone:
                self._fail(job, refusal)
            commit.jobs = [job for job in commit.jobs if job not in gone]
            if commit.jobs:
                self._held.append(commit)

    def _still_waits(self, job: _Job, now: float, in_doubt: bool) -> bool:
        """True for a work that is held. Its caller may not be told that it failed in doubt."""
        if job.until is None:
            how = "some" if in_doubt and job.patience == "none" else job.patience
            job.until = now + wait_s(how, self.patience_s)
        return self._holds and now < job.until

    def _fail(self, job: _Job, error: Exception) -> None:
        self._jobs.task_done()
        if job.done.done():  # whoever waited was cancelled
            return
        job.done.set_exception(error)
        if job.later:
            job.done.exception()  # seen, or asyncio would log it as well
            log.error("store.late_write_failed", reason=str(error))
