"""What a program knows of a conversation, as a small packed folder for another machine."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import structlog

from adapters.own_files import open_own

log = structlog.stdlib.get_logger("moot.sessions")

MOST_BYTES = 4 << 20  # packed: it travels in one message with the answer
MOST_UNPACKED = 64 << 20


class _TooLarge(Exception):
    """It is more than may be kept."""


class _Packed(io.BytesIO):
    """Takes no more than may be kept."""

    def write(self, data: bytes) -> int:  # type: ignore[override]  # gzip gives it bytes
        if self.tell() + len(data) > MOST_BYTES:
            raise _TooLarge
        return super().write(data)


def pack(home: Path, keeps: Sequence[str], session_id: str | None) -> bytes:
    """The files of a HOME that a program's globs name, up to their last whole lines: it may be at
    work. b"": there are none, or it is too much. Raises OSError."""
    if session_id is None:
        return b""
    packed = _Packed()
    try:
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
            for name, data in _kept(home, keeps, session_id):
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(data), 0o600
                archive.addfile(member, io.BytesIO(data))
            empty = not archive.offset
    except _TooLarge:
        log.warning("home.too_large", most_bytes=MOST_BYTES)
        return b""
    return b"" if empty else packed.getvalue()


def _kept(home: Path, keeps: Sequence[str], session_id: str) -> Iterator[tuple[str, bytes]]:
    """Name and contents of each file. Raises _TooLarge."""
    globs = [glob.replace("{session_id}", session_id) for glob in keeps]
    left = MOST_UNPACKED
    for path in sorted({path for glob in globs for path in home.glob(glob)}):
        if not _is_own(path, home):
            continue
        try:
            with open_own(path, home) as file:
                left -= os.fstat(file.fileno()).st_size
                if left < 0:
                    raise _TooLarge
                data = file.read(MOST_UNPACKED)
        except OSError:  # it is gone, or something else by now
            continue
        if whole := data[: data.rfind(b"\n") + 1]:
            yield str(path.relative_to(home)), whole


def _is_own(path: Path, home: Path) -> bool:
    """True for a file that lies where it says: an agent may have made links of anything."""
    try:
        plain = path.is_file() and not path.is_symlink()
        return plain and path.resolve().is_relative_to(home.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


def unpack(data: bytes, home: Path, keeps: Sequence[str], *, newest: bool = False) -> None:
    """Put those into a HOME that the program's globs name, where there is no longer one: records
    only grow. newest: in any case, for whoever was cut off there went on elsewhere. Raises OSError,
    tarfile.TarError, ValueError."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        left = MOST_UNPACKED
        for member in archive:
            left -= member.size
            if left < 0:
                raise ValueError("more than a conversation takes")
            if member.isfile() and _is_kept(member.name, keeps):
                there = home / member.name
                if newest or not there.is_file() or there.stat().st_size < member.size:
                    archive.extract(member, home, filter="data")


def _is_kept(name: str, keeps: Sequence[str]) -> bool:
    """True for a file of the program's record: another machine has no say in the rest of a HOME."""
    path = PurePosixPath(name)
    globs = (PurePosixPath(glob.replace("{session_id}", "*")) for glob in keeps)
    return ".." not in path.parts and any(
        len(path.parts) == len(glob.parts) and path.match(str(glob)) for glob in globs
    )
