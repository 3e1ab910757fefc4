"""Ends a session whose programs take more of the machine than they may.

Memory and processes are looked at each second, for all sessions in one reading of the process
table; the disk is told by its free space, and folders are walked only as often as that is cheap.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import structlog

from adapters.agent import Failable
from adapters.pty.process_table import (
    ProcessRow,
    ProcessTable,
    ProcessTree,
    exact_memory_of,
    held_by,
    memory_disk,
    memory_of,
    scratch_of,
)
from adapters.sandbox.account import OPEN_MEMORY, end_account, shared_by
from adapters.sandbox.bubblewrap import SCRATCH
from contract.errors import AgentError, AgentFault
from contract.language import Phrase, later
from contract.values import dataclass
from gateway.sessions.bounds import THREADS, Bounds, amount
from gateway.sessions.disk_use import DiskReserve, DiskUse, little_free, size_in
from gateway.sessions.sessions import LiveSession

log = structlog.stdlib.get_logger("moot.sessions")

LOOK_S = 1.0
SHARE = 50  # of the time, one part at most goes into looking


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that was passed. kind: the fault of its turn. did: goes after the program's name."""

    kind: AgentFault
    did: Phrase


@dataclass(slots=True)
class Watched:
    """A session that is being watched. height_bytes: the most memory that it was seen to take."""

    live: LiveSession
    tree: ProcessTree
    disk: DiskUse
    ending: bool = False
    height_bytes: int = 0

    @property
    def bounds(self) -> Bounds:
        """The session's limits."""
        return self.live.bounds

    def looked_at(self, table: ProcessTable) -> Excess | None:
        """The limit that it passes now. Reads /proc: off the loop."""
        rows, bounds = self.tree.among(table), self.bounds
        if sys.platform == "linux":
            self.tree.cap(
                rows, bounds.of_kernel(enclosed=self.live.enclosed, root=not os.geteuid())
            )
        if bounds.processes and len(rows) > bounds.processes:
            return Excess(
                "crash",
                later("started more than {processes} processes", processes=bounds.processes),
            )
        if bounds.processes and sum(row.threads for row in rows) > bounds.processes * THREADS:
            return Excess(
                "crash",
                later(
                    "started more than {processes} threads", processes=bounds.processes * THREADS
                ),
            )
        taken = memory_of(rows)
        self.height_bytes = max(self.height_bytes, taken)
        if not bounds.memory_bytes:
            return None
        held = held_by(row.pid for row in rows).get(memory_disk(), 0)
        if self.live.account:
            held += shared_by(self.live.account)
        most = bounds.memory_bytes - self._scratch(rows)
        if taken + held > most and exact_memory_of(rows, held) > most:
            return Excess(
                "crash",
                later("used more than {amount} of memory", amount=amount(bounds.memory_bytes)),
            )
        return None

    def _scratch(self, rows: list[ProcessRow]) -> int:
        """What it has in folders of memory."""
        if self.live.enclosed:
            return scratch_of(rows, SCRATCH)
        account = self.live.account
        return sum(size_in(Path(name), account) for name in OPEN_MEMORY) if account else 0


