"""A bot on a real Synapse, with people around it; and waits for what they say."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bots.matrix.bot import MatrixBot
from bots.matrix.check import Credentials
from bots.matrix.invites import Welcome
from contract.chat import Inbound
from tests.doubles.bot_setup import bot_setup
from tests.doubles.inbox import PATIENCE_S, Inbox
from tests.doubles.synapse import SERVER, Person, Synapse


@dataclass
class Stage:
    """A bot with an account of its own, and two people."""

    homeserver: Synapse
    folder: Path
    name: str
    andi: Person
    budi: Person

    @property
    def bot_id(self) -> str:
        return f"@{self.name}:{SERVER}"

    def bot(self, **changes: Any) -> MatrixBot:
        values: dict[str, Any] = {
            "url": self.homeserver.url,
            "credentials": Credentials(user=self.name, password="pass"),
            "invites": Welcome(lambda _: True),
            "encryption": True,
        }
        values |= {key: changes.pop(key) for key in values if key in changes}
        return MatrixBot(bot_setup("matrix", self.folder, **changes), **values)

    async def room(self, **settings: Any) -> str:
        """A named room with both people, to which the bot is invited."""
        room = await self.andi.room(
            self.bot_id, self.budi.user_id, **({"name": "general"} | settings)
        )
        await self.budi.join(room)
        return room

    async def comes(self, room_id: str) -> None:
        """Wait until the bot is in the room."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                joined = await self.andi.call("GET", f"/rooms/{room_id}/joined_members")
                if self.bot_id in joined["joined"]:
                    return
                await asyncio.sleep(0.05)

    def own(self, name: str) -> Path:
        """A file of those that the bot keeps."""
        return self.folder / "own" / name

    async def call(
        self, method: str, where: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """A call as the bot's own account, with its token."""
        bot = copy(self.andi)
        bot.token = json.loads(self.own("account.json").read_text())["token"]
        return await bot.call(method, where, body)

    def lose(self) -> None:
        """The bot's folder is gone."""
        shutil.rmtree(self.folder / "own")

    def waiting(self) -> str:
        """The events on disk whose key isn't there; "" when there are none."""
        path = self.folder / "own" / "waiting.json"
        text = path.read_text() if path.exists() else ""
        return "" if text in ("", '{"events":[]}') else text


async def until(inbox: Inbox, kind: type, count: int = 1) -> list[Any]:
    """The events of a kind, once there are so many."""
    for so_many in range(1, 1000):
        events = await inbox.kept(so_many)
        if len(found := [event for event in events if isinstance(event, kind)]) >= count:
            return found
    raise AssertionError


async def said(inbox: Inbox, text: str) -> Inbound:
    """The message with this text, once it is there."""
    for so_many in range(1, 1000):
        events = await inbox.kept(so_many)
        for event in events:
            if isinstance(event, Inbound) and event.content == text:
                return event
    raise AssertionError
