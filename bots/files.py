"""Files of people's messages, kept on disk under names that can do no harm."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

_LONGEST_NAME_BYTES = 200  # file systems take 255

# Separators, controls, and the signs that turn the reading direction (`gpj.exe`).
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def safe_name(name: str) -> str:
    """The name as a single, visible component of a path, its ending kept."""
    base = _UNSAFE.sub("_", name).strip(". ")
    stem, dot, ending = base.rpartition(".")
    if not dot or len(ending) > 10:
        stem, ending = base, ""
    room = _LONGEST_NAME_BYTES - len(ending.encode())
    stem = stem.encode()[:room].decode(errors="ignore")
    return (stem or "file") + (f".{ending}" if ending else "")


def path_of(folder: Path, room: str, file_id: str, name: str) -> Path:
    """Where a file of a room's message is kept: a folder a room, a folder a file."""
    return folder / safe_name(room) / safe_name(file_id) / safe_name(name)


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; it is on disk when this returns. Blocks its thread."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f".{path.name}.{threading.get_ident()}.part")  # two bots, one file
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
