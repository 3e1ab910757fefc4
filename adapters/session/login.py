"""A login and settings that an administrator made once, shared with the HOMEs of many scopes.

Conversations are not shared: only the files that a profile names.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import structlog

log = structlog.stdlib.get_logger("moot.adapters.login")


def share(login: Path, home: Path, logins: Iterable[str], configs: Iterable[str]) -> None:
    """Bring an administrator's files into a HOME, before its program starts.

    logins: linked, so that a login that is renewed in one HOME is new in all of them; a program
    that puts a new file in the link's place has its file moved to where the link led. configs:
    copied when the administrator's is newer: the program, and Moot, write into their own copy.
    All paths are relative to both folders; what is not there is left out. Raises OSError.
    """
    login = login.absolute()
    for path in logins:
        _link(login / path, home / path)
    for path in configs:
        _copy(login / path, home / path)


def _link(shared: Path, own: Path) -> None:
    if own.is_symlink():
        if own.readlink() == shared:
            return
        own.unlink()
    if own.is_file():
        if shared.is_file() and shared.stat().st_mtime_ns >= own.stat().st_mtime_ns:
            own.unlink()
        else:
            _put(own, shared)
            own.unlink()
            log.info("login.renewed", file=shared.name)
    if shared.is_file():
        own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.symlink_to(shared)


def _copy(shared: Path, own: Path) -> None:
    if not shared.is_file():
        return
    if own.exists() and own.stat().st_mtime_ns >= shared.stat().st_mtime_ns:
        return
    _put(shared, own)


def _put(source: Path, target: Path) -> None:
    """A copy for its owner's eyes only, all of it or nothing."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "wb") as out, source.open("rb") as file:
        shutil.copyfileobj(file, out)
    Path(name).replace(target)
