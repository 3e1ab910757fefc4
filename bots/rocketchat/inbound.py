"""What was heard on a Rocket.Chat server, with all that has to be looked up for it, handed on."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Unpack

import structlog

from bots.bot import Receive
from bots.kit import inbound as ingest
from bots.rocketchat.directory import Directory
from bots.rocketchat.events import (
    SOURCE,
    DeletedMessage,
    EditedMessage,
    NewMessage,
    OptionReaction,
    PinChange,
    PlatformEvent,
    SeenMessage,
    glimpse,
    news,
)
from bots.rocketchat.files import Files
from bots.rocketchat.posts import Posts
from bots.rocketchat.wire import WireMessage, WireRoom
from contract.chat import Chosen, Deleted, Edited, Event, Inbound, Pinned, Room, Speaker
from contract.errors import Rejected

log = structlog.stdlib.get_logger("moot.bots")


_REMEMBERED = 5_000  # messages that may be told again: edited, pinned, reacted to


def inbound(
    said: NewMessage, room: Room, by: Speaker, **found: Unpack[ingest.MessageContext]
) -> Inbound:
    """The message with everything that was looked up for it."""
    return ingest.message(
        SOURCE,
        room,
        by,
        content=said.content,
        message_id=said.id,
        sent_at=said.at,
        thread_id=said.thread_id,
        reply_to=said.reply_to,
        **found,
    )


class EventHandler:
    """receive: None while the bot doesn't run; what is heard then is asked for later."""

    def __init__(
        self,
        directory: Directory,
        files: Files,
        posts: Posts,
        *,
        personas: Sequence[str],
        require_mention: bool,
    ) -> None:
        self._directory, self._files, self._posts = directory, files, posts
        self._recipient = f"bot:{personas[0]}" if len(personas) == 1 else None
        self._require_mention = require_mention
        self._seen: OrderedDict[str, SeenMessage] = OrderedDict()
        self.receive: Receive | None = None

    async def message(
        self, message: WireMessage, room: WireRoom | None, *, since: datetime, missed: bool
    ) -> None:
        """Hand on what a message of the stream, or of the time before it, tells."""
        before = self._seen.get(message.id)
        found = news(message, before, self._directory.own, since=since, missed=missed)
        if found:
            where = await self._directory.room(message.rid, room)
            for one in found:
                await self._hand_on(await self._event(one, where))
        self._seen[message.id] = glimpse(message)
        self._seen.move_to_end(message.id)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    async def removed(self, rid: str, message_id: str) -> None:
        """Hand on that a message is gone."""
        await self._hand_on(Deleted(await self._directory.room(rid), message_id))

    def room_changed(self, room: WireRoom) -> None:
        """A room has a new name, or we are new in it."""
        if room.rid:
            self._directory.learn_subscription(room)
        self._directory.forget_room(room.rid or room.id or "")

    async def _hand_on(self, event: Event | None) -> None:
        if event is None or self.receive is None:
            return
        try:
            await self.receive(event)
        except Rejected as error:
            log.warning("event.skipped", reason=f"it is left out: {error}")

    async def _event(self, told: PlatformEvent, room: Room) -> Event | None:
        match told:
            case NewMessage():
                return await self._inbound(told, room)
            case EditedMessage():
                return Edited(room, told.id, told.content, told.at)
            case DeletedMessage():
                return Deleted(room, told.id)
            case PinChange():
                by = await self._directory.named(told.by)
                return Pinned(room, told.id, by, told.pinned) if by else None
            case OptionReaction():
                return await self._chosen(told)

    async def _chosen(self, vote: OptionReaction) -> Chosen | None:
        question = self._posts.question(vote.id)
        if question is None or vote.option >= len(question.options):
            return None
        by = await self._directory.named(vote.by)
        return Chosen(question.id, vote.option, by) if by else None

    async def _inbound(self, said: NewMessage, room: Room) -> Inbound:
        """The message with what has to be looked up for it, all at once and not for long."""
        mentioned = said.mentioned or room.kind == "dm"
        by, attachments, ours = await asyncio.gather(
            self._directory.sender(said),
            self._files.keep(said.rid, said.files),
            self._answers_us(said, known=mentioned),
        )
        mentioned = mentioned or ours
        context = await self._directory.thread_context(said) if mentioned else None
        if room.kind == "dm":
            room = replace(room, name=by.name)
        return inbound(
            said,
            room,
            by,
            mentioned=mentioned,
            attachments=attachments,
            thread_context=context,
            recipient_id=self._recipient,
            require_mention=self._require_mention,
        )

    async def _answers_us(self, said: NewMessage, *, known: bool) -> bool:
        if known or said.thread_id is None:
            return False
        return await self._directory.ours(said.thread_id)