@dataclass(slots=True)
class SessionWatcher:
    """Watches all sessions. held: those that are there, also where their program has ended: the
    next question may begin it again. data_dir: on the disk that is watched.
    measured: told what the programs of each name took of memory that ended a turn. at_once: set
    while it wants to be told now. begun: set with each session that begins; while none is held that
    runs a program nothing is looked at."""

    held: Callable[[], Sequence[LiveSession]]
    data_dir: Path
    measured: Callable[[Mapping[str, Sequence[int]]], None] = lambda taken: None
    at_once: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    _reserve: DiskReserve = field(init=False)
    _watched: dict[int, Watched] = field(default_factory=dict)  # by the program's process id
    _ends: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._reserve = DiskReserve(self.data_dir / "reserve")

    async def run(self) -> None:
        """Look for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_processes(), name="watched processes")
            group.create_task(self._watch_disk(), name="watched disk")

    async def _watch_processes(self) -> None:
        while True:
            began = time.monotonic()
            await self.look()
            rest_s = max(LOOK_S, min((time.monotonic() - began) * SHARE, 5 * LOOK_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.at_once.wait(), rest_s)
            if not self.at_once.is_set():
                await self._any()

    async def _any(self) -> None:
        """Return when there is a session that may have a program."""
        while not any(live.context.program.runs for live in self.held()):
            self.begun.clear()
            await self.begun.wait()

    async def look(self) -> None:
        """One look at the processes of all."""
        watched, wanted = self._those_that_run(), self.at_once.is_set()
        found = await asyncio.to_thread(_looked, watched) if watched else []
        for one, excess in found:
            self._end(one, excess)
        if wanted:  # what was wanted since then is looked at next
            self.at_once.clear()
        heights: dict[str, list[int]] = {}
        for one in watched:
            if not (one.live.turns and one.height_bytes):  # 0: it died
                continue
            heights.setdefault(one.live.context.program.name, []).append(one.height_bytes)
        self.measured(heights)

    def _those_that_run(self) -> list[Watched]:
        running = {live.agent.pid: live for live in self.held() if live.agent.alive()}
        self._watched = {pid: one for pid, one in self._watched.items() if pid in running}
        for pid, live in running.items():
            if pid is None:
                continue
            if (known := self._watched.get(pid)) is None or known.live is not live:
                disk = DiskUse(live.folder, live.workspace, live.account)
                self._watched[pid] = Watched(live, ProcessTree(pid), disk)
        return [one for one in self._watched.values() if not one.ending]

    # ── The disk ────────────────────────────────────────────────────────────────────────

    async def _watch_disk(self) -> None:
        while True:
            await self._any()
            await self.look_at_disk()  # what is there when a session begins doesn't count
            await asyncio.sleep(LOOK_S)

    async def look_at_disk(self) -> None:
        """Measure the folders of those whose turn it is; all, when the disk is nearly full."""
        watched = self._those_that_run()
        if not watched:
            return
        little = await asyncio.to_thread(little_free, self.data_dir)
        await asyncio.to_thread(self._reserve.spend if little else self._reserve.keep)
        due = watched if little else [one for one in watched if one.disk.due()]
        for one in due:
            await asyncio.to_thread(one.disk.measure, one.tree.root)
            if one.bounds.disk_bytes and one.disk.exceeds(one.bounds.disk_bytes):
                wrote = later(
                    "filled more than {amount} of the disk", amount=amount(one.bounds.disk_bytes)
                )
                self._end(one, Excess("disk", wrote))
        if little:
            self._end_greediest(watched)

    def _end_greediest(self, watched: Sequence[Watched]) -> None:
        """End the one that wrote most lately, if any did: it is what fills the disk."""
        most = max(watched, key=lambda one: one.disk.grown())
        if most.disk.grown() and not any(one.ending for one in watched):
            wrote = later(
                "wrote {amount}, which all but filled the disk,", amount=amount(most.disk.grown())
            )
            self._end(most, Excess("disk", wrote))

    # ── The end of one ──────────────────────────────────────────────────────────────────

    def _end(self, one: Watched, excess: Excess) -> None:
        if one.ending:
            return
        one.ending = True
        live = one.live
        program = live.context.program
        log.warning(
            "session.over_limit",
            persona=live.persona,
            agent=program.name,
            reason=excess.did.in_english,
        )
        line = later("{program} {did} and was stopped.", program=program.title, did=excess.did)
        error = AgentError(excess.kind, f"{program.name} {excess.did.in_english}", say=line)
        task = asyncio.create_task(_ended(one, error), name=f"end {live.persona}: over its limit")
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)


def _looked(watched: Sequence[Watched]) -> list[tuple[Watched, Excess]]:
    table = ProcessTable.read()
    found = [(one, one.looked_at(table)) for one in watched]
    return [(one, excess) for one, excess in found if excess]


async def _ended(one: Watched, error: AgentError) -> None:
    """Fail its turn, and kill whatever it started, at the same time."""
    agent = one.live.agent
    with contextlib.suppress(AgentError):
        failing = agent.fail(error) if isinstance(agent, Failable) else agent.close()
        await asyncio.gather(failing, asyncio.to_thread(_killed, one))


def _killed(one: Watched) -> None:
    one.tree.end(enclosed=one.live.enclosed)
    if one.live.account is not None:  # what it has in folders of all goes, too
        with contextlib.suppress(OSError):
            end_account(one.live.account)
