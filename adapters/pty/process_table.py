"""All processes of this machine in one look, and those of one session among them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path

import psutil

from adapters.pty.keeper import signal_all
from contract.values import dataclass

PROC = Path("/proc")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
ROUNDS = 100  # of ending a tree: what still forks was not seen in the round before
PEERS = 64  # so many processes are asked exactly what they share; of more it takes too long


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process. leader: the id of its session's first one. began: tells it from a later process
    of the same id. memory_bytes: what it holds, shared pages included."""

    pid: int
    parent: int
    leader: int
    began: float
    threads: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class ProcessTable:
    """Processes, and what each has started."""

    rows: Sequence[ProcessRow]
    children: Mapping[int, Sequence[ProcessRow]]

    @classmethod
    def read(cls) -> ProcessTable:
        """Every process that has not ended; of Linux one short read each."""
        if sys.platform == "linux":
            pids = (entry.name for entry in os.scandir(PROC) if entry.name.isdigit())
            found = [row for row in map(read_process, pids) if row]
        else:
            found = [row for row in map(_told, psutil.process_iter()) if row]
        children: dict[int, list[ProcessRow]] = {}
        for row in found:
            children.setdefault(row.parent, []).append(row)
        return cls(found, children)


def read_process(pid: str) -> ProcessRow | None:
    """One process of a Linux; None when it has ended. began: in ticks since the machine did."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # a Path costs twice as much
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        words = []
    if not words or words[0] in (b"Z", b"X"):  # it ended meanwhile
        return None
    parent, leader, threads, began = (int(words[at]) for at in (1, 3, 17, 19))
    return ProcessRow(int(pid), parent, leader, began, threads, int(words[21]) * PAGE_BYTES)


def _told(process: psutil.Process) -> ProcessRow | None:
    try:
        with process.oneshot():
            return ProcessRow(
                process.pid,
                process.ppid() or 0,
                os.getsid(process.pid),
                process.create_time(),
                process.num_threads(),
                process.memory_info().rss,
            )
    except (psutil.Error, OSError):
        return None


@dataclass(slots=True)
class ProcessTree:
    """A program and all that it started.

    Who detached is known by its parent, by its terminal's session, or because it was seen before.
    """

    root: int
    _seen: set[tuple[int, float]] = field(default_factory=set)
    _leaders: set[int] = field(default_factory=set)
    _capped: set[tuple[int, float]] = field(default_factory=set)

    def among(self, table: ProcessTable) -> list[ProcessRow]:
        """Its processes, in a table that is read now."""
        found = {
            row.pid: row
            for row in table.rows
            if self.root in (row.pid, row.leader)
            or row.leader in self._leaders
            or (row.pid, row.began) in self._seen
        }
        left = list(found)
        while left:
            for row in table.children.get(left.pop(), ()):
                if row.pid not in found:
                    found[row.pid] = row
                    left.append(row.pid)
        self._seen = {(row.pid, row.began) for row in found.values()}
        known = self._leaders | found.keys()
        self._leaders = {row.leader for row in found.values() if row.leader in known}
        return list(found.values())

    def cap(self, rows: Iterable[ProcessRow], limits: Mapping[int, int]) -> None:
        """Have the kernel hold limits (Linux: prlimit) for each of its processes that is new; what
        they start inherits them."""
        known = {(row.pid, row.began) for row in rows}
        for pid, began in known - self._capped:
            with contextlib.suppress(OSError, ValueError):
                for number, most in limits.items():
                    resource.prlimit(pid, number, (most, most))
            self._capped.add((pid, began))
        self._capped &= known

    def end(self, *, enclosed: bool) -> None:
        """Kill all of it. May take a second.

        enclosed: they end with their sandbox. Others are stopped first, until no new one appears.
        """
        stopped: set[tuple[int, float]] = set()
        for _ in range(0 if enclosed else ROUNDS):
            rows = self.among(ProcessTable.read())
            new = [row for row in rows if (row.pid, row.began) not in stopped]
            if not new:
                break
            signal_all([row.pid for row in new], signal.SIGSTOP)
            stopped |= {(row.pid, row.began) for row in new}
        for _ in range(ROUNDS):
            if not (rows := self.among(ProcessTable.read())):
                return
            signal_all([row.pid for row in rows], signal.SIGKILL)


def memory_of(rows: list[ProcessRow]) -> int:
    """The memory that they hold together; what they share may count for each."""
    return sum(row.memory_bytes for row in rows)


def exact_memory_of(rows: list[ProcessRow], held: int = 0) -> int:
    """The same, with each page counted once, where the kernel says it: it has to walk them all.

    held: in files of memory, which they may have mapped.
    """
    if len(rows) > PEERS:
        return memory_of(rows) + held
    shares = [_share(row) for row in rows]
    mapped = sum(files for _, files in shares)
    return sum(own for own, _ in shares) + max(mapped, held)


def _share(row: ProcessRow) -> tuple[int, int]:
    """A process's part of the pages that it has mapped: its own, and those of files of memory."""
    try:
        text = (PROC / str(row.pid) / "smaps_rollup").read_text(encoding="ascii")
    except PermissionError:
        return row.memory_bytes, 0
    except OSError:  # it ended meanwhile
        return 0, 0
    told = dict(line.split()[:2] for line in text.splitlines()[1:])
    files = int(told.get("Pss_Shmem:", 0))
    return (int(told.get("Pss:", 0)) - files) * 1024, files * 1024


def held_by(pids: Iterable[int]) -> Mapping[int, int]:
    """The bytes of files that have no name any more and that these processes have open, by the
    number of their disk: room that nothing else shows."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it ended meanwhile
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    state = os.stat(f"/proc/{pid}/fd/{name}")
                    if stat.S_ISREG(state.st_mode) and not state.st_nlink:
                        found[state.st_dev, state.st_ino] = state.st_blocks * 512
    sizes: dict[int, int] = {}
    for (disk, _), size in found.items():
        sizes[disk] = sizes.get(disk, 0) + size
    return sizes


@cache
def memory_disk() -> int:
    """The number of the disk that files of memory (`memfd`) are on; 0: there are none."""
    if sys.platform != "linux":
        return 0
    handle = os.memfd_create("moot")
    try:
        return os.fstat(handle).st_dev
    finally:
        os.close(handle)


def scratch_of(rows: list[ProcessRow], folders: Iterable[str]) -> int:
    """The bytes in folders of memory that a sandbox has of its own, seen through its processes."""
    newest = max(rows, key=lambda row: (row.began, row.pid), default=None)
    if newest is None:
        return 0
    used = 0
    for folder in folders:
        try:
            state = os.statvfs(f"/proc/{newest.pid}/root{folder}")
        except OSError:
            continue
        used += (state.f_blocks - state.f_bfree) * state.f_frsize
    return used
