"""BlueBubbles' events as events of the contract, with all that has to be looked up for them."""

from __future__ import annotations

import asyncio
import re

from bots.bluebubbles.directory import Directory
from bots.bluebubbles.events import (
    ALIAS,
    ME,
    SOURCE,
    Chat,
    Deletion,
    Edit,
    NewMessage,
    moment,
)
from bots.bluebubbles.files import Files
from bots.bluebubbles.posts import OwnPostDetector
from bots.kit.events import DeletedMessage
from bots.kit.inbound import MessageContext, inbound
from bots.kit.naming import Named
from bots.kit.platform_bot import BotSetup
from contract.chat import Deleted, Edited, Event, Inbound

# What the owner may say to Moot itself without naming a persona: in a group any command, in a
# chat with one other person only what answers a question or stops an answer.
_COMMAND = re.compile(r"[!！](?:[a-z]+|[1-9])\b", re.IGNORECASE)
_REMOTE = re.compile(r"[!！](?:stop|[1-9](?:\s+[a-z][0-9])?)\s*", re.IGNORECASE)


def is_for_us(said: NewMessage, chat: Chat, named: Named) -> bool:
    """A direct message, or a named persona.

    What the owner types in another person's chat is for that person: only a name makes it ours.
    """
    if named(said.content):
        return True
    if said.from_me:
        return False
    return chat.kind == "dm"


def is_aside(said: NewMessage, chat: Chat, *, mentioned: bool) -> bool:
    """True if the owner speaks to the other people, and no persona may answer."""
    if not said.from_me or mentioned:
        return False
    command = _REMOTE.fullmatch if chat.kind == "dm" else _COMMAND.match
    return not command(said.content)


class EventConverter:
    """Completes messages. It never waits long: what can't be looked up in time is left out."""

    def __init__(
        self, setup: BotSetup, directory: Directory, own_posts: OwnPostDetector, files: Files
    ) -> None:
        self._setup, self._directory = setup, directory
        self._own_posts, self._files = own_posts, files

    async def event(self, found: NewMessage | Edit | Deletion, chat: Chat) -> Event | None:
        """The event as the gateway takes it; None for our own doing."""
        if isinstance(found, NewMessage):
            return await self._message(found, chat)
        if found.id in self._own_posts.guids:
            return None
        room = await self._directory.room(chat)
        if isinstance(found, DeletedMessage):
            return Deleted(room, found.id)
        return Edited(room, found.id, found.content, found.at)

    async def _message(self, said: NewMessage, chat: Chat) -> Inbound | None:
        with_ourselves = chat.kind == "dm" and await self._directory.is_own_address(chat.address)
        if await self._own_posts.is_own(said, with_ourselves=with_ourselves):
            return None
        if said.from_me and with_ourselves:
            return None  # it comes a second time, as a message to me
        mentioned = is_for_us(said, chat, self._setup.names_us)
        by, room, attachments, before = await asyncio.gather(
            self._directory.speaker(said, chat),
            self._directory.room(chat),
            self._files.keep(chat.guid, said.files),
            self._thread_context(said, chat, mentioned),
        )
        sent_ms = int(self._setup.now() * 1000) if said.sent_ms is None else said.sent_ms
        context = MessageContext(
            mentioned,
            moment(sent_ms),
            attachments=attachments,
            thread_context=before,
            from_me=said.from_me or by.id == f"{ALIAS}:{ME}",
            passive=is_aside(said, chat, mentioned=mentioned),
            guid=said.id,
            channel=chat.guid,
        )
        return inbound(self._setup, SOURCE, said, room, by, context)

    async def _thread_context(self, said: NewMessage, chat: Chat, mentioned: bool) -> str | None:
        asks = mentioned or said.reply_to in self._own_posts.guids
        if not (asks and said.reply_to):
            return None
        own_name = self._setup.personas[0]
        return await self._directory.thread_context(said, chat, own_name, self._own_posts.guids)
