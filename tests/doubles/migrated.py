"""Databases that are migrated already: one is made a process, the others are copies of it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from store.database import Store

_MADE: list[Path] = []


async def migrated(path: Path) -> str:
    """The address of a SQLite database at `path`, which is made if it isn't there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(await _first(), path)
    return f"sqlite:///{path}"


async def _first() -> Path:
    if not _MADE:
        folder = Path(tempfile.mkdtemp(prefix="moot-db-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        async with Store.open(f"sqlite:///{folder}/moot.db"):
            pass
        _MADE.append(folder / "moot.db")
    return _MADE[0]
