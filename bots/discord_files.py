"""Files beside people's messages in Discord, kept on disk."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from bots.discord_api import DiscordApi
from bots.discord_events import FileRef
from bots.files import path_of, write
from contract import Attachment, PlatformError

log = logging.getLogger("moot.bots")

_PATIENCE_S = 30.0  # for all files of one message together; the next one waits behind it
_TRIES = 2


class Files:
    def __init__(self, api: DiscordApi, folder: Path, most_bytes: int) -> None:
        self._api, self._folder, self._most_bytes = api, folder, most_bytes

    async def keep(self, channel: str, files: tuple[FileRef, ...]) -> list[Attachment]:
        """The files with their bytes on disk; one that can't be had is told without a path."""
        return list(await asyncio.gather(*(self._keep(channel, file) for file in files)))

    async def _keep(self, channel: str, file: FileRef) -> Attachment:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                path = await self._fetched(channel, file)
            return Attachment(file.name, file.mime, path.stat().st_size, str(path))
        except (PlatformError, OSError) as error:
            log.warning("file %s of a message in %s is not kept: %s", file.id, channel, error)
            return Attachment(file.name, file.mime, file.size_bytes)

    async def _fetched(self, channel: str, file: FileRef) -> Path:
        path = path_of(self._folder, channel, file.id, file.name)
        if path.is_file() and path.stat().st_size == file.size_bytes:
            return path  # delivered again
        if file.size_bytes > self._most_bytes:
            raise PlatformError("it is too large", outcome="refused")
        data = await self._read(file)
        await asyncio.to_thread(write, path, data)
        return path

    async def _read(self, file: FileRef) -> bytes:
        for _ in range(_TRIES - 1):
            try:
                return await self._api.read(file.url, self._most_bytes, _PATIENCE_S)
            except PlatformError as error:
                if error.outcome == "refused":
                    raise
        return await self._api.read(file.url, self._most_bytes, _PATIENCE_S)
