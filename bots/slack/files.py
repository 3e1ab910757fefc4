"""Files beside Slack's messages: theirs kept on disk, ours uploaded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from bots.kit.files import PATIENCE_S, path_of, write
from bots.slack.api import SlackApi
from bots.slack.events import FileRef
from bots.slack.posts import PersonaPosts
from contract.chat import Attachment, Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


class Files:
    """An event isn't acknowledged before its files are kept; Slack, which waits three seconds and
    then sends it again twice within six minutes, finds it done."""

    def __init__(self, api: SlackApi, voices: PersonaPosts, folder: Path, most_bytes: int) -> None:
        self._api, self._voices = api, voices
        self._folder, self._most_bytes = folder, most_bytes

    async def keep(self, channel: str, files: tuple[FileRef, ...]) -> list[Attachment]:
        """The files with their bytes on disk; one that can't be had is told without a path."""
        return list(await asyncio.gather(*(self._keep(channel, file) for file in files)))

    async def _keep(self, channel: str, file: FileRef) -> Attachment:
        try:
            async with asyncio.timeout(PATIENCE_S):
                file = await self._known(file)
                path = await self._fetched(channel, file)
            size = path.stat().st_size
            return Attachment(file.name, file.mime, size, str(path))
        except (PlatformError, OSError) as error:
            log.warning("file.not_kept", file=file.id, channel=channel, reason=error)
            return Attachment(file.name, file.mime, file.size_bytes)

    async def _known(self, file: FileRef) -> FileRef:
        """The file with its URL. In a shared channel the event says no more than its id."""
        if file.url is not None:
            return file
        found = (await self._api.call("files.info", file=file.id)).get("file") or {}
        url = found.get("url_private_download") or found.get("url_private") or ""
        name, mime = found.get("name") or file.name, found.get("mimetype") or file.mime
        return FileRef(file.id, name, mime, int(found.get("size") or 0), url)

    async def _fetched(self, channel: str, file: FileRef) -> Path:
        path = path_of(self._folder, channel, file.id, file.name)
        if path.is_file() and path.stat().st_size == file.size_bytes:
            return path  # delivered again
        if not file.url or file.size_bytes > self._most_bytes:
            why = "it is too large" if file.url else "it isn't Slack's"
            raise PlatformError(why, outcome="refused")
        data, mime = await self._api.read(file.url, self._most_bytes, PATIENCE_S)
        if mime == "text/html" and file.mime != "text/html":
            # Without files:read Slack answers 200 with its login page.
            raise PlatformError("the token lacks the scope files:read", outcome="refused")
        await asyncio.to_thread(write, path, data)
        return path

    async def upload(self, place: Destination, name: str, data: bytes, comment: str) -> str:
        """Share a file with a comment in mrkdwn; return its id.

        Nothing is seen in the room before the last of the three calls: only its outcome can be
        unknown.
        """
        try:
            ticket = await self._api.call(
                "files.getUploadURLExternal", filename=name, length=len(data)
            )
            await self._api.send(str(ticket["upload_url"]), data)
        except PlatformError as error:
            if error.outcome == "unknown":
                raise PlatformError(str(error), outcome="retry") from error
            raise
        file_id = str(ticket["file_id"])
        await self._voices.call(
            "files.completeUploadExternal",
            place.voice,
            files=[{"id": file_id, "title": name}],
            channel_id=place.room.external_id,
            thread_ts=place.thread_id,
            initial_comment=comment or None,
        )
        return file_id
