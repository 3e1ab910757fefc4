"""A login that an administrator shares: each scope has a copy, and a renewal is checked."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from adapters.agent import Launch

if TYPE_CHECKING:
    from adapters.cli_profile import Profile, Renewal

log = structlog.stdlib.get_logger("moot.adapters.login")

LARGEST = 1_000_000  # bytes; a login has some thousand
_WORDS = re.compile(r"""(?<![^\s"'=])[\w.~+/=:-]{16,}(?![^\s"',])""", re.ASCII)
_NO_TOKEN = re.compile(r"://|^\d{4}-\d\d-\d\d|^[0-9a-f]{8}-[0-9a-f]{4}-", re.IGNORECASE)
_DIGIT = re.compile(r"\d")


def share(profile: Profile, launch: Launch) -> None:
    """Bring an administrator's files into a HOME, before its program starts, as copies.

    What is not there is left out, and a copy that is newer stays. Raises OSError.
    """
    if launch.login is None:
        return
    take_back(profile, launch)
    launch.learn(secrets_of(profile, launch.login))
    for path in (*profile.setup.logins, *profile.setup.configs):
        secret = path in profile.setup.logins
        _copy(launch.login.absolute() / path, launch.home, path, secret=secret)


def give_back(profile: Profile, launch: Launch) -> None:
    """Take it back while the program runs, so that other scopes begin with what it renewed."""
    try:
        take_back(profile, launch, again=True)
    except OSError as error:  # the next start tries again, and says so
        log.info("login.kept", file=str(launch.login), reason=error.strerror)


def take_back(profile: Profile, launch: Launch, *, again: bool = False) -> None:
    """Renew the administrator's login by what the program made of its copy, if it is only that:
    the same account's, with no key more, and changed in what is ever renewed. Raises OSError.

    again: what is refused was, or will be, refused at a start, and is told then.
    """
    if launch.login is None:
        return
    home = launch.home
    for renewal in profile.setup.renewals:
        shared = (launch.login.absolute() / renewal.file).resolve()
        if (found := _newer(shared, home, renewal.file)) is None:
            continue
        if reason := _refusal(renewal, shared.read_bytes(), found):
            if not again:
                log.info("login.kept", file=shared.name, reason=reason)
            continue
        launch.learn(_tokens(found))
        _put(shared, found)
        with _folder(home, renewal.file) as (folder, name):
            _write(folder, name, found, shared.stat().st_mtime_ns)
        log.info("login.renewed", file=shared.name)


def secrets_of(profile: Profile, login: Path) -> list[str]:
    """What looks like a token in an administrator's login."""
    found: list[str] = []
    for path in profile.setup.logins:
        with suppress(OSError):
            found += _tokens((login / path).read_bytes())
    return found


def _tokens(data: bytes) -> list[str]:
    words = _WORDS.findall(data.decode("utf-8", "replace"))
    return [word for word in words if not _NO_TOKEN.search(word) and _DIGIT.search(word)]


def _newer(shared: Path, home: Path, path: str) -> bytes | None:
    """The copy's bytes, where it was changed after the file that it is a copy of."""
    with suppress(FileNotFoundError), _folder(home, path) as (folder, name):
        own = os.stat(name, dir_fd=folder, follow_symlinks=False)
        age = time.time_ns() - own.st_mtime_ns
        if not stat.S_ISREG(own.st_mode) or own.st_size > LARGEST or age < 0:
            return None
        if own.st_mtime_ns <= shared.stat().st_mtime_ns:
            return None
        found = _read(folder, name)
        return None if found == shared.read_bytes() else found
    return None


def _refusal(renewal: Renewal, old: bytes, new: bytes) -> str:
    """The reason why it is no renewal; "": it is one."""
    try:
        before, after = json.loads(old), json.loads(new)
    except (ValueError, RecursionError):
        return "it is not JSON"
    accounts = [_at(before, place) for place in renewal.account]
    if not any(accounts) or accounts != [_at(after, place) for place in renewal.account]:
        return "it is not the same account's"
    if _fixed(before, renewal.renews) != _fixed(after, renewal.renews):
        return "it has keys, or values, that no renewal changes"
    return ""


def _at(value: Any, place: tuple[str, ...]) -> Any:
    """The value at the end of these keys, which may lead into a JSON Web Token."""
    for key in place:
        if isinstance(value, str):
            value = _claims(value)
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _claims(token: str) -> Any:
    middle = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    except (ValueError, RecursionError):
        return None


def _fixed(value: Any, renews: Iterable[tuple[str, ...]]) -> Any:
    """The value with the kind of what is renewed in its place."""
    if not isinstance(value, Mapping):
        return value
    below: dict[str, list[tuple[str, ...]]] = {}
    for key, *rest in renews:
        below.setdefault(key, []).append(tuple(rest))
    return {
        key: type(item).__name__ if () in below.get(key, ()) else _fixed(item, below.get(key, ()))
        for key, item in value.items()
    }


def _copy(shared: Path, home: Path, path: str, *, secret: bool) -> None:
    """The administrator's file in the place of the program's, unless that one is newer. A link
    in its place goes: it would show the program's writes to somebody else."""
    if not shared.is_file():
        return
    at = shared.stat().st_mtime_ns
    with _folder(home, path, make=True) as (folder, name):
        with suppress(FileNotFoundError):
            own = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(own.st_mode) and own.st_mtime_ns >= at:
                return
        # Settings keep their own time: Moot writes into them at once.
        _write(folder, name, shared.read_bytes(), at if secret else None)


# ── Below a HOME, where a program may have put a link in any place ────────────────────────


@contextmanager
def _folder(home: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The opened folder of a file below HOME, and the file's name in it. No link is followed."""
    *folders, name = path.split("/")
    here = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(folder, 0o700, dir_fd=here)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            below = os.open(folder, flags, dir_fd=here)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def _read(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
        return file.read(LARGEST)


def _write(folder: int, name: str, data: bytes, at: int | None) -> None:
    """All of it or nothing, for its owner's eyes only. at: its time, in nanoseconds."""
    partial = f".{name}.moot"
    with suppress(FileNotFoundError):
        os.unlink(partial, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(partial, flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(data)
        file.flush()
        whose = os.fstat(folder)
        with suppress(PermissionError):  # its program may run under an account of its own
            os.fchown(file.fileno(), whose.st_uid, whose.st_gid)
        if at is not None:
            os.utime(file.fileno(), ns=(at, at))
    os.replace(partial, name, src_dir_fd=folder, dst_dir_fd=folder)


def _put(target: Path, data: bytes) -> None:
    """The administrator's file, which stays the administrator's."""
    owner = target.stat()
    handle, name = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            with suppress(PermissionError):
                os.fchown(out.fileno(), owner.st_uid, owner.st_gid)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
