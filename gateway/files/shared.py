"""The files of messages: on this machine, and in a store that whoever leads next can reach.

A file's name in the store is its place below the folder of files. The folder has its own place on
each machine: a path of another one's is read by what stands behind that folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import structlog

from bots.kit.files import write
from contract.briefing import Briefing, TranscriptLine
from contract.chat import Attachment
from gateway.core.private_folders import FILES
from gateway.files.store import FileStore, FileStoreFailed

log = structlog.stdlib.get_logger("moot.files")

AGAIN_S = 30.0  # until what the store did not take is tried once more


class SharedFiles:
    """root: the folder on this machine. store: None: they are there alone."""

    def __init__(self, root: Path, store: FileStore | None) -> None:
        self._root = root.absolute()
        self._store = store
        self._behind: dict[str, Path] = {}  # what the store did not take yet, by name
        self._failed = asyncio.Event()

    def name(self, path: str) -> str | None:
        """The name of a file by its path on whichever machine; None: it is none of ours."""
        if (own := self._own_name(path)) or self._store is None:
            return own
        parts = Path(path).parts
        if FILES not in parts or Path(path).exists():  # as a program here named it
            return None
        return _joined(parts[len(parts) - parts[::-1].index(FILES) :])

    def _own_name(self, path: str) -> str | None:
        below = Path(path).is_relative_to(self._root)
        return _joined(Path(path).parts[len(self._root.parts) :]) if below else None

    def here(self, path: str) -> Path:
        """The place of a file on this machine. May touch the disk, as `name` does."""
        name = self.name(path)
        return Path(path) if name is None else self._root / PurePosixPath(name)

    async def keep(self, files: Iterable[Attachment]) -> None:
        """Put files of this machine into the store; what it doesn't take is tried again later."""
        if self._store is None:
            return
        named = {name: Path(f.path) for f in files if f.path and (name := self._own_name(f.path))}
        for name, path in named.items():
            await self._put(name, path)

    async def _put(self, name: str, path: Path) -> None:
        assert self._store is not None
        try:
            await self._store.put(name, await asyncio.to_thread(path.read_bytes))
        except FileNotFoundError:
            self._behind.pop(name, None)
        except (FileStoreFailed, OSError) as error:
            log.warning("file.not_shared", reason=str(error), again_in_s=AGAIN_S)
            self._behind[name] = path
            self._failed.set()
        else:
            self._behind.pop(name, None)

    async def catch_up(self) -> None:
        """Put what the store did not take, for ever."""
        while True:
            await self._failed.wait()
            self._failed.clear()
            await asyncio.sleep(AGAIN_S)
            for name, path in list(self._behind.items()):
                await self._put(name, path)

    async def placed(self, briefing: Briefing) -> Briefing:
        """The briefing, with its attachments on this machine."""
        if self._store is None or not any(line.attachments for line in briefing.transcript):
            return briefing
        lines = [await self._line(line) for line in briefing.transcript]
        return replace(briefing, transcript=tuple(lines))

    async def _line(self, line: TranscriptLine) -> TranscriptLine:
        if not line.attachments:
            return line
        return replace(line, attachments=tuple([await self._one(one) for one in line.attachments]))

    async def _one(self, file: Attachment) -> Attachment:
        if file.path is None:
            return file
        if (name := self.name(file.path)) is None:
            return file
        place = self._root / PurePosixPath(name)
        await self._fetch(name, place)
        return replace(file, path=str(place))

    async def fetch_folder(self, folder: str) -> None:
        """Have all files of a folder here."""
        if self._store is None:
            return
        try:
            names = await self._store.list(folder)
        except FileStoreFailed as error:
            log.warning("file.not_fetched", reason=str(error))
            return
        for name in names:
            if self._own_name(str(place := self._root / PurePosixPath(name))) == name:
                await self._fetch(name, place)

    async def _fetch(self, name: str, place: Path) -> None:
        if self._store is None or await asyncio.to_thread(place.exists):
            return
        try:
            if (data := await self._store.get(name)) is not None:
                await asyncio.to_thread(write, place, data)
        except (FileStoreFailed, OSError) as error:
            log.warning("file.not_fetched", reason=str(error))

    async def forget(self, paths: Iterable[str]) -> None:
        """Delete files from the store. Raises FileStoreFailed."""
        if self._store is not None:
            await self._store.delete(sorted(filter(None, map(self.name, paths))))


def _joined(parts: tuple[str, ...]) -> str | None:
    """At least a folder and a file."""
    return "/".join(parts) if len(parts) > 1 and ".." not in parts else None
