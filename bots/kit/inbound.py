"""A platform's message as one of the ingest contract, and how events reach the gateway."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

import structlog

from bots.bot import Receive
from bots.kit.lanes import GRACE_S
from bots.kit.platform_bot import BotSetup
from contract.chat import Attachment, Event, Inbound, IngestMetadata, Room, Speaker
from contract.errors import PlatformError, Rejected
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")


class PostedMessage(Protocol):
    """A message as a platform reports it."""

    @property
    def id(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def mentions(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class MessageContext:
    """The facts that were looked up for a message.

    thread_context: a summary of what was said before it. from_me: the owner of the bot's account
    wrote it. passive: no persona may answer. guid: its id, for platforms that
    need it beside. channel: the room's own id where that of the contract is an escaped one.
    """

    mentioned: bool
    sent_at: datetime
    thread_id: str | None = None
    attachments: Sequence[Attachment] = ()
    thread_context: str | None = None
    from_me: bool = False
    passive: bool = False
    guid: str | None = None
    channel: str | None = None


def inbound(
    setup: BotSetup,
    source: str,
    message: PostedMessage,
    room: Room,
    by: Speaker,
    context: MessageContext,
) -> Inbound:
    """The message with everything that was looked up for it."""
    mentioned, passive = context.mentioned, context.passive
    alone = setup.personas[0] if mentioned and len(setup.personas) == 1 else None
    meta = IngestMetadata(
        source=source,
        sender_id=by.id,
        sender_display_name=by.name,
        sender_type=by.kind,
        channel_external_id=context.channel or room.external_id,
        mention_token=by.mention,
        mentions=[f"{source}:{one}" for one in message.mentions],
        thread_context=context.thread_context,
        is_from_me=context.from_me,
        passive=passive,
        trigger_rag=not passive and (mentioned or not setup.require_mention),
        recipient_id=f"bot:{alone}" if alone else None,
        message_guid=context.guid,
    )
    return Inbound(
        content=message.content,
        meta=meta,
        room=room,
        message_id=message.id,
        sent_at=context.sent_at,
        thread_id=context.thread_id,
        reply_to=message.reply_to,
        attachments=tuple(context.attachments),
        mentioned=mentioned,
    )


def named_dm(room: Room, by: Speaker) -> Room:
    """A direct message has no name of its own: it is called like the person who writes."""
    return replace(room, name=by.name) if room.kind == "dm" else room


class Delivery:
    """Events on their way to the gateway, while the bot runs."""

    def __init__(self, bot: str) -> None:
        self._bot = bot
        self._receive: Receive | None = None
        self._rooms: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._under_way: set[asyncio.Task[Any]] = set()

    def open(self, receive: Receive) -> None:
        """Events are taken from now on."""
        self._receive = receive

    async def close(self) -> None:
        """Take no more events, and let those under way come to their end."""
        self._receive = None
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=GRACE_S)

    @contextmanager
    def taking(self) -> Iterator[None]:
        """While a payload is being taken. Raises PlatformError where the bot doesn't run."""
        task = asyncio.current_task()
        if self._receive is None or task is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        self._under_way.add(task)
        try:
            yield
        finally:
            self._under_way.discard(task)

    def in_room(self, room: str) -> asyncio.Lock:
        """Held while an event of the room is handed on: the next one waits for it."""
        return self._rooms[room]

    async def give(self, event: Event) -> None:
        """Hand one on; return when it is on disk. An event that breaks the contract is left out.

        Raises PlatformError where the bot doesn't run.
        """
        if self._receive is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        try:
            await self._receive(event)
        except Rejected as error:
            self.skip(error)

    def skip(self, error: Exception) -> None:
        """Say in the log why an event is left out."""
        log.warning("event.skipped", bot=self._bot, reason=f"it is left out: {error}")
