"""Rocket.Chat's messages as events of the contract, with all that is looked up for them."""

from __future__ import annotations

import asyncio
from datetime import datetime

from bots.kit.events import DeletedMessage, EditedMessage, PinChange
from bots.kit.inbound import Delivery, MessageContext, inbound, named_dm
from bots.kit.platform_bot import BotSetup
from bots.kit.recent import Recent
from bots.rocketchat.directory import Directory
from bots.rocketchat.events import (
    SOURCE,
    EncryptedMessage,
    NewMessage,
    OptionReaction,
    PlatformEvent,
    SeenMessage,
    glimpse,
    parse_message,
)
from bots.rocketchat.files import Files
from bots.rocketchat.posts import Posts
from bots.rocketchat.wire import WireMessage, WireRoom
from contract.chat import Chosen, Deleted, Destination, Edited, Event, Inbound, Pinned, Room

_REMEMBERED = 5_000  # messages that may come again: edited, pinned, reacted to


class EventHandler:
    """Takes what a connection brings; its methods return when that is on disk."""

    def __init__(
        self, setup: BotSetup, delivery: Delivery, directory: Directory, files: Files, posts: Posts
    ) -> None:
        self._setup, self._delivery = setup, delivery
        self._directory, self._files, self._posts = directory, files, posts
        self._seen: Recent[str, SeenMessage] = Recent(_REMEMBERED)

    async def message(
        self, message: WireMessage, room: WireRoom | None, *, since: datetime, missed: bool
    ) -> None:
        """One message of the stream, or of the time before it. room: what the stream says of it."""
        before, own = self._seen.get(message.id), self._directory.own
        found = parse_message(message, before, own, since=since, missed=missed)
        if found:
            where = await self._directory.room(message.rid, room)
            for one in found:
                if (event := await self._event(one, where)) is not None:
                    await self._delivery.give(event)
        self._seen[message.id] = glimpse(message)

    async def removed(self, rid: str, message_id: str) -> None:
        """A message was deleted."""
        await self._delivery.give(Deleted(await self._directory.room(rid), message_id))

    def room_changed(self, room: WireRoom) -> None:
        """A room has a new name, or the account is new in it."""
        if room.rid:
            self._directory.learn_subscription(room)
        self._directory.forget_room(room.rid or room.id or "")

    async def _event(self, found: PlatformEvent, room: Room) -> Event | None:
        match found:
            case NewMessage():
                return await self._message(found, room)
            case EncryptedMessage():
                if found.mentioned or room.kind == "dm":
                    await self._posts.explain(Destination(room, found.thread_id))
                return None
            case EditedMessage():
                return Edited(room, found.id, found.content, found.at)
            case DeletedMessage():
                return Deleted(room, found.id)
            case PinChange():
                by = await self._directory.named(found.by)
                return Pinned(room, found.id, by, found.pinned) if by else None
            case OptionReaction():
                return await self._choice(found, room)

    async def _choice(self, vote: OptionReaction, room: Room) -> Chosen | None:
        """Under an own message an earlier process may have asked a question: the gateway knows."""
        question = self._posts.question(vote.id)
        is_known = question is not None and vote.option < len(question.options)
        if not (is_known or (question is None and vote.is_news)):
            return None
        if (by := await self._directory.has_now(vote.by)) is None:
            return None
        if question is None:
            return Chosen("", vote.option, by, "", Destination(room), vote.id)
        return Chosen(question.id, vote.option, by, question.digest)

    async def _message(self, said: NewMessage, room: Room) -> Inbound:
        """The message with what has to be looked up for it, all at once and not for long."""
        mentioned = said.mentioned or room.kind == "dm"
        by, attachments = await asyncio.gather(
            self._directory.sender(said), self._files.keep(said.rid, said.files)
        )
        context = await self._directory.thread_context(said) if mentioned else None
        found = MessageContext(
            mentioned, said.at, said.thread_id, attachments, context, passive=said.rewritten
        )
        return inbound(self._setup, SOURCE, said, named_dm(room, by), by, found)
