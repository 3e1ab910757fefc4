"""Files beside Slack's messages: theirs kept on disk, ours uploaded."""

from __future__ import annotations

from pathlib import Path

from bots.kit.events import FileRef
from bots.kit.files import PATIENCE_S, KeptFiles
from bots.slack.api import SlackApi
from bots.slack.posts import PersonaPosts
from contract.chat import Attachment, Destination
from contract.errors import PlatformError


class Files(KeptFiles[FileRef]):
    """An event isn't acknowledged before its files are kept; Slack, which waits three seconds and
    then sends it again twice within six minutes, finds it done."""

    def __init__(self, api: SlackApi, posts: PersonaPosts, folder: Path, max_bytes: int) -> None:
        super().__init__(folder, max_bytes)
        self._api, self._posts = api, posts

    async def _keep(self, room: str, file: FileRef) -> Attachment:
        return await super()._keep(room, await self._known(file))

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
        await self._posts.call(
            "files.completeUploadExternal",
            place.voice,
            files=[{"id": file_id, "title": name}],
            channel_id=place.room.external_id,
            thread_ts=place.thread_id,
            initial_comment=comment or None,
        )
        return file_id
