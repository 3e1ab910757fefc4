"""Signs that the bot is there: reactions on a message, and that it types. Best effort."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog

from bots.bot import Reaction
from bots.discord.api import DiscordApi, DiscordRefused
from bots.discord.posts import Posts
from bots.kit.reactions import EMOJI, ShownReactions
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_PATIENCE_S = 10.0  # a sign that comes later tells nothing
_MAY_NOT = {50001, 50013, 90001}  # may not see, may not do, was blocked by whom it would mark


class Reactions:
    def __init__(self, api: DiscordApi, posts: Posts) -> None:
        self._api, self._posts = api, posts
        self._shown: ShownReactions[tuple[str, str]] = ShownReactions()
        self._silent: set[tuple[str, str]] = set()  # what is refused where

    async def typing(self, place: Destination) -> None:
        """Shown for ten seconds, or until the next message; it can't be taken back."""
        try:
            channel = (await self._posts.target(place)).channel
        except PlatformError as error:
            log.info("sign.failed", reason=error)
            return
        path = "/channels/{channel_id}/typing"
        call = partial(self._api.call, "POST", path, timeout_s=_PATIENCE_S, channel_id=channel)
        await self._tried("type", channel, call)

    async def react(self, place: Destination, message: str, reaction: Reaction) -> None:
        """Put the reaction, then take back the one before."""
        key = (place.room.external_id, message)
        if (before := self._shown.change(key, reaction)) is None:
            return
        try:
            channel = await self._posts.channel_of(place, message)
        except PlatformError as error:
            log.info("sign.failed", reason=error)
            return
        await self._react("PUT", channel, message, reaction)
        for old in before:
            await self._react("DELETE", channel, message, old)

    async def _react(self, method: str, channel: str, message: str, reaction: Reaction) -> None:
        call = partial(
            self._api.call,
            method,
            "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me",
            timeout_s=_PATIENCE_S,
            channel_id=channel,
            message_id=message,
            emoji=EMOJI[reaction],
        )
        await self._tried("react", channel, call)

    async def _tried(self, what: str, channel: str, call: Callable[[], Awaitable[Any]]) -> None:
        """Stops for good in a channel where the bot may not."""
        if (what, channel) in self._silent:
            return
        try:
            await call()
        except DiscordRefused as error:
            if error.code in _MAY_NOT:
                self._silent.add((what, channel))
                log.warning("sign.given_up", reason=error, channel=channel)
        except PlatformError as error:
            log.info("sign.failed", reason=error)
