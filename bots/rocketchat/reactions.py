"""Signs that the bot is there: reactions on a message, and that it types. Best effort."""

from __future__ import annotations

from bots.bot import Reaction
from bots.kit.reactions import SHORT_NAMES, ShownReactions, tried
from bots.rocketchat.api import RocketApi
from bots.rocketchat.ddp import Ddp
from bots.rocketchat.directory import Directory
from bots.rocketchat.events import DIGITS
from contract.chat import Destination

REACTIONS = {reaction: f":{name}:" for reaction, name in SHORT_NAMES.items()}


class Reactions:
    def __init__(self, api: RocketApi, directory: Directory) -> None:
        self._api, self._directory = api, directory
        self._shown: ShownReactions[str] = ShownReactions()
        self.real_names = False  # people are shown by their names (UI_Use_Real_Name)

    async def typing(self, ddp: Ddp | None, place: Destination, *, begins: bool) -> None:
        """The server forgets it after 15 s."""
        if ddp is None:
            return
        about = {"tmid": place.thread_id} if place.thread_id else {}
        doing = ["user-typing"] if begins else []
        event = f"{place.room.external_id}/user-activity"
        own = self._directory.own
        who = own.name if self.real_names else own.username
        await tried(ddp.tell("stream-notify-room", [event, who, doing, about]))

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """Put the reaction, then take back the one before.

        An account with ten calls a minute shows how it ended, and nothing on the way there.
        """
        if not self._directory.own.unlimited and reaction == "working":
            return
        known = message_id in self._shown
        if (before := self._shown.change(message_id, reaction)) is None:
            return
        if not await self._react(message_id, REACTIONS[reaction], should=True):
            return  # taking one back from a message without reactions would put it there
        for old in before if known or self._directory.own.unlimited else ():
            await self._react(message_id, REACTIONS[old], should=False)

    async def offer(self, message_id: str, count: int) -> None:
        """The digits of a question's options, to be clicked instead of typed."""
        if self._directory.own.unlimited:
            for digit in DIGITS[:count]:
                await self._react(message_id, digit, should=True)

    async def _react(self, message_id: str, emoji: str, *, should: bool) -> bool:
        body = {"messageId": message_id, "emoji": emoji, "shouldReact": should}
        return await tried(self._api.post("chat.react", body))
