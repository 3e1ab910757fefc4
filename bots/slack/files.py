"""Files beside Slack's messages: theirs kept on disk, ours uploaded."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bots.kit.events import FileRef
from bots.kit.files import PATIENCE_S, keep_all, keep_at, path_of
from bots.slack.api import SlackApi
from bots.slack.posts import PersonaPosts
from contract.chat import Attachment, Destination
from contract.errors import PlatformError


class Files:
    """An event isn't acknowledged before its files are kept; Slack, which waits three seconds and
    then sends it again twice within six minutes, finds it done."""

    def __init__(self, api: SlackApi, voices: PersonaPosts, folder: Path, max_bytes: int) -> None:
        self._api, self._voices = api, voices
        self._folder, self._max_bytes = folder, max_bytes

    async def keep(self, channel: str, files: tuple[FileRef, ...]) -> list[Attachment]:
        """The files with their bytes on disk; one that can't be had is told without a path."""
        return await keep_all(files, partial(self._keep, channel), channel)

    async def _keep(self, channel: str, file: FileRef) -> Attachment:
        file = await self._known(file)
        path = path_of(self._folder, channel, file.id, file.name)
        return await keep_at(path, file, self._max_bytes, partial(self._fetched, file))

    async def _known(self, file: FileRef) -> FileRef:
        """The file with its URL. In a shared channel the event says no more than its id."""
        if file.url is not None:
            return file
        found = (await self._api.call("files.info", file=file.id)).get("file") or {}
        url = found.get("url_private_download") or found.get("url_private") or ""
        name, mime = found.get("name") or file.name, found.get("mimetype") or file.mime
        return FileRef(file.id, name, mime, int(found.get("size") or 0), url)

    async def _fetched(self, file: FileRef) -> bytes:
        if not file.url:
            raise PlatformError("it isn't Slack's", outcome="refused")
        data, mime = await self._api.read(file.url, self._max_bytes, PATIENCE_S)
        if mime == "text/html" and file.mime != "text/html":
            # Without files:read Slack answers 200 with its login page.
            raise PlatformError("the token lacks the scope files:read", outcome="refused")
        return data

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
