"""Edits and deletions of one's own messages on the page, taken in as every platform's are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from bots.bot import Bot
from contract.chat import Deleted, Edited, Event, Room, Speaker
from contract.errors import Rejected
from contract.values import dataclass
from gateway.core import views
from gateway.core.views import MessageView
from gateway.web.signin.caller import RequestRefused
from store.rows import StoredMessage


class Messages(Protocol):
    """Finds messages: see store.transcript.Transcript."""

    async def room(self, room_id: str) -> Room | None:
        """One room."""

    async def find(self, room_id: str, message_id: str) -> StoredMessage | None:
        """One message."""


@dataclass(frozen=True, slots=True)
class OwnMessages:
    """Changes what its author wants changed. receive: the intake of every platform's events, which
    keeps the first text, tells everybody, and asks no agent a second time. bot: the page's."""

    messages: Messages
    receive: Callable[[Event, Bot], Awaitable[None]]
    bot: Bot
    clock: Callable[[], datetime]

    async def edit(self, room_id: str, message_id: str, text: str, by: Speaker) -> MessageView:
        """Give a message another text. Raises Rejected and RequestRefused."""
        room, said = await self._own(room_id, message_id, by)
        if not text.strip() and not said.attachments:
            raise Rejected("content", "is empty: delete the message instead")
        await self.receive(Edited(room, message_id, text, self.clock()), self.bot)
        _, now = await self._own(room_id, message_id, by)
        return views.message(now)

    async def delete(self, room_id: str, message_id: str, by: Speaker) -> None:
        """Take a message away, with its turns that wait. Raises RequestRefused."""
        room, _ = await self._own(room_id, message_id, by)
        await self.receive(Deleted(room, message_id), self.bot)

    async def _own(self, room_id: str, message_id: str, by: Speaker) -> tuple[Room, StoredMessage]:
        room = await self.messages.room(room_id)
        said = await self.messages.find(room_id, message_id)
        if room is None or said is None or said.deleted:
            raise RequestRefused(404, "there is no such message")
        if said.persona is not None or said.by.id != by.id:
            raise RequestRefused(403, "only its author may change a message")
        return room, said
