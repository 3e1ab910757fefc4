"""What a program knows of a conversation, as a small packed folder for another machine."""

from __future__ import annotations

import io
import tarfile
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import structlog

log = structlog.stdlib.get_logger("moot.sessions")

MOST_BYTES = 4 << 20  # packed: it travels in one message with the answer
MOST_UNPACKED = 64 << 20


def pack(home: Path, keeps: Sequence[str], session_id: str | None) -> str:
    """The files of a HOME that a program's globs name, in Base64; "": none, or too much."""
    if session_id is None:
        return ""
    globs = [glob.replace("{session_id}", session_id) for glob in keeps]
    found = sorted({path for glob in globs for path in home.glob(glob) if _is_own(path, home)})
    if not found:
        return ""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for path in found:
            archive.add(path, str(path.relative_to(home)), recursive=False)
    if packed.tell() > MOST_BYTES:
        log.warning("home.too_large", bytes=packed.tell())
        return ""
    return b64encode(packed.getvalue()).decode()


def _is_own(path: Path, home: Path) -> bool:
    """True for a file that lies where it says: an agent may have made links of anything."""
    inside = path.resolve().is_relative_to(home.resolve())
    return inside and path.is_file() and not path.is_symlink()


def unpack(data: str, home: Path, keeps: Sequence[str]) -> None:
    """Put those into a HOME that the program's globs name, where there is no longer one: records
    only grow. Raises OSError, tarfile.TarError, ValueError."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tarfile.open(fileobj=io.BytesIO(b64decode(data)), mode="r:gz") as archive:
        left = MOST_UNPACKED
        for member in archive:
            left -= member.size
            if left < 0:
                raise ValueError("more than a conversation takes")
            if member.isfile() and _is_kept(member.name, keeps):
                there = home / member.name
                if not there.is_file() or there.stat().st_size < member.size:
                    archive.extract(member, home, filter="data")


def _is_kept(name: str, keeps: Sequence[str]) -> bool:
    """True for a file of the program's record: another worker has no say in the rest of a HOME."""
    path = PurePosixPath(name)
    globs = (PurePosixPath(glob.replace("{session_id}", "*")) for glob in keeps)
    return ".." not in path.parts and any(
        len(path.parts) == len(glob.parts) and path.match(str(glob)) for glob in globs
    )
