"""Files that are there whole or not at all, at any moment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def prepared(path: Path, data: bytes, mode: int) -> Path:
    """A file beside `path`, on disk, that may take its place. Raises OSError and leaves none."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def put(path: Path, data: bytes, mode: int) -> None:
    """Write a file in the place of what is there. Raises OSError."""
    beside = prepared(path, data, mode)
    try:
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
