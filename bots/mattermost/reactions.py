"""Signs that the bot is there: reactions on a post, and that it types. Best effort."""

from __future__ import annotations

from bots.bot import Reaction
from bots.kit.reactions import SHORT_NAMES, ShownReactions, tried
from bots.mattermost.api import MattermostApi
from bots.mattermost.directory import Directory
from contract.chat import Destination


class Reactions:
    def __init__(self, api: MattermostApi, directory: Directory) -> None:
        self._api, self._directory = api, directory
        self._shown: ShownReactions[str] = ShownReactions()

    async def typing(self, place: Destination) -> None:
        """Its clients forget it after some seconds."""
        where = {"channel_id": place.room.external_id, "parent_id": place.thread_id or ""}
        await tried(self._api.post("users", "me", "typing", body=where))

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """Put the reaction, then take back the one before."""
        if (before := self._shown.change(message_id, reaction)) is None:
            return
        made = {"user_id": self._directory.own.user_id, "post_id": message_id}
        made["emoji_name"] = SHORT_NAMES[reaction]
        await tried(self._api.post("reactions", body=made))
        for old in before:
            where = ("users", "me", "posts", message_id, "reactions", SHORT_NAMES[old])
            await tried(self._api.delete(*where))
