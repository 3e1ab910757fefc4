"""Files beside Mattermost's posts: theirs kept on disk, ours uploaded."""

from __future__ import annotations

from pathlib import Path

from bots.kit.events import FileRef
from bots.kit.files import PATIENCE_S, KeptFiles
from bots.mattermost.api import MattermostApi
from bots.mattermost.posts import Posts
from contract.chat import Destination
from contract.errors import PlatformError


class Files(KeptFiles[FileRef]):
    def __init__(self, api: MattermostApi, posts: Posts, folder: Path, max_bytes: int) -> None:
        super().__init__(folder, max_bytes)
        self._api, self._posts = api, posts

    async def _fetched(self, file: FileRef) -> bytes:
        return await self._api.read(file.id, self._max_bytes, PATIENCE_S)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment; return the post's id.

        Nothing is seen in the channel before the last call: only its outcome can be unknown.
        """
        told = await self._api.send(place.room.external_id, name, data)
        infos = told.get("file_infos") if isinstance(told, dict) else None
        if not infos or not (file_id := infos[0].get("id")):
            raise PlatformError("Mattermost: an upload: a garbled answer", outcome="retry")
        return await self._posts.post(place, comment, key, file_ids=[str(file_id)])
