"""The lock of a data directory: one Moot at a time, and no command that must not meet one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from contract.errors import MootError
from gateway.core.private_folders import make_data_folder, private

NAME = "moot.lock"
ADDRESS = "moot.address"


class InUse(MootError):
    """A Moot works with this data directory. pid: its process, where it is known."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(f"Moot runs with {folder} ({who}); stop it first")
        self.pid = pid


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Be the only one at work in a data directory. Raises InUse.

    The kernel lets go of the lock when the process ends, however it ends.
    """
    make_data_folder(folder)
    with open(folder / NAME, "a+", opener=private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            written = file.read(20).strip()
            raise InUse(folder, int(written) if written.isdecimal() else None) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        address = folder / ADDRESS
        address.unlink(missing_ok=True)  # of one that was killed
        try:
            yield
        finally:
            address.unlink(missing_ok=True)


def tell_address(folder: Path, url: str) -> None:
    """Say where the page of whoever holds the directory is."""
    with open(folder / ADDRESS, "w", opener=private) as file:
        file.write(f"{url}\n")


@contextmanager
def telling_address(folder: Path, url: str) -> Iterator[None]:
    """Say so within the block."""
    tell_address(folder, url)
    try:
        yield
    finally:
        (folder / ADDRESS).unlink(missing_ok=True)


def address_of(folder: Path) -> str | None:
    """Its address; None: it doesn't serve yet."""
    try:
        return (folder / ADDRESS).read_text().strip() or None
    except OSError:
        return None


ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (where it listens, and how it is reached)


def reached(url: str) -> str:
    """The address by which this machine reaches a page that listens on all of them."""
    at = urlsplit(url)
    host = ANY.get(at.hostname or "", at.hostname or "")
    return f"{at.scheme}://{f'[{host}]' if ':' in host else host}:{at.port}/"


def holder(folder: Path) -> int | None:
    """The process that holds it; 0: one that didn't say which; None: nobody. Changes nothing."""
    try:
        with (folder / NAME).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                written = file.read(20).strip()
                return int(written) if written.isdecimal() else 0
    except OSError:
        return None
    return None
