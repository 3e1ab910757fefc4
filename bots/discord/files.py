"""Files beside people's messages in Discord, kept on disk."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bots.discord.api import DiscordApi
from bots.kit.events import FileRef
from bots.kit.files import PATIENCE_S, keep_all, keep_at, path_of
from contract.chat import Attachment
from contract.errors import PlatformError

_TRIES = 2


class Files:
    def __init__(self, api: DiscordApi, folder: Path, max_bytes: int) -> None:
        self._api, self._folder, self._max_bytes = api, folder, max_bytes

    async def keep(self, channel: str, files: tuple[FileRef, ...]) -> list[Attachment]:
        """The files with their bytes on disk; one that can't be had is told without a path."""
        return await keep_all(files, partial(self._keep, channel), channel)

    async def _keep(self, channel: str, file: FileRef) -> Attachment:
        path = path_of(self._folder, channel, file.id, file.name)
        return await keep_at(path, file, self._max_bytes, partial(self._read, file))

    async def _read(self, file: FileRef) -> bytes:
        for _ in range(_TRIES - 1):
            try:
                return await self._api.read(file.url or "", self._max_bytes, PATIENCE_S)
            except PlatformError as error:
                if error.outcome == "refused":
                    raise
        return await self._api.read(file.url or "", self._max_bytes, PATIENCE_S)
