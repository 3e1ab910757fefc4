"""Edits and deletions of messages, also those that a platform tells before their messages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from contract.chat import Deleted, Edited, Inbound, SenderType
from gateway.core import views
from gateway.core.events import EventBus, MessageDeleted, MessageEdited, MessagePosted, RoomOpened
from gateway.core.views import RoomView
from gateway.turns.queue import TurnQueues
from store.transcript import StoredMessage, Transcript

_REMEMBERED = 1_000


class MessageListeners:
    """Tells who watches, and the memory, what became of messages. stored: given the kind of each
    new one's sender. heard: given the scope of each that may be learned from. changed: given what
    was edited or deleted."""

    def __init__(
        self,
        bus: EventBus,
        stored: Callable[[SenderType], None],
        heard: Callable[[str], None],
        changed: Callable[[StoredMessage], None],
    ) -> None:
        self._bus = bus
        self._stored = stored
        self._heard = heard
        self._changed = changed
        self._seen_rooms: set[str] = set()

    def posted(self, inbound: Inbound, scope: str, *, learns: bool) -> None:
        """A message is new."""
        self._stored(inbound.meta.sender_type)
        if inbound.room.id not in self._seen_rooms:
            self._seen_rooms.add(inbound.room.id)
            self._bus.publish(RoomOpened(RoomView(inbound.room, inbound.sent_at)))
        if self._bus.listeners:
            self._bus.publish(MessagePosted(views.inbound(inbound)))
        if learns:
            self._heard(scope)

    def edited(self, message: StoredMessage) -> None:
        """A message has another text."""
        self._bus.publish(MessageEdited(views.message(message)))
        self._changed(message)

    def deleted(self, message: StoredMessage) -> None:
        """A message is gone."""
        self._bus.publish(MessageDeleted(message.room_id, message.message_id))


class Changes:
    """Carries them out. Platforms tell things out of their order: an edit or a deletion waits for
    its message; the last ones, by room and message, and forgotten when the process ends."""

    def __init__(
        self,
        transcript: Transcript,
        listeners: MessageListeners,
        queues: TurnQueues,
        changed: Callable[[StoredMessage], None],
        clock: Callable[[], datetime],
    ) -> None:
        self._transcript = transcript
        self._listeners = listeners
        self._queues = queues
        self._changed = changed
        self._clock = clock
        self._early: OrderedDict[tuple[str, str], Edited | Deleted] = OrderedDict()

    async def edit(self, event: Edited) -> None:
        """A message's text was changed."""
        if stored := await self._transcript.edit(event):
            self._listeners.edited(stored)
        else:
            await self._keep_early(event)

    async def delete(self, event: Deleted) -> None:
        """A message was deleted: so are its turns that wait."""
        if stored := await self._transcript.delete(event, self._clock()):
            self._listeners.deleted(stored)
            await self._queues.withdraw(stored.seq)
            self._changed(stored)
        else:
            await self._keep_early(event)

    def is_deleted(self, inbound: Inbound) -> bool:
        """A message was deleted before it came."""
        if not self._early:
            return False
        return isinstance(self._early.get((inbound.room.id, inbound.message_id)), Deleted)

    async def came(self, inbound: Inbound) -> None:
        """A message is stored: the edit that came before it is made."""
        key = (inbound.room.id, inbound.message_id)
        if isinstance(event := self._early.get(key), Edited):
            del self._early[key]
            await self.edit(event)

    async def _keep_early(self, event: Edited | Deleted) -> None:
        if await self._transcript.find(event.room.id, event.message_id) is not None:
            return
        key = (event.room.id, event.message_id)
        if not isinstance(self._early.get(key), Deleted):  # a deletion stays one
            self._early[key] = event
        if len(self._early) > _REMEMBERED:
            self._early.popitem(last=False)
