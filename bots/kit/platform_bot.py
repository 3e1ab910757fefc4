"""The base of a platform's bot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import structlog

from bots.kit.bot_setup import BotSetup
from bots.markdown.split import Dialect
from contract.chat import Destination, Room, Speaker
from contract.errors import PlatformError

if TYPE_CHECKING:
    from aiohttp import web

log = structlog.stdlib.get_logger("moot.bots")

MAX_MEMBERS = 100
"""A roster is no longer than this."""


class OwnPosts(Protocol):
    """A bot's own messages."""

    async def post(self, place: Destination, text: str, key: str) -> str: ...
    async def edit(self, place: Destination, message_id: str, text: str) -> None: ...
    async def delete(self, place: Destination, message_id: str) -> None: ...


class PlatformBot:
    """It holds what all bots are given, and answers what most of them answer alike."""

    _posts: OwnPosts

    def __init__(self, setup: BotSetup, dialect: Dialect) -> None:
        self.setup, self.dialect = setup, dialect
        self.name: str = setup.name
        self.personas: Sequence[str] = setup.personas

    def routes(self) -> list[web.RouteDef]:
        """Nothing: most platforms are called, and never call."""
        return []

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post."""
        return self.dialect.split(text)

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; return its id."""
        return await self._posts.post(place, self.dialect.write(text), key)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace an own message's text; a question loses its buttons."""
        await self._posts.edit(place, message_id, self.dialect.write(text))

    async def delete(self, place: Destination, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place, message_id)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when the platform doesn't say."""
        try:
            return await self.roster(room)
        except PlatformError as error:
            log.info("roster.failed", bot=self.name, reason=error)
            return []

    async def roster(self, room: Room) -> Sequence[Speaker]:
        """The same, from the platform. Raises PlatformError."""
        raise NotImplementedError
