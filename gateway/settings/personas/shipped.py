"""The personas that come with Moot, copied into a folder of the installation and kept up to date.

A copy that somebody edited or deleted is theirs. So is one of a file that was edited in a checkout
before it was copied: SHA256SUMS beside the files says what they are as they come.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from contract.errors import ConfigError
from gateway.settings.personas.files import SCHEMA
from gateway.settings.tables import SHIPPED_PERSONAS
from gateway.settings.whole_file import put

RECORD = ".shipped.json"  # name → SHA-256 of the copy that is Moot's to update; "": it is not
AGREED = "personas.json"  # in the data directory: see gateway/personas/following.py
SUMS = "SHA256SUMS"


def bring_shipped(folder: Path, source: Path = SHIPPED_PERSONAS) -> list[str]:
    """Copy what comes with Moot into `folder`, or update the copies; return what was written.

    A folder that had files before is its owner's: nothing is written. Raises ConfigError.
    """
    record = folder / RECORD
    try:
        if not record.exists() and folder.is_dir() and any(folder.iterdir()):
            return []
        folder.mkdir(parents=True, exist_ok=True)
        known = _read(record)
        before = dict(known)
        written = _bring(known, folder, source)
        if known != before or not record.exists():
            put(record, json.dumps(known, indent=2).encode() + b"\n", 0o644)
    except OSError as error:
        raise ConfigError(
            f"{folder}: the personas that come with Moot can't be copied there: {error.strerror}; "
            "let Moot's user write there"
        ) from None
    return written


def _bring(known: dict[str, str], folder: Path, source: Path) -> list[str]:
    """known: the record, which is brought up to date."""
    written, as_shipped = [], _sums(source)
    for path in sorted((*source.glob("*.md"), *source.glob(SCHEMA))):
        copy, data = folder / path.name, path.read_bytes()
        mark = hashlib.sha256(data).hexdigest()
        there = _mark(copy) if copy.is_file() else None
        if path.name in known and there not in (known[path.name], mark):
            continue  # edited or deleted
        if mark == known.get(path.name):
            continue
        if there != mark and (path.name in known or not copy.exists()):
            put(copy, data, 0o644)
            written.append(path.name)
        known[path.name] = mark if as_shipped.get(path.name) == mark else ""
    return written


def is_as_shipped(folder: Path, name: str) -> bool:
    """True if a persona's file is a copy that nobody edited. Raises OSError."""
    mark = _read(folder / RECORD).get(f"{name}.md")
    return bool(mark) and mark == _mark(folder / f"{name}.md")


def _mark(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _sums(source: Path) -> dict[str, str]:
    with suppress(FileNotFoundError):
        lines = (source / SUMS).read_text(encoding="utf-8").splitlines()
        return {name: mark for mark, name in (line.split() for line in lines)}
    return {}


def _read(record: Path) -> dict[str, str]:
    with suppress(FileNotFoundError, ValueError):
        return dict(json.loads(record.read_text(encoding="utf-8")))
    return {}
