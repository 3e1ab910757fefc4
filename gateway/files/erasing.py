"""Deletes files of messages from this machine's folder of them. The functions touch the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path


def delete_files(root: Path, paths: Iterable[Path]) -> None:
    """Delete these, and the folders below the root that are empty then. Raises OSError."""
    top = root.resolve()
    for path in paths:
        path.unlink(missing_ok=True)
        for parent in path.resolve().parents:
            if parent == top or not parent.is_relative_to(top) or any(parent.iterdir()):
                break
            parent.rmdir()


def files_below(root: Path, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Those whose names, as `SharedFiles` has them, are wanted."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if wanted(path.relative_to(root).as_posix()):
                yield path
