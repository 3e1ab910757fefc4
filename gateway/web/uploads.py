"""Files that people attach on the page: kept under an id that cannot be guessed."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

from bots.kit.files import mime_of
from contract.chat import Attachment
from contract.looks import normalized
from gateway.core.private_folders import make_private, private

ID = re.compile(r"[0-9a-f]{32}")
SAFE_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Shown in the page; SVG runs scripts and is not among them."""

_NAME_BYTES = 180  # ext4 and APFS take 255 in a name
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069/\\:*?"<>|]+')


class TooLarge(Exception):
    """A file is larger than the cap."""


class Uploads:
    """Uploaded files in a directory, `<root>/<id>/<name>`."""

    def __init__(
        self,
        root: Path,
        *,
        most_bytes: int,
        fetch: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """fetch: brings a folder of another machine's here."""
        self.root = root
        self.most_bytes = most_bytes
        self._fetch = fetch

    async def save(self, name: str, chunks: AsyncIterator[bytes], by: str) -> Attachment:
        """Write somebody's file. Raises TooLarge. Nothing is left of one that was not finished."""
        drawn = secrets.token_hex(8)
        path = self.root / (drawn + _mark(drawn, by)) / safe_name(name)
        await asyncio.to_thread(make_private, path.parent, below=self.root)
        try:
            size = await self._write(path, chunks)
        except BaseException:  # cancelled or refused: take the half-written file away
            await asyncio.to_thread(shutil.rmtree, path.parent, ignore_errors=True)
            raise
        return Attachment(path.name, mime_of(path.name), size, str(path))

    async def _write(self, path: Path, chunks: AsyncIterator[bytes]) -> int:
        size = 0
        out = await asyncio.to_thread(open, path, "xb", opener=private)
        with out:
            async for chunk in chunks:
                size += len(chunk)
                if size > self.most_bytes:
                    raise TooLarge
                await asyncio.to_thread(out.write, chunk)
        return size

    async def found(self, file_id: str) -> Attachment | None:
        """The file with this id, on this machine or brought here."""
        here = await asyncio.to_thread(self.find, file_id)
        if here is not None or self._fetch is None or not ID.fullmatch(file_id):
            return here
        await self._fetch(file_id)
        return await asyncio.to_thread(self.find, file_id)

    def find(self, file_id: str) -> Attachment | None:
        """The file with this id."""
        if not ID.fullmatch(file_id):
            return None
        path = next(iter(sorted((self.root / file_id).glob("*"))), None)
        if path is None or path.is_symlink() or not path.is_file():
            return None  # not of our making
        return Attachment(path.name, mime_of(path.name), path.stat().st_size, str(path))

    def is_by(self, file_id: str, person_id: str) -> bool:
        """True if that is who uploaded a file."""
        return file_id[16:] == _mark(file_id[:16], person_id)

    def drop(self, kept: Iterable[Attachment]) -> None:
        """Take files away again."""
        for attachment in kept:
            if attachment.path is not None and self.id_of(attachment):
                shutil.rmtree(Path(attachment.path).parent, ignore_errors=True)

    def id_of(self, attachment: Attachment) -> str | None:
        """The id of a file that is kept here; None for one kept elsewhere."""
        if attachment.path is None:
            return None
        folder = Path(attachment.path).parent
        ours = folder.parent.name == self.root.name  # as another machine's folder is called, too
        return folder.name if ours and ID.fullmatch(folder.name) else None


def _mark(drawn: str, by: str) -> str:
    """The half of an id that says whose file it is, so that nothing else need be kept."""
    return hashlib.sha256(f"{drawn} {by}".encode()).hexdigest()[:16]


def safe_name(name: str) -> str:
    """A file name without path, controls, direction marks or a leading dot."""
    last = re.split(r"[/\\]", normalized("NFC", name))[-1]
    clean = _UNSAFE.sub("_", " ".join(last.split())).strip(". ")
    stem, dot, suffix = clean.rpartition(".")
    suffix = suffix if dot and len(suffix) <= 16 else ""
    room = _NAME_BYTES - len(suffix.encode()) - 1
    stem = (stem if suffix else clean).encode()[:room].decode(errors="ignore").rstrip()
    return (f"{stem}.{suffix}" if suffix else stem) or "file"
