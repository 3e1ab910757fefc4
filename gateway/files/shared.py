"""The files of messages: on this machine, and in a store that whoever leads next can reach.

A file's name in the store is its place below the folder of files. The folder has its own place on
each machine: a path of another one's is read by what stands behind that folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

import structlog

from bots.kit.files import write
from contract.briefing import Briefing, TranscriptLine
from contract.chat import Attachment
from gateway.core.private_folders import FILES
from gateway.files.store import FileStore, FileStoreFailed
from gateway.files.waiting import waiting_beside

log = structlog.stdlib.get_logger("moot.files")

KEEP_S = 5.0  # a message waits so long for the store to take one of its files
FETCH_S = 15.0  # an agent or the page, for one of them
AGAIN_S = 30.0  # until what the store did not take is tried once more


class SharedFiles:
    """root: the folder on this machine. store: None: they are there alone.

    What the store does not take at once is noted on disk, and put there by `catch_up`: also by that
    of the next start.
    """

    def __init__(self, root: Path, store: FileStore | None) -> None:
        self._root = root.absolute()
        self.store = store
        self._waiting = waiting_beside(self._root)
        self._behind: set[str] = set()  # names of these
        self._failed = asyncio.Event()

    def name(self, path: str) -> str | None:
        """The name of a file by its path on whichever machine; None: it is none of ours."""
        if (own := self._own_name(path)) or self.store is None or Path(path).exists():
            return own  # without a name it is another machine's, or one that a program here named
        return self.name_anywhere(path)

    def name_anywhere(self, path: str) -> str | None:
        """The same, also where there is no store: other machines have files of their own."""
        if own := self._own_name(path):
            return own
        parts = Path(path).parts
        if FILES not in parts:
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
        """Put files of this machine into the store. Those that it doesn't take in time are noted
        when this returns, and put later; while some wait, others wait behind them."""
        if self.store is None:
            return
        named = dict.fromkeys(n for file in files if file.path and (n := self._own_name(file.path)))
        for name in named:
            if self._behind or not await self._put(name, KEEP_S):
                await self._note(name)

    async def _put(self, name: str, within_s: float | None = None) -> bool:
        """True: it is there, or there is no such file any more."""
        assert self.store is not None
        try:
            async with asyncio.timeout(within_s):
                data = await asyncio.to_thread((self._root / PurePosixPath(name)).read_bytes)
                await self.store.put(name, data)
        except FileNotFoundError:
            return True
        except (FileStoreFailed, OSError, TimeoutError) as error:
            log.warning("file.not_shared", reason=_reason(error), again_in_s=AGAIN_S)
            return False
        return True

    async def _note(self, name: str) -> None:
        self._behind.add(name)
        self._failed.set()
        try:
            await asyncio.to_thread(self._waiting.add, name)
        except OSError as error:  # it is tried as long as this process lives
            log.error("file.not_noted", reason=_reason(error))

    async def catch_up(self) -> None:
        """Put what the store did not take, in this process or one before, for ever."""
        if self.store is None:
            return
        with suppress(OSError):
            self._behind |= await asyncio.to_thread(self._waiting.names)
        while True:
            while self._behind and await self._put(name := min(self._behind)):
                self._behind.discard(name)
                with suppress(OSError):  # it is put again at the next start
                    await asyncio.to_thread(self._waiting.done, name)
            if not self._behind:
                await self._failed.wait()
            self._failed.clear()
            await asyncio.sleep(AGAIN_S)

    async def placed(self, briefing: Briefing) -> Briefing:
        """The briefing, with its attachments on this machine."""
        if self.store is None or not any(line.attachments for line in briefing.transcript):
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
        if self.store is None:
            return
        try:
            async with asyncio.timeout(FETCH_S):
                names = await self.store.list(folder)
        except (FileStoreFailed, TimeoutError) as error:
            log.warning("file.not_fetched", reason=_reason(error))
            return
        for name in names:
            if self._own_name(str(place := self._root / PurePosixPath(name))) == name:
                await self._fetch(name, place)

    async def _fetch(self, name: str, place: Path) -> None:
        if self.store is None or await asyncio.to_thread(place.exists):
            return
        try:
            async with asyncio.timeout(FETCH_S):
                data = await self.store.get(name)
            if data is not None:
                await asyncio.to_thread(write, place, data)
        except (FileStoreFailed, OSError, TimeoutError) as error:
            log.warning("file.not_fetched", reason=_reason(error))

    async def forget(self, paths: Iterable[str]) -> None:
        """Delete files from the store. Raises FileStoreFailed."""
        if self.store is not None:
            await self.store.delete(sorted(filter(None, map(self.name, paths))))


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _joined(parts: tuple[str, ...]) -> str | None:
    """At least a folder and a file."""
    return "/".join(parts) if len(parts) > 1 and ".." not in parts else None
