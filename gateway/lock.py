"""Who works with a data directory: one Moot at a time, and whoever must not meet one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contract import MootError

NAME = "moot.lock"


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
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / NAME).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            written = file.read(20).strip()
            raise InUse(folder, int(written) if written.isdecimal() else None) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
