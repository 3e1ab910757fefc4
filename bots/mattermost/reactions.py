"""Signs that the bot is there: reactions on a post, and that it types. Best effort."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import structlog

from bots.bot import Reaction
from bots.kit.reactions import SHORT_NAMES, ShownReactions
from bots.mattermost.api import MattermostApi
from bots.mattermost.directory import Directory
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


class Reactions:
    def __init__(self, api: MattermostApi, directory: Directory) -> None:
        self._api, self._directory = api, directory
        self._shown: ShownReactions[str] = ShownReactions()

    async def typing(self, place: Destination) -> None:
        """Its clients forget it after some seconds."""
        where = {"channel_id": place.room.external_id, "parent_id": place.thread_id or ""}
        await self._tried(self._api.post("users", "me", "typing", body=where))

    async def react(self, post_id: str, reaction: Reaction) -> None:
        """Put the reaction, then take back the one before."""
        own = self._directory.own.user_id
        if (before := self._shown.change(post_id, reaction)) is None:
            return
        made = {"user_id": own, "post_id": post_id, "emoji_name": SHORT_NAMES[reaction]}
        await self._tried(self._api.post("reactions", body=made))
        for old in before:
            where = ("users", "me", "posts", post_id, "reactions", SHORT_NAMES[old])
            await self._tried(self._api.delete(*where))

    async def _tried(self, call: Coroutine[Any, Any, object]) -> None:
        try:
            await call
        except PlatformError as error:
            log.info("sign.failed", reason=error)
