"""A backup's file: a tar.gz whose last member, the manifest, has every other one's SHA-256."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from contract.errors import ConfigError

MANIFEST = "manifest.json"
TOP = frozenset({"moot.toml", "moot.env", "personas", "data"})
_CHUNK = 1024 * 1024
_SPOOL = 16 * 1024 * 1024  # a file up to this size is copied in memory
_MOST_MANIFEST = 256 * 1024 * 1024


class ArchivedFile(BaseModel):
    """One file of it. size: bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    size: int
    sha256: str


class Manifest(BaseModel):
    """A backup's description. data_dir: where its data lay, which the database names. left_out:
    sentences about what was too large for it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: Literal[1] = 1
    moot: str
    schema_version: str
    database: Literal["sqlite", "postgresql"]
    made_at: str
    data_dir: str
    scopes: bool
    secrets: bool
    left_out: tuple[str, ...] = ()
    files: tuple[ArchivedFile, ...] = ()


class ArchiveWriter:
    """Adds files to an open archive. A file that changes meanwhile is in it as it was read."""

    def __init__(self, tar: tarfile.TarFile, folder: Path) -> None:
        """folder: where large files are copied to on their way, as there is room for the backup."""
        self._tar = tar
        self._folder = folder
        self.items: list[ArchivedFile] = []

    def add(self, name: str, path: Path, mode: int) -> None:
        """Add one file; of one that grows meanwhile only what it was. Raises OSError."""
        with path.open("rb") as source:
            self.add_open(name, source, mode)

    def add_open(self, name: str, source: BinaryIO, mode: int) -> None:
        """Add a file that is open, from where it stands. Raises OSError."""
        found = os.fstat(source.fileno())
        with self._copy(found.st_size) as copy:
            digest, size = _copied(source, copy, most=found.st_size)
            copy.seek(0)
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = size, mode, int(found.st_mtime)
            self._tar.addfile(info, copy)
        self.items.append(ArchivedFile(name=name, size=size, sha256=digest))

    def _copy(self, size: int) -> IO[bytes]:
        if size <= _SPOOL:
            return io.BytesIO()
        return tempfile.TemporaryFile(dir=self._folder)

    def finish(self, manifest: Manifest, left_out: Sequence[str] = ()) -> Manifest:
        """Add the manifest, with every file that was added; return it."""
        kept = {"files": tuple(self.items), "left_out": tuple(left_out)}
        told = manifest.model_copy(update=kept)
        data = told.model_dump_json(indent=1).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(data), 0o600
        self._tar.addfile(info, io.BytesIO(data))
        return told


@contextmanager
def writing(target: Path) -> Iterator[ArchiveWriter]:
    """An archive that takes the place of `target` once it is whole and was read again."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = target.with_name(f".{target.name}.partial")
    with suppress(FileNotFoundError):
        partial.unlink()
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
                yield ArchiveWriter(tar, target.parent)
            file.flush()
            os.fsync(file.fileno())
        read(partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read(archive: Path, into: Path | None = None) -> Manifest:
    """Check every file of it, and write them below an empty folder if there is one.

    Raises ConfigError: it is damaged, no backup, or has what a backup can't have. What was
    written until then is of no use.
    """
    try:
        with tarfile.open(archive, "r|gz") as tar:
            return _checked(tar, into)
    except FileNotFoundError:
        raise ConfigError(f"{archive}: there is no such file") from None
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise ConfigError(f"{archive}: it is damaged, or no backup: {error}") from error
    except _Wrong as wrong:
        raise ConfigError(f"{archive}: {wrong}; nothing was restored") from None
    except OSError as error:
        raise ConfigError(f"{archive}: {error.strerror or error}") from error


class _Wrong(Exception):
    """An archive has what it must not have, or the other way round."""


def _checked(tar: tarfile.TarFile, into: Path | None) -> Manifest:
    found: dict[str, ArchivedFile] = {}
    manifest: Manifest | None = None
    for member in tar:
        if manifest is not None:
            raise _Wrong("it goes on after its manifest")
        source = tar.extractfile(member) if member.isreg() else None
        if source is None:
            raise _Wrong(f"{member.name!r} is no plain file")
        if member.name == MANIFEST:
            manifest = _manifest(source.read(_MOST_MANIFEST))
            continue
        if member.name in found:
            raise _Wrong(f"{member.name!r} is in it twice")
        with _place(member, into) as copy:
            digest, size = _copied(source, copy)
        found[member.name] = ArchivedFile(name=member.name, size=size, sha256=digest)
    if manifest is None:
        raise _Wrong("it has no manifest: it is no backup, or its end is missing")
    told = {item.name: item for item in manifest.files}
    for name in told.keys() ^ found.keys():
        raise _Wrong(f"{name!r} is missing, or not in the manifest")
    for name, item in told.items():
        if item != found[name]:
            raise _Wrong(f"{name!r} is not what it was: its SHA-256 differs")
    return manifest


def _manifest(data: bytes) -> Manifest:
    try:
        return Manifest.model_validate_json(data)
    except ValidationError:
        raise _Wrong("its manifest is not one that this Moot knows") from None


@contextmanager
def _place(member: tarfile.TarInfo, into: Path | None) -> Iterator[IO[bytes] | None]:
    """The path of a member, below `into` and nowhere else."""
    parts = PurePosixPath(member.name).parts
    plain = "/".join(parts) == member.name and "\0" not in member.name
    if not plain or not parts or parts[0] not in TOP or ".." in parts:
        raise _Wrong(f"{member.name!r} is no path of a backup")
    if into is None:
        yield None
        return
    path = into.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = 0o600 | (member.mode & 0o100)  # a program in a working directory stays one
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        yield file


def _copied(source: IO[bytes], copy: IO[bytes] | None, most: int | None = None) -> tuple[str, int]:
    """Read all of it, or the first `most` bytes; return its SHA-256 and its size in bytes.

    What is zeros alone takes no room on disk in the copy: it is a hole there.
    """
    digest, size = hashlib.sha256(), 0
    holes = copy is not None and not isinstance(copy, io.BytesIO)
    while chunk := source.read(_CHUNK if most is None else min(_CHUNK, most - size)):
        digest.update(chunk)
        size += len(chunk)
        if copy is None:
            continue
        if holes and chunk.count(0) == len(chunk):
            copy.seek(size)
        else:
            copy.write(chunk)
    if copy is not None and holes:
        copy.truncate(size)
    return digest.hexdigest(), size


def discard(folder: Path) -> None:
    """Take away what a restore that failed had written."""
    shutil.rmtree(folder, ignore_errors=True)
