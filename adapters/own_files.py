"""Files in a folder that an agent's program may write to, read or deleted by Moot.

In the place of any of them it may have put a link, a FIFO, or something very large, and may do so
between two looks; and folders may lie in one another deeper than any path reaches.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def open_own(path: Path, folder: Path) -> BinaryIO:
    """A plain file that lies in the folder, wherever links inside it lead. Never waits for a
    writer. In a folder of another account's, a hard link to what that account doesn't own is none:
    it may be unable to read it, and not every kernel refuses to make such a link. Raises OSError.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(handle, "rb")
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        owner = folder.stat().st_uid
        if found.st_nlink > 1 and found.st_uid != owner != os.geteuid():
            raise OSError(errno.EPERM, "it is a link to another account's file", str(path))
        if not _lies_in(handle, folder):
            raise OSError(errno.EXDEV, "it leads out", str(path))
    except BaseException:
        file.close()
        raise
    return file


def _lies_in(handle: int, folder: Path) -> bool:
    try:
        place = _place_of(handle)
    except OSError:
        return True  # macOS: no /proc, and no sandbox
    return place.is_relative_to(real_place(folder))


def _place_of(handle: int) -> Path:
    return Path(os.readlink(f"/proc/self/fd/{handle}"))


def real_place(path: Path) -> Path:
    """Where it lies, whatever links lead there: as the kernel knows it, since to follow them one by
    one takes several times as long. What isn't there is where it would be."""
    try:
        handle = os.open(path, _ANY)
    except OSError:
        return path.resolve()
    try:
        return _place_of(handle)
    except OSError:  # no /proc
        return path.resolve()
    finally:
        os.close(handle)


def has_plain_journals(database: Path) -> bool:
    """False where SQLite, which opens what stands beside a database, might never come back."""
    beside = (database.with_name(f"{database.name}{end}") for end in ("-journal", "-shm", "-wal"))
    return all(one.is_file() for one in beside if os.path.lexists(one))


def states_below(folder: Path) -> Iterator[os.stat_result]:
    """Those of everything below a folder, however deep. No link is followed; what can't be looked
    at is left out."""
    above: list[tuple[tuple[int, int], list[str]]] = []  # folders on the way here, and what is left
    try:
        here = os.open(folder, _OPEN)
    except OSError:  # it is gone, or closed to us
        return
    try:
        left: list[str] = []
        yield from _states(here, left)
        while left or above:
            if not left:
                here = _moved(here, "..")
                known, left = above.pop()
                if _id_of(here) != known:  # it was moved meanwhile
                    return
                continue
            name, known = left.pop(), _id_of(here)
            try:
                here = _moved(here, name)
            except OSError:
                continue
            above.append((known, left))
            left = []
            yield from _states(here, left)
    except OSError:  # it is gone, or closed to us
        return
    finally:
        os.close(here)


_ANY = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC  # of whatever stands there
_PLACE = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _moved(here: int, name: str) -> int:
    """Another folder, opened; the one it was looked for in is closed then. Raises OSError."""
    try:
        there = os.open(name, _OPEN, dir_fd=here)
    except PermissionError:
        _unlock(here, name)
        there = os.open(name, _OPEN, dir_fd=here)
    os.close(here)
    return there


def _unlock(here: int, name: str) -> None:
    """Give the owner the rights to a folder that it took from itself, to hide what is in it."""
    found = os.open(name, _PLACE, dir_fd=here)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)  # of a link nothing is changed
    finally:
        os.close(found)


def _states(folder: int, folders: list[str]) -> Iterator[os.stat_result]:
    """Those of what is in an open folder; the names of its folders are added to the list."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(state.st_mode):
                folders.append(entry.name)
            yield state


def _id_of(folder: int) -> tuple[int, int]:
    state = os.fstat(folder)
    return state.st_dev, state.st_ino


def delete_tree(folder: Path) -> None:
    """Delete a folder and all in it, however deep, and whatever rights it gave itself; no link is
    followed. Raises OSError: what is left, and why."""
    for words in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        ran = subprocess.run(
            [*words, "--", str(folder.absolute())],
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["it failed"])[-1]
        raise OSError(errno.EIO, last, str(folder))
