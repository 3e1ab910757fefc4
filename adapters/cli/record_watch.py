"""Hears of changes in records' folders, where the kernel tells of them (Linux)."""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from errno import EMFILE, ENFILE, ENOSPC
from functools import cache
from pathlib import Path
from typing import Any

import structlog

log = structlog.stdlib.get_logger("moot.adapters.record_watch")

EACH_S, MOST_S = 0.002, 0.01  # of rest for each that is woken: programs may write all the time
READ_BYTES = 64 * 1024
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # inotify's have these values
# modified, moved here, created; a folder, and nothing else
_CHANGES = 0x2 | 0x80 | 0x100 | 0x01000000
_CHANGE = struct.Struct("iIII")  # watch, kind, cookie, length of the name that follows
_OVERFLOW = 0x4000
_LIMITS = (EMFILE, ENFILE, ENOSPC)


class RecordWatch:
    """Calls `wake` when something is written in a folder, until it is closed.

    Where the kernel has no word of it, or no place for one more watch, it is deaf: a record is
    looked at now and then as well.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._folder: Path | None = None
        self._number = -1

    def follow(self, folder: Path | None) -> None:
        """Watch this folder, from now on alone; None: there is none yet."""
        if folder is None or folder == self._folder:
            return
        self.close()
        loop = asyncio.get_running_loop()
        self._number = _watches_of(loop).add(folder, self._wake)
        self._folder = folder if self._number >= 0 else None

    def close(self) -> None:
        """Watch no longer."""
        if self._number >= 0:
            _all[asyncio.get_running_loop()].remove(self._number, self._wake)
        self._folder, self._number = None, -1


class _FolderWatches:
    """Those of an event loop, which share one of the few instances that the kernel has.

    It stays open as long as the loop: to close one takes the kernel 15 to 20 ms (Linux 6.18).
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = -1
        self._wakes: dict[int, list[Callable[[], None]]] = {}

    def add(self, folder: Path, wake: Callable[[], None]) -> int:
        """Its number; -1: there is no such folder yet, or no place."""
        libc = _libc()
        if libc and self._fd < 0 and (fd := libc.inotify_init1(_FLAGS)) >= 0:
            self._fd = fd
            self._loop.add_reader(fd, self._heard)
        number = -1
        if self._fd >= 0:
            number = libc.inotify_add_watch(self._fd, os.fsencode(folder), _CHANGES)
        if number >= 0:
            self._wakes.setdefault(number, []).append(wake)
        elif libc and (error := ctypes.get_errno()) in _LIMITS:
            _tell_once(os.strerror(error))
        return number

    def remove(self, number: int, wake: Callable[[], None]) -> None:
        self._wakes[number].remove(wake)
        if not self._wakes[number]:
            del self._wakes[number]
            _libc().inotify_rm_watch(self._fd, number)

    def _heard(self) -> None:
        woken = 0  # a watch that was closed is told of, too
        for number, kind in _changes(os.read(self._fd, READ_BYTES)):
            numbers = self._wakes if kind & _OVERFLOW else (number,)
            for wake in [wake for each in numbers for wake in self._wakes.get(each, ())]:
                woken += 1
                wake()
        if woken:
            rest_s = min(woken * EACH_S, MOST_S)
            self._loop.remove_reader(self._fd)
            self._loop.call_later(rest_s, self._loop.add_reader, self._fd, self._heard)

    def close(self) -> None:
        """Its loop is closed."""
        if self._fd >= 0:
            os.close(self._fd)


_all: dict[asyncio.AbstractEventLoop, _FolderWatches] = {}


def _watches_of(loop: asyncio.AbstractEventLoop) -> _FolderWatches:
    if loop not in _all:
        for closed in [other for other in _all if other.is_closed()]:
            _all.pop(closed).close()
        _all[loop] = _FolderWatches()
    return _all[loop]


def _changes(told: bytes) -> Iterator[tuple[int, int]]:
    """The watch and the kind of each."""
    at = 0
    while at < len(told):
        number, kind, _, name = _CHANGE.unpack_from(told, at)
        yield number, kind
        at += _CHANGE.size + name


@cache
def _tell_once(reason: str) -> None:
    log.warning("record.unwatched", reason=reason)


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if hasattr(libc, "inotify_init1") else None
