"""Files of people's messages, kept on disk under names that can do no harm."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from bots.kit.events import FileRef
from bots.kit.http_pool import too_large
from contract.chat import Attachment
from contract.errors import PlatformError
from contract.language import phrase

log = structlog.stdlib.get_logger("moot.bots")

PATIENCE_S = 30.0
"""For all files of one message together: it waits for them, and a room's next one behind it."""

_LONGEST_NAME_BYTES = 200  # file systems take 255

# Separators, controls, and the signs that turn the reading direction (`gpj.exe`).
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:\u200e\u200f\u2028-\u202e\u2066-\u2069]")


_TYPES = mimetypes.MimeTypes(filenames=())  # without this machine's own tables
for _mime, _endings in {
    "image/webp": (".webp",),
    "text/markdown": (".md",),
    "audio/ogg": (".ogg", ".oga", ".opus"),
    "audio/mp4": (".m4a",),
    "audio/flac": (".flac",),
    "audio/amr": (".amr",),
    "audio/x-caf": (".caf",),
}.items():
    for _ending in _endings:
        _TYPES.add_type(_mime, _ending)


def mime_of(name: str) -> str:
    """A MIME type by the name's suffix: what is claimed of a file is not trusted."""
    guess, encoding = _TYPES.guess_type(name)
    return guess if guess and not encoding else "application/octet-stream"


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
    """The place of a file of a room's message: a folder a room, a folder a file."""
    return folder / safe_name(room) / safe_name(file_id) / safe_name(name)


R = TypeVar("R", bound=FileRef)


async def keep_all(
    files: Sequence[R], keep: Callable[[R], Awaitable[Attachment]], where: str
) -> list[Attachment]:
    """The files with their bytes on disk; one that can't be had in time is told without a path,
    and why.

    where: whose message it is, for the log.
    """
    return list(await asyncio.gather(*(_kept(file, keep, where) for file in files)))


async def _kept(file: R, keep: Callable[[R], Awaitable[Attachment]], where: str) -> Attachment:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await keep(file)
    except (PlatformError, OSError) as error:
        why = "no answer in time" if isinstance(error, TimeoutError) else error
        log.warning("file.not_kept", room=where, reason=why)
        missing = phrase("it could not be fetched")
        if isinstance(error, PlatformError) and error.say != str(error):
            missing = error.say
        return Attachment(file.name, file.mime, file.size_bytes, missing=missing)


async def keep_at(
    path: Path, file: FileRef, max_bytes: int, fetch: Callable[[], Awaitable[bytes]]
) -> Attachment:
    """The file with its bytes at `path`. Raises PlatformError, OSError.

    A file that is there in its size was delivered before, and is not fetched again.
    """
    if not _holds(path, file.size_bytes):
        if file.size_bytes > max_bytes:
            raise too_large(max_bytes)
        await asyncio.to_thread(write, path, await fetch())
    return attachment(path, file.name, file.mime)


def attachment(path: Path, name: str, mime: str) -> Attachment:
    """The file that lies there."""
    return Attachment(name, mime, path.stat().st_size, str(path))


def _holds(path: Path, size_bytes: int) -> bool:
    return path.is_file() and path.stat().st_size == size_bytes


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, readable by its owner only. Blocks its thread.

    It is on disk when this returns.
    """
    for folder in reversed(path.parents[:3]):  # of all files, of the room, of the file
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f".{path.name}.{threading.get_ident()}.part")  # two bots, one file
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class KeptFiles(Generic[R]):
    """The base of a platform's files: those beside people's messages, kept in a folder."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes

    async def keep(self, room: str, files: Sequence[R]) -> list[Attachment]:
        """The files with their bytes on disk; one that can't be had is told without a path."""
        return await keep_all(files, partial(self._keep, room), room)

    async def _keep(self, room: str, file: R) -> Attachment:
        path = path_of(self._folder, room, file.id, file.name)
        return await keep_at(path, file, self._max_bytes, partial(self._fetched, file))

    async def _fetched(self, file: R) -> bytes:
        """The file's bytes, at most `_max_bytes`. Raises PlatformError."""
        raise NotImplementedError
