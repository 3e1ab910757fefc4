"""Causes behind a program's failure: a full disk, or a version that is too old."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters.cli_profile import Profile
from contract.errors import AgentError

SPARE_BYTES = 64 * 1024  # with less left not even a session's record can be written
_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full(path: Path) -> bool:
    """True when nothing more can be written where this path is, or would be."""
    there = next((p for p in (path, *path.parents) if p.exists()), Path("/"))
    try:
        return shutil.disk_usage(there).free < SPARE_BYTES
    except OSError:  # it went away meanwhile: that is no full disk
        return False


def when_full(path: Path) -> str:
    """The sentence for people."""
    return f"The disk that holds {path} is full: free some space there, then ask again."


@contextmanager
def told_when_full(path: Path) -> Iterator[None]:
    """Let a write below `path` that finds no space raise AgentError("disk")."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise AgentError("disk", f"{path}: {error.strerror}", say=when_full(path)) from error


_MAYBE_DISK = ("startup", "crash", "timeout", "api")


async def explain(
    error: AgentError, profile: Profile, home: Path, aged: Callable[[], Awaitable[str]]
) -> AgentError:
    """The error, or what is behind it where the machine shows that. aged: asks `age_of`."""
    if error.kind in _MAYBE_DISK and is_full(home):
        say = f"{profile.title} failed. {when_full(home)}"
        return AgentError("disk", str(error), say=say, partial=error.partial)
    if error.kind == "startup" and (age := await aged()):
        say = f"{error.say.rstrip('.')}. {age}"
        return AgentError("startup", f"{error}; {age}", say=say, partial=error.partial)
    return error
