"""Matrix's events as events of the contract, with all that has to be looked up for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from bots.kit.events import DeletedMessage, EditedMessage
from bots.kit.inbound import Delivery, MessageContext, inbound, named_dm
from bots.kit.platform_bot import BotSetup
from bots.kit.reactions import DIGITS, PIN, option_of
from bots.matrix.backfill import Cursor, PinReaction
from bots.matrix.directory import Directory
from bots.matrix.events import (
    SOURCE,
    AddedReaction,
    NewMessage,
    PinnedListChange,
    PlatformEvent,
    parse_event,
    parsed,
)
from bots.matrix.files import Files
from bots.matrix.posts import Posts
from contract.chat import (
    Chosen,
    Deleted,
    Destination,
    Edited,
    Event,
    Inbound,
    Pinned,
    Room,
    Speaker,
)

log = structlog.stdlib.get_logger("moot.bots")


class EventHandler:
    """Takes a room's events one by one."""

    def __init__(
        self,
        setup: BotSetup,
        delivery: Delivery,
        cursor: Cursor,
        directory: Directory,
        posts: Posts,
        files: Files,
    ) -> None:
        self._setup, self._delivery, self._cursor = setup, delivery, cursor
        self._directory, self._posts, self._files = directory, posts, files
        self._unread: set[str] = set()  # encrypted rooms that are not read

    async def handle(self, room_id: str, raw: Mapping[str, Any], *, is_late: bool = False) -> None:
        """Hand one event on; return when it is on disk, or waits there for its key.

        is_late: it waited, so where it comes now says nothing of its place in the room.
        """
        if not is_late:
            self._posts.came(str(raw.get("event_id")), str(raw.get("sender")))
        plain = await self._posts.opened(room_id, raw)
        if plain is None:
            await self._wait_for_key(room_id, raw)
            return
        event = parsed(plain)
        if event is None:
            return
        self._directory.apply(room_id, [event])
        if self._posts.encryption:
            await self._posts.encryption.verifications.in_room(room_id, event)
        if event.type == "m.room.tombstone" and event.state_key == "":
            self._cursor.move(event.state().replacement_room or "", event.sender)
        if event.event_id:
            self._directory.wrote(event.event_id, event.sender)
        if found := parse_event(event, self._directory.own, room_id):
            await self._hand_on(room_id, found)

    async def _wait_for_key(self, room_id: str, raw: Mapping[str, Any]) -> None:
        if raw.get("sender") == self._directory.own.user_id:
            return
        if self._posts.encryption is None:
            if room_id not in self._unread:
                log.warning(
                    "room.encrypted",
                    bot=self._setup.name,
                    reason=f"it can't read the encrypted room {room_id}",
                )
                self._unread.add(room_id)
            return
        log.info("event.waits_for_key", bot=self._setup.name, room=room_id)
        await self._cursor.wait_for(room_id, raw)
        await self._posts.encryption.request(room_id, raw)

    async def _hand_on(self, room_id: str, found: PlatformEvent) -> None:
        for event in await self._events(room_id, found):
            await self._delivery.give(event)

    async def _events(self, room_id: str, found: PlatformEvent) -> Sequence[Event]:
        """The events for the gateway; often none."""
        if isinstance(found, NewMessage):
            return [await self._message(room_id, found)]
        room = await self._directory.room(room_id)
        who = found.by if isinstance(found, EditedMessage | DeletedMessage) else found.sender
        by = await self._directory.speaker(room_id, who)
        match found:
            case EditedMessage():
                if await self._directory.writer(room_id, found.id) != found.by:
                    return []
                return [Edited(room, found.id, found.content, found.at)]
            case DeletedMessage():
                pin = self._cursor.place.pins.pop(found.id, None)
                if pin is not None:
                    return [Pinned(room, pin.target, by, pinned=False)]
                return [Deleted(room, found.id)]
            case AddedReaction():
                return await self._reacted(room, found, by)
            case PinnedListChange():
                added = [Pinned(room, one, by) for one in found.added]
                return [*added, *(Pinned(room, one, by, pinned=False) for one in found.taken)]

    async def _reacted(self, room: Room, found: AddedReaction, by: Speaker) -> list[Event]:
        if found.emoji.replace("\ufe0f", "") == PIN:
            pin = PinReaction(room_id=room.external_id, target=found.target)
            self._cursor.place.pins[found.event_id] = pin
            return [Pinned(room, found.target, by)]
        if (option := option_of(found.emoji)) is None:
            return []
        question = self._posts.question(found.target)
        if question is None:
            return await self._reacted_to_old(room, found, by, option)
        if option >= len(question.options[: len(DIGITS)]):
            return []
        return [Chosen(question.id, option, by, question.digest)]

    async def _reacted_to_old(
        self, room: Room, found: AddedReaction, by: Speaker, option: int
    ) -> list[Event]:
        """An own message may ask a question of an earlier process: the gateway knows."""
        writer = await self._directory.writer(room.external_id, found.target)
        if writer != self._directory.own.user_id:
            return []
        return [Chosen("", option, by, "", Destination(room), found.target)]

    async def _message(self, room_id: str, said: NewMessage) -> Inbound:
        """The message with what has to be looked up for it."""
        room = await self._directory.room(room_id)
        by = await self._directory.speaker(room_id, said.sender, is_bot=said.is_bot)
        mentioned = said.mentioned or room.kind == "dm"
        attachments = await self._files.keep(room_id, said.files)
        context = None
        if mentioned and said.thread_id:
            context = await self._directory.thread_context(room_id, said.thread_id, said.id)
        self._posts.heard_in_thread(said.thread_id, said.id)
        if mentioned and by.kind == "human":
            self._posts.budget.asked()
        found = MessageContext(mentioned, said.at, said.thread_id, attachments, context)
        return inbound(self._setup, SOURCE, said, named_dm(room, by), by, found)
