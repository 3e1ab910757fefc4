"""What the bot hears in its rooms, as the gateway is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from bots.bot import Receive
from bots.kit.reactions import PIN, option_of
from bots.matrix.backfill import Cursor, PinReaction
from bots.matrix.directory import Directory
from bots.matrix.events import (
    AddedReaction,
    DeletedMessage,
    EditedMessage,
    NewMessage,
    PinnedListChange,
    PlatformEvent,
    heard,
    inbound,
    parsed,
)
from bots.matrix.files import Files
from bots.matrix.posts import Posts
from contract.chat import Chosen, Deleted, Edited, Event, Inbound, Pinned, Room, Speaker
from contract.errors import Rejected

log = structlog.stdlib.get_logger("moot.bots")


class EventHandler:
    """bot: its name. recipient_id: of what is addressed to it, when it serves one persona."""

    def __init__(
        self,
        directory: Directory,
        posts: Posts,
        files: Files,
        *,
        cursor: Cursor,
        receive: Receive,
        bot: str,
        recipient_id: str | None,
        require_mention: bool,
    ) -> None:
        self._directory, self._posts, self._files = directory, posts, files
        self._cursor, self._receive, self._bot = cursor, receive, bot
        self._recipient_id, self._require_mention = recipient_id, require_mention
        self._deaf_in: set[str] = set()  # encrypted rooms that are not read

    async def hear(self, room_id: str, raw: Mapping[str, Any]) -> None:
        """Hand one event on; return when it is on disk, or waits there for its key."""
        plain = await self._posts.opened(room_id, raw)
        if plain is None:
            await self._wait_for_key(room_id, raw)
            return
        event = parsed(plain)
        if event is None:
            return
        self._directory.apply(room_id, [event])
        if event.type == "m.room.tombstone" and event.state_key == "":
            self._cursor.move(event.state().replacement_room or "", event.sender)
        if event.event_id:
            self._directory.wrote(event.event_id, event.sender)
        if found := heard(event, self._directory.own):
            await self._hand_on(room_id, found)

    async def _wait_for_key(self, room_id: str, raw: Mapping[str, Any]) -> None:
        if raw.get("sender") == self._directory.own.user_id:
            return
        if self._posts.encryption is None:
            if room_id not in self._deaf_in:
                log.warning(
                    "room.encrypted",
                    bot=self._bot,
                    reason=f"it can't read the encrypted room {room_id}",
                )
                self._deaf_in.add(room_id)
            return
        log.info("event.waits_for_key", bot=self._bot, room=room_id)
        await self._cursor.wait_for(room_id, raw)
        await self._posts.encryption.request(room_id, raw)

    async def _hand_on(self, room_id: str, found: PlatformEvent) -> None:
        for event in await self._events(room_id, found):
            try:
                await self._receive(event)
            except Rejected as error:
                log.warning("event.skipped", bot=self._bot, reason=f"it is left out: {error}")

    async def _events(self, room_id: str, found: PlatformEvent) -> Sequence[Event]:
        """What the gateway is told of it; often nothing."""
        if isinstance(found, NewMessage):
            return [await self._inbound(room_id, found)]
        room = await self._directory.room(room_id)
        by = await self._directory.speaker(room_id, found.sender)
        match found:
            case EditedMessage():
                if await self._directory.writer(room_id, found.event_id) != found.sender:
                    return []
                return [Edited(room, found.event_id, found.content, found.at)]
            case DeletedMessage():
                pin = self._cursor.place.pins.pop(found.event_id, None)
                if pin is not None:
                    return [Pinned(room, pin.target, by, pinned=False)]
                return [Deleted(room, found.event_id)]
            case AddedReaction():
                return self._reacted(room, found, by)
            case PinnedListChange():
                added = [Pinned(room, one, by) for one in found.added]
                return [*added, *(Pinned(room, one, by, pinned=False) for one in found.taken)]

    def _reacted(self, room: Room, found: AddedReaction, by: Speaker) -> list[Event]:
        if found.emoji.replace("\ufe0f", "") == PIN:
            pin = PinReaction(room_id=room.external_id, target=found.target)
            self._cursor.place.pins[found.event_id] = pin
            return [Pinned(room, found.target, by)]
        question, option = self._posts.question(found.target), option_of(found.emoji)
        if question is None or option is None or option >= question[1]:
            return []
        return [Chosen(question[0], option, by)]

    async def _inbound(self, room_id: str, said: NewMessage) -> Inbound:
        """The message with what has to be looked up for it."""
        room = await self._directory.room(room_id)
        by = await self._directory.speaker(room_id, said.sender, is_bot=said.is_bot)
        if room.kind == "dm":
            room = replace(room, name=by.name)
        mentioned = said.mentioned or room.kind == "dm" or await self._answers_us(room_id, said)
        attachments = await self._files.keep(room_id, said.file)
        context = None
        if mentioned and said.thread_id:
            context = await self._directory.thread_context(room_id, said.thread_id, said.event_id)
        self._posts.heard_in_thread(said.thread_id, said.event_id)
        if mentioned and by.kind == "human":
            self._posts.pace.asked()
        return inbound(
            said,
            room,
            by,
            mentioned=mentioned,
            attachments=attachments,
            thread_context=context,
            recipient_id=self._recipient_id,
            require_mention=self._require_mention,
        )

    async def _answers_us(self, room_id: str, said: NewMessage) -> bool:
        """Whether it replies to a message of ours, or stands in a thread that one began."""
        asked = [one for one in (said.reply_to, said.thread_id) if one]
        own = self._directory.own.user_id
        return any([await self._directory.writer(room_id, one) == own for one in asked])
