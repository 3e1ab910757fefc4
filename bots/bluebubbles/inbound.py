"""What BlueBubbles told, with all that has to be looked up for it, as an event of the contract."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from bots.bluebubbles.directory import Directory
from bots.bluebubbles.events import (
    ALIAS,
    ME,
    SOURCE,
    Chat,
    DeletedMessage,
    EditedMessage,
    NewMessage,
    moment,
    native,
)
from bots.bluebubbles.files import Files
from bots.bluebubbles.posts import OwnPostDetector
from bots.kit.naming import Named
from contract.chat import Attachment, Deleted, Edited, Event, Inbound, IngestMetadata, Room, Speaker

# What the owner may say to Moot itself without naming a persona: in a group any command, in a
# chat with one other person only what answers a question or stops an answer.
_COMMAND = re.compile(r"!(?:[a-z]+|[1-9])\b", re.IGNORECASE)
_REMOTE = re.compile(r"!(?:stop|[1-9])\s*", re.IGNORECASE)


def is_for_us(said: NewMessage, chat: Chat, named: Named, own_posts: Collection[str]) -> bool:
    """A direct message, a named persona, or a reply to a post of ours.

    What the owner types in another person's chat is for that person: only a name makes it ours.
    """
    if named(said.content):
        return True
    if said.from_me:
        return False
    return chat.kind == "dm" or said.reply_to in own_posts


def is_aside(said: NewMessage, chat: Chat, *, mentioned: bool) -> bool:
    """Whether the owner speaks to the other people, and no persona may answer."""
    if not said.from_me or mentioned:
        return False
    command = _REMOTE.fullmatch if chat.kind == "dm" else _COMMAND.match
    return not command(said.content)


def inbound(
    said: NewMessage,
    room: Room,
    by: Speaker,
    *,
    sent_at: datetime,
    mentioned: bool,
    passive: bool = False,
    attachments: Sequence[Attachment] = (),
    thread_context: str | None = None,
    recipient_id: str | None = None,
    require_mention: bool = True,
) -> Inbound:
    """The message with everything that was looked up for it."""
    meta = IngestMetadata(
        source=SOURCE,
        sender_id=by.id,
        sender_display_name=by.name,
        sender_type="human",
        channel_external_id=native(room.external_id),
        thread_context=thread_context,
        is_from_me=said.from_me or by.id == f"{ALIAS}:{ME}",
        passive=passive,
        trigger_rag=not passive and (mentioned or not require_mention),
        recipient_id=recipient_id if mentioned else None,
        message_guid=said.guid,
    )
    return Inbound(
        content=said.content,
        meta=meta,
        room=room,
        message_id=said.guid,
        sent_at=sent_at,
        reply_to=said.reply_to,
        attachments=tuple(attachments),
        mentioned=mentioned,
    )


class EventConverter:
    """is_named: whether a text names a persona as `@name`. require_mention: the gateway answers
    only those who addressed somebody. now: the time in seconds since 1970.
    """

    def __init__(
        self,
        directory: Directory,
        echoes: OwnPostDetector,
        files: Files,
        personas: Sequence[str],
        *,
        is_named: Named,
        require_mention: bool,
        now: Callable[[], float],
    ) -> None:
        self._directory, self._echoes, self._files = directory, echoes, files
        self._own_name = personas[0]
        self._recipient = f"bot:{personas[0]}" if len(personas) == 1 else None
        self._is_named, self._require_mention, self._now = is_named, require_mention, now

    async def event(
        self, found: NewMessage | EditedMessage | DeletedMessage, chat: Chat
    ) -> Event | None:
        """What the gateway is told; None for our own doing. Never waits long."""
        if isinstance(found, NewMessage):
            return await self._inbound(found, chat)
        if found.guid in self._echoes.guids:
            return None
        room = await self._directory.room(chat)
        if isinstance(found, DeletedMessage):
            return Deleted(room, found.guid)
        return Edited(room, found.guid, found.content, found.at)

    async def _inbound(self, said: NewMessage, chat: Chat) -> Inbound | None:
        with_ourselves = chat.kind == "dm" and await self._directory.is_own_address(chat.address)
        if await self._echoes.is_own(said, with_ourselves=with_ourselves):
            return None
        if said.from_me and with_ourselves:
            return None  # it comes a second time, as a message to me
        mentioned = is_for_us(said, chat, self._is_named, self._echoes.guids)
        by, room, attachments, context = await asyncio.gather(
            self._directory.speaker(said, chat),
            self._directory.room(chat),
            self._files.keep(chat.guid, said.files),
            self._thread_context(said, chat, mentioned),
        )
        sent_ms = int(self._now() * 1000) if said.sent_ms is None else said.sent_ms
        return inbound(
            said,
            room,
            by,
            sent_at=moment(sent_ms),
            mentioned=mentioned,
            passive=is_aside(said, chat, mentioned=mentioned),
            attachments=attachments,
            thread_context=context,
            recipient_id=self._recipient,
            require_mention=self._require_mention,
        )

    async def _thread_context(self, said: NewMessage, chat: Chat, mentioned: bool) -> str | None:
        if not (mentioned and said.reply_to):
            return None
        own_posts = self._echoes.guids
        return await self._directory.thread_context(said, chat, self._own_name, own_posts)
