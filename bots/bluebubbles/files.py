"""Files beside people's messages, kept on disk."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from bots.bluebubbles.api import BlueBubblesApi, part
from bots.kit.events import FileRef
from bots.kit.files import PATIENCE_S, attachment, keep_all, path_of, write
from bots.kit.http_pool import too_large
from contract.chat import Attachment
from contract.errors import PlatformError

# A message is there before the Mac has its files.
_WAITS_S = (1.0, 2.0, 4.0, 8.0)
# The server turns what only Apple's programs read into what others do.
_TURNED = {"image/jpeg": ".jpeg", "image/png": ".png", "audio/mpeg": ".mp3"}
_UNKNOWN = "application/octet-stream"
_APPLES = {"image/heic", "image/heif", "image/tiff", "audio/x-caf", "audio/caf"}


class Files:
    def __init__(self, api: BlueBubblesApi, folder: Path, max_bytes: int) -> None:
        self._api, self._folder, self._max_bytes = api, folder, max_bytes

    async def keep(self, chat_guid: str, files: tuple[FileRef, ...]) -> list[Attachment]:
        """The files with their bytes on disk; one that can't be had is told without a path."""
        return await keep_all(files, partial(self._keep, chat_guid), "iMessage")

    async def _keep(self, chat_guid: str, file: FileRef) -> Attachment:
        if file.size_bytes > self._max_bytes:
            raise too_large(self._max_bytes)
        for name, mime in ((file.name, file.mime), *(_turned(file, kind) for kind in _TURNED)):
            path = path_of(self._folder, chat_guid, file.id, name)
            if path.is_file():  # delivered again
                return attachment(path, name, mime)
        data, got = await self._fetched(file)
        name, mime = file.name, file.mime
        if got in _TURNED and mime in _APPLES:
            name, mime = _turned(file, got)
        elif mime == _UNKNOWN:
            mime = got
        path = path_of(self._folder, chat_guid, file.id, name)
        await asyncio.to_thread(write, path, data)
        return attachment(path, name, mime)

    async def _fetched(self, file: FileRef) -> tuple[bytes, str]:
        for wait_s in _WAITS_S:
            try:
                return await self._read(file)
            except PlatformError as error:
                if error.outcome != "retry":
                    raise
            await asyncio.sleep(wait_s)
        return await self._read(file)

    async def _read(self, file: FileRef) -> tuple[bytes, str]:
        path = f"attachment/{part(file.id)}/download"
        return await self._api.read(path, self._max_bytes, PATIENCE_S)


def _turned(file: FileRef, mime: str) -> tuple[str, str]:
    """Name and MIME type of a file that the server turned into another kind."""
    return file.name + _TURNED[mime], mime
