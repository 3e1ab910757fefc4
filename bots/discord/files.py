"""Files beside people's messages in Discord, kept on disk."""

from __future__ import annotations

from pathlib import Path

from bots.discord.api import DiscordApi
from bots.kit.events import FileRef
from bots.kit.files import PATIENCE_S, KeptFiles
from contract.errors import PlatformError

_TRIES = 2


class Files(KeptFiles[FileRef]):
    def __init__(self, api: DiscordApi, folder: Path, max_bytes: int) -> None:
        super().__init__(folder, max_bytes)
        self._api = api

    async def _fetched(self, file: FileRef) -> bytes:
        for _ in range(_TRIES - 1):
            try:
                return await self._api.read(file.url or "", self._max_bytes, PATIENCE_S)
            except PlatformError as error:
                if error.outcome == "refused":
                    raise
        return await self._api.read(file.url or "", self._max_bytes, PATIENCE_S)
