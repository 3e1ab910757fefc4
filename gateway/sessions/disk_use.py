"""A session's share of the disk: what its folders hold, and how much that has grown."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from gateway.settings.sandbox import GB

SOONEST_S = 30.0  # between two measurements of a folder
SHARE = 50  # of the time, one part at most goes into measuring it
HASTE_BYTES = GB // 4  # so much less free than then, and it is measured sooner
HASTE_SHARE = 5
LITTLE = 0.02  # of a disk, and no more than LITTLE_BYTES
LITTLE_BYTES = GB
RESERVE_BYTES = GB // 40
GROWN_BYTES = GB // 50  # less than this is no growth: programs write logs and caches


def little_free(folder: Path) -> bool:
    """True when the disk that holds the folder is nearly full."""
    try:
        disk = shutil.disk_usage(folder)
    except OSError:
        return False
    return disk.free < min(disk.total * LITTLE, LITTLE_BYTES)


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
    """The bytes on disk of all files below; each counted once, links not followed."""
    found, seen, left = 0, set[tuple[int, int]](), [str(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        state = entry.stat(follow_symlinks=False)
                        if stat.S_ISDIR(state.st_mode):
                            left.append(entry.path)
                        elif state.st_nlink > 1:
                            if (state.st_dev, state.st_ino) in seen:
                                continue
                            seen.add((state.st_dev, state.st_ino))
                        found += state.st_blocks * 512
        except OSError:  # gone, or closed to us
            continue
    return found


@dataclass(slots=True)
class DiskUse:
    """One session's. folder: its own, all of which counts. workspace: may be shared and hold much;
    what it grows by counts."""

    folder: Path
    workspace: Path
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

    def measure(self) -> None:
        """Walk both folders."""
        began = time.monotonic()
        own = self.workspace.is_relative_to(self.folder)
        sizes = size_of(self.folder), 0 if own else size_of(self.workspace)
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


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
