"""A session's share of the disk: what its folders hold, and how much that has grown."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from pathlib import Path

from adapters.own_files import states_below
from adapters.pty.keeper import descendants
from adapters.pty.process_table import held_by
from adapters.sandbox.account import OPEN_DISKS
from contract.values import dataclass
from gateway.settings.sandbox import GB

SOONEST_S = 30.0  # between two measurements of a folder
SHARE = 50  # of the time, one part at most goes into measuring it
HASTE_BYTES = GB // 4  # so much less free than then, and it is measured sooner
HASTE_SHARE = 5
LITTLE = 0.02  # of a disk, and no more than LITTLE_BYTES
LITTLE_BYTES = GB
RESERVE_BYTES = GB // 40
LEAST_BYTES = 4096  # an empty file counts for: a disk has room for so many of them
GROWN_BYTES = GB // 50  # less than this is no growth: programs write logs and caches


def little_free(folder: Path) -> bool:
    """True when the disk that holds the folder is nearly full, or can have few files more."""
    try:
        disk = shutil.disk_usage(folder)
        files = os.statvfs(folder)
    except OSError:
        return False
    few = files.f_favail < files.f_files * LITTLE
    return few or disk.free < min(disk.total * LITTLE, LITTLE_BYTES)


@dataclass(slots=True)
class DiskReserve:
    """A file that takes up room, and gives it up on a full disk: so that Moot can write down what
    it says about that."""

    file: Path
    _kept: bool = False

    def keep(self) -> None:
        """Make it, where there is room for many."""
        if self._kept:
            return
        with contextlib.suppress(OSError, AttributeError):  # macOS has no such call
            size_bytes = _reserved(self.file)
            with self.file.open("wb") as file:
                self.file.chmod(0o600)
                os.posix_fallocate(file.fileno(), 0, size_bytes)
        self._kept = True

    def spend(self) -> None:
        """Give it up."""
        self._kept = False
        with contextlib.suppress(OSError):
            self.file.unlink(missing_ok=True)


def _reserved(file: Path) -> int:
    """As much as half of the space with which a disk counts as nearly full."""
    total = shutil.disk_usage(file.parent).total
    return min(int(total * LITTLE) // 2, RESERVE_BYTES)


def size_of(folder: Path) -> int:
    """The bytes on disk of everything below; each counted once, links not followed."""
    found, seen = 0, set[tuple[int, int]]()
    for state in states_below(folder):
        if not stat.S_ISDIR(state.st_mode) and state.st_nlink > 1:
            if (state.st_dev, state.st_ino) in seen:
                continue
            seen.add((state.st_dev, state.st_ino))
        found += _room(state)
    return found


def size_in(folder: Path, account: int) -> int:
    """The bytes of what an account has in a folder that all may write to."""
    found = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                if state.st_uid == account:
                    found += _room(state) + size_of(Path(entry.path))
                elif stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_IWOTH:
                    found += size_in(Path(entry.path), account)
    return found


def _room(state: os.stat_result) -> int:
    return max(state.st_blocks * 512, LEAST_BYTES)


@dataclass(slots=True)
class DiskUse:
    """One session's. folder: its own, all of which counts. workspace: may be shared and hold much;
    what it grows by counts. account: its own, which may write to folders of this machine."""

    folder: Path
    workspace: Path
    account: int | None = None
    _began: tuple[int, int] | None = None  # both sizes, as they were first
    _now: tuple[int, int] = (0, 0)
    _due_at: float = 0.0
    _soon_at: float = 0.0
    _free: int = 0

    def due(self) -> bool:
        """True when it is to be measured: sooner, where the disk fills."""
        now = time.monotonic()
        if now >= self._due_at:
            return True
        return now >= self._soon_at and self._free - _free_bytes(self.folder) > HASTE_BYTES

    def measure(self, root: int) -> None:
        """Walk both folders. root: of the processes, which may have files open without a name."""
        began = time.monotonic()
        own = self.workspace.is_relative_to(self.folder)
        held = held_by(descendants(root))
        nameless = sum(held.get(disk, 0) for disk in _disks(self.folder, self.workspace))
        sizes = size_of(self.folder) + nameless, 0 if own else size_of(self.workspace)
        if self.account is not None:
            left = sum(size_in(Path(name), self.account) for name in OPEN_DISKS)
            sizes = sizes[0] + left, sizes[1]
        if self._began is None:
            self._began = self._now = sizes
        self._now = sizes
        self._free = _free_bytes(self.folder)
        ended = time.monotonic()
        self._due_at = ended + max(SOONEST_S, SHARE * (ended - began))
        self._soon_at = ended + HASTE_SHARE * (ended - began)

    def grown(self) -> int:
        """The bytes that it grew by since it began; 0 for next to nothing."""
        grown = sum(self._now) - sum(self._began or self._now)
        return grown if grown >= GROWN_BYTES else 0

    def exceeds(self, most_bytes: int) -> bool:
        """True when it is over the limit by its own doing: a session that began over it may still
        work, and tidy up."""
        if self._began is None:
            return False
        taken = self._now[0] + max(self._now[1] - self._began[1], 0)
        return taken > most_bytes and self.grown() > 0


def _disks(*folders: Path) -> set[int]:
    """The numbers of the disks that these are on."""
    found = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            found.add(folder.stat().st_dev)
    return found


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
