"""Causes behind a program's failure: a full disk, or a version that is too old."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from contract.errors import AgentError
from contract.language import Phrase, later

if TYPE_CHECKING:
    from adapters.cli_profile import Profile

SPARE_BYTES = 64 * 1024  # with less left not even a session's record can be written
_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full(path: Path) -> bool:
    """True when nothing more can be written where this path is, or would be."""
    there = next((p for p in (path, *path.parents) if p.exists()), Path("/"))
    try:
        return shutil.disk_usage(there).free < SPARE_BYTES
    except OSError:  # it went away meanwhile: that is no full disk
        return False


def when_full(path: Path) -> Phrase:
    """The sentence for people."""
    return later(
        "The disk that holds {path} is full: free some space there, then ask again.", path=path
    )


def not_started(profile: Profile, error: OSError) -> Phrase:
    """The sentence where the system refused to start the program."""
    return later(
        "{title} could not be started: {reason}.", title=profile.title, reason=error.strerror
    )


def not_logged_in(profile: Profile) -> Phrase:
    """The sentence where the program wants a login."""
    return later(
        "{title} is not logged in. {remedy}",
        title=profile.title,
        remedy=Phrase(profile.setup.login),
    )


def exit_of(code: int | None) -> Phrase:
    """A program's exit code as it stands in a sentence."""
    return later("no code") if code is None else later("code {code}", code=code)


def with_its_words(what: Phrase, shown: str) -> Phrase:
    """A sentence of what happened, and what the program said last. what: without its full stop."""
    if not shown:
        return later("{what}.", what=what)
    stop = "" if shown.endswith((".", "…", "!", "?")) else "."
    return later("{what}: {shown}", what=what, shown=f"{shown}{stop}")


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
    error: AgentError, profile: Profile, home: Path, aged: Callable[[], Awaitable[Phrase | None]]
) -> AgentError:
    """The error, or what is behind it where the machine shows that. aged: asks `age_of`."""
    if error.kind in _MAYBE_DISK and is_full(home):
        say = later("{title} failed. {why}", title=profile.title, why=when_full(home))
        return AgentError("disk", str(error), say=say, partial=error.partial)
    if error.kind == "startup" and (age := await aged()):
        say = later("{failure} {age}", failure=error.phrase, age=age)
        return AgentError("startup", f"{error}; {age.in_english}", say=say, partial=error.partial)
    return error
