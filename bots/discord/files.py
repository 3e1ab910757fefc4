"""Files beside people's messages in Discord, kept on disk."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from bots.discord.api import DiscordApi
from bots.discord.events import FileRef
from bots.kit.files import PATIENCE_S, keep_all, path_of, write
from contract.chat import Attachment
from contract.errors import PlatformError

_TRIES = 2


class Files:
    def __init__(self, api: DiscordApi, folder: Path, most_bytes: int) -> None:
        self._api, self._folder, self._most_bytes = api, folder, most_bytes

    async def keep(self, channel: str, files: tuple[FileRef, ...]) -> list[Attachment]:
        """The files with their bytes on disk; one that can't be had is told without a path."""
        return await keep_all(files, partial(self._keep, channel), channel)

    async def _keep(self, channel: str, file: FileRef) -> Attachment:
        path = await self._fetched(channel, file)
        return Attachment(file.name, file.mime, path.stat().st_size, str(path))

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
                return await self._api.read(file.url, self._most_bytes, PATIENCE_S)
            except PlatformError as error:
                if error.outcome == "refused":
                    raise
        return await self._api.read(file.url, self._most_bytes, PATIENCE_S)
