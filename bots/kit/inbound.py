"""A platform's message as one of the ingest contract. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from bots.kit.bot_setup import BotSetup
from contract.chat import Attachment, Inbound, IngestMetadata, Room, Speaker


class PostedMessage(Protocol):
    """A message as a platform reports it."""

    @property
    def id(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def reply_to(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class MessageContext:
    """What was looked up for a message.

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
    meta = IngestMetadata(
        source=source,
        sender_id=by.id,
        sender_display_name=by.name,
        sender_type=by.kind,
        channel_external_id=context.channel or room.external_id,
        mention_token=by.mention,
        thread_context=context.thread_context,
        is_from_me=context.from_me,
        passive=passive,
        trigger_rag=not passive and (mentioned or not setup.require_mention),
        recipient_id=setup.recipient_id if mentioned else None,
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
