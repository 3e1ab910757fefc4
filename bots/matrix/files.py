"""Files beside Matrix's messages: theirs kept on disk, ours uploaded; encrypted where rooms are."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nio.crypto.attachments import decrypt_attachment, encrypt_attachment
from nio.exceptions import EncryptionError

from bots.kit.files import PATIENCE_S, KeptFiles, attachment, path_of
from bots.markdown.writer import quiet
from bots.matrix.api import MatrixApi
from bots.matrix.events import MediaFile
from bots.matrix.posts import text_content
from contract.chat import Attachment
from contract.errors import PlatformError

_BROKEN = (EncryptionError, ValueError, KeyError, TypeError)

_KINDS = {"image": "m.image", "audio": "m.audio", "video": "m.video"}


async def closed_file(data: bytes) -> tuple[bytes, Mapping[str, Any]]:
    """A file's bytes encrypted, and what reads them (key, iv, hashes, v)."""
    found: tuple[bytes, Mapping[str, Any]] = await asyncio.to_thread(encrypt_attachment, data)
    return found


async def opened_file(data: bytes, key: str, sha256: str, iv: str) -> bytes:
    """A file's own bytes. Raises PlatformError when they were changed on the way."""
    try:
        found: bytes = await asyncio.to_thread(decrypt_attachment, data, key, sha256, iv)
    except _BROKEN as error:
        raise PlatformError("the file can't be decrypted", outcome="refused") from error
    return found


class Files(KeptFiles[MediaFile]):
    def __init__(self, api: MatrixApi, folder: Path, max_bytes: int) -> None:
        super().__init__(folder, max_bytes)
        self._api = api

    async def _keep(self, room: str, file: MediaFile) -> Attachment:
        path = path_of(self._folder, room, file.id, file.name)
        if path.is_file():  # what lies at an mxc address never changes
            return attachment(path, file.name, file.mime)
        return await super()._keep(room, file)

    async def _fetched(self, file: MediaFile) -> bytes:
        data = await self._api.download(file.url or "", self._max_bytes, PATIENCE_S)
        if closed := file.closed:
            data = await opened_file(data, closed.key.k, closed.hashes.get("sha256", ""), closed.iv)
        return data

    async def content(
        self, name: str, data: bytes, comment: str, *, encrypted: bool
    ) -> dict[str, Any]:
        """The content of a message with a file, whose bytes are on the server then.

        A comment becomes its caption. Nothing is seen in the room yet: safe to repeat.
        """
        mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
        kind = _KINDS.get(mime.partition("/")[0], "m.file")
        content: dict[str, Any] = {"msgtype": kind, "body": quiet(name), "m.mentions": {}}
        if comment.strip():
            content |= text_content(comment, msgtype=kind)
        content |= {"filename": name, "info": {"mimetype": mime, "size": len(data)}}
        if not encrypted:
            return content | {"url": await self._api.upload(name, mime, data)}
        closed, keys = await closed_file(data)
        url = await self._api.upload("", "application/octet-stream", closed)
        return content | {"file": {**keys, "url": url}}
