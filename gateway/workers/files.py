"""Files between the gateway and a worker: those of people's messages, and those that agents hand
over. They travel in pieces that the other end asks for, and lie nowhere in between.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from pathlib import Path

import structlog

from contract.errors import MachineLost
from contract.values import dataclass
from gateway.core.redaction import Redactor
from gateway.mcp.file_desk import NotTaken, SessionFiles, refuse_secrets
from gateway.sessions.lent_files import lend, place_of
from gateway.sessions.sessions import LiveSession
from gateway.workers.held import call
from gateway.workers.link import Link
from gateway.workers.messages import (
    FileGiven,
    FileHanded,
    FilePiece,
    FileWanted,
    OfSession,
    WantedOfAgent,
)

log = structlog.stdlib.get_logger("moot.workers")

PIECE_BYTES = 256 << 10  # larger ones hold up the loop while they are packed
MOST_HANDED = 2  # contents that a worker keeps of a session while they are fetched
HAND_S = 18.0  # the agent is told after 20 s that its call failed
AWAY = "your machine has lost its connection: try it again"


# ── What people send: the gateway's end ─────────────────────────────────────────────────


@dataclass(slots=True)
class FilesThere:
    """The `LentFiles` of a session on a worker. folder: as its program sees it. A file is only
    noted here; it goes with the next prompt, if the worker doesn't have it."""

    folder: str
    _named: dict[str, Path | bytes] = field(default_factory=dict)

    def copied(self, source: Path) -> str | None:
        """See LentFiles."""
        return self._note(place_of(source), source) if source.is_file() else None

    def written(self, name: str, content: bytes) -> str | None:
        """See LentFiles."""
        return self._note(name, content)

    def _note(self, name: str, source: Path | bytes) -> str:
        self._named[name] = source
        return f"{self.folder}/{name}"

    def take(self) -> Mapping[str, Path | bytes]:
        """Those that were noted since the last time, by their places below the folder."""
        named, self._named = self._named, {}
        return named


@dataclass(slots=True)
class GivenFiles:
    """The files of one turn, by the hash of their contents."""

    _sources: dict[str, Path | bytes] = field(default_factory=dict)

    def give(self, named: Mapping[str, Path | bytes]) -> list[FileGiven]:
        """Have these from now on; returns them as the worker is told, without those that are gone.
        Reads them: off the loop."""
        self._sources, given = {}, []
        for name, source in named.items():
            try:
                content_hash, size = _hashed(source)
            except OSError as error:
                log.warning("attachment.not_lent", reason=str(error))
                continue
            self._sources[content_hash] = source
            given.append(FileGiven(name=name, content_hash=content_hash, bytes=size))
        return given

    def piece(self, wanted: FileWanted) -> FilePiece:
        """A piece of one; an empty one where there is none. Reads it: off the loop."""
        source = self._sources.get(wanted.content_hash)
        if isinstance(source, Path):
            try:
                with open(source, "rb") as file:
                    file.seek(wanted.offset)
                    return _piece(file.read(PIECE_BYTES))
            except OSError as error:
                log.warning("attachment.not_lent", reason=str(error))
                source = None
        return _piece((source or b"")[wanted.offset : wanted.offset + PIECE_BYTES])


def _hashed(source: Path | bytes) -> tuple[str, int]:
    """Raises OSError."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest(), len(source)
    with open(source, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()


def _piece(content: bytes) -> FilePiece:
    return FilePiece(content=b64encode(content).decode())


# ── What people send: the worker's end ──────────────────────────────────────────────────


async def fetch(
    link: Link, worker: str, lease: OfSession, given: tuple[FileGiven, ...], folder: Path
) -> None:
    """Have the files of a turn in a folder. One that can't be had is logged, and not there."""
    for one in given:
        target = folder / one.name
        try:
            if not await asyncio.to_thread(_is_there, target, folder, one):
                content = await _fetched(link, worker, lease, one)
                await asyncio.to_thread(lend, target, _writing(content))
        except (OSError, ValueError) as error:
            log.warning("attachment.not_lent", reason=str(error))


def _is_there(target: Path, folder: Path, one: FileGiven) -> bool:
    """Raises ValueError: it would lie elsewhere."""
    if not target.resolve().is_relative_to(folder.resolve()):
        raise ValueError("a file outside of its folder")
    return target.is_file() and _hashed(target) == (one.content_hash, one.bytes)


def _writing(content: bytes) -> Callable[[Path], object]:
    return lambda half: half.write_bytes(content)


async def _fetched(link: Link, worker: str, lease: OfSession, one: FileGiven) -> bytes:
    """Raises ValueError: it is another one by now."""
    content = bytearray()
    while len(content) < one.bytes:
        wanted = FileWanted(
            session=lease.session,
            epoch=lease.epoch,
            content_hash=one.content_hash,
            offset=len(content),
        )
        told = await call(link, f"moot.from.{worker}.file", wanted.encoded())
        piece = b64decode(FilePiece.model_validate_json(told).content)
        if not piece:
            break
        content += piece
    if _hashed(bytes(content)) != (one.content_hash, one.bytes):
        raise ValueError("a file changed on its way")
    return bytes(content)


# ── What agents hand over: the gateway's end ────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class FilesOfWorker:
    """The `HandedFiles` of a session on a worker. wants: asks it for a piece; raises
    MachineLost."""

    lease: OfSession
    wants: Callable[[WantedOfAgent], Awaitable[bytes]]

    async def read(self, path: str, most_bytes: int) -> tuple[str, bytes]:
        """See HandedFiles."""
        try:
            async with asyncio.timeout(HAND_S):
                return await self._read(path, most_bytes)
        except (TimeoutError, MachineLost):
            raise NotTaken(AWAY) from None

    async def _read(self, path: str, most_bytes: int) -> tuple[str, bytes]:
        """Raises NotTaken, MachineLost."""
        name, content, number = "", bytearray(), secrets.token_hex(8)
        while True:
            wanted = WantedOfAgent(
                session=self.lease.session,
                epoch=self.lease.epoch,
                number=number,
                path=path,
                most_bytes=most_bytes,
                offset=len(content),
            )
            told = FileHanded.model_validate_json(await self.wants(wanted))
            if told.refused:
                raise NotTaken(told.refused)
            piece = b64decode(told.content)
            name = told.name
            content += piece
            if len(content) > most_bytes or (not piece and len(content) < told.bytes):
                raise NotTaken(AWAY)
            if len(content) >= told.bytes:
                return name, bytes(content)


# ── What agents hand over: the worker's end ─────────────────────────────────────────────


@dataclass(slots=True)
class HandedContents:
    """The contents of files that are being handed over, as they were when that began."""

    _held: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    async def piece(self, live: LiveSession, wanted: WantedOfAgent, clean: Redactor) -> FileHanded:
        """A piece of one, or why it is not taken."""
        try:
            if wanted.number not in self._held:
                files = SessionFiles(live.workspace, live.folder / "home")
                name, content = await files.read(wanted.path, wanted.most_bytes)
                await refuse_secrets(content, clean)
                self._keep(wanted.number, name, content)
        except NotTaken as refusal:
            return FileHanded(refused=str(refusal))
        name, content = self._held[wanted.number]
        end = wanted.offset + PIECE_BYTES
        if end >= len(content):
            del self._held[wanted.number]
        piece = b64encode(content[wanted.offset : end]).decode()
        return FileHanded(name=name, bytes=len(content), content=piece)

    def _keep(self, number: str, name: str, content: bytes) -> None:
        self._held[number] = (name, content)
        while len(self._held) > MOST_HANDED:
            del self._held[next(iter(self._held))]
