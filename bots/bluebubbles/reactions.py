"""Signs that the bot is there. Best effort."""

from __future__ import annotations

import structlog

from bots.bluebubbles.api import BlueBubblesApi, part
from bots.bluebubbles.directory import Directory
from bots.bluebubbles.events import native
from bots.bot import Reaction
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


class Reactions:
    """The three dots alone: a tapback would stay on the person's message and notify them."""

    def __init__(self, api: BlueBubblesApi, directory: Directory) -> None:
        self._api, self._directory = api, directory

    async def typing(self, place: Destination, *, begins: bool) -> None:
        """Show or end the three dots, where the private API is there. Never raises."""
        try:
            if await self._directory.has_private_api():
                path = f"chat/{part(native(place.room.external_id))}/typing"
                await (self._api.send(path) if begins else self._api.delete(path))
        except PlatformError as error:
            log.info("sign.failed", reason=error)

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """Do nothing: see above."""
