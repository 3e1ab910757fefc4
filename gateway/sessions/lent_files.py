"""The folder in which a session's program finds the files of messages, as it sees it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import structlog

from contract.values import dataclass
from gateway.core.private_folders import LENT_FILE, LENT_FOLDER

log = structlog.stdlib.get_logger("moot.lending")


class LentFiles(Protocol):
    """Puts files where a session's program opens them. Both may touch the disk: off the loop."""

    def copied(self, source: Path) -> str | None:
        """The path at which the program finds a file of this machine; None: it can't be had."""

    def written(self, name: str, content: bytes) -> str | None:
        """The same for a file that is made of this."""


@dataclass(frozen=True, slots=True)
class LentFolder:
    """A folder on this machine."""

    folder: Path

    def copied(self, source: Path) -> str | None:
        target = self.folder / place_of(source)
        return _made(target, lambda half: shutil.copyfile(source, half))

    def written(self, name: str, content: bytes) -> str | None:
        return _made(self.folder / name, lambda half: half.write_bytes(content))


def place_of(source: Path) -> str:
    """Where the copy of a file lies below the folder."""
    return f"{hashlib.sha256(bytes(source)).hexdigest()[:16]}/{source.name}"


def _made(target: Path, write: Callable[[Path], object]) -> str | None:
    try:
        if not target.exists():
            lend(target, write)
    except OSError as error:
        log.warning("attachment.not_lent", reason=str(error))
        return None
    return str(target)


def lend(target: Path, write: Callable[[Path], object]) -> None:
    """Make a file that the session's account can read, whole or not at all. Raises OSError."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.parent.chmod(LENT_FOLDER)
    half = target.with_name(f"{target.name}.part")
    write(half)
    half.chmod(LENT_FILE)
    half.replace(target)
