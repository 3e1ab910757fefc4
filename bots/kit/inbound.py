"""A platform's message as one of the ingest contract. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Required, TypedDict, Unpack

from contract.chat import Attachment, Inbound, IngestMetadata, Room, Speaker


class MessageContext(TypedDict, total=False):
    """What was looked up for a message. recipient_id: who is meant where it addresses us."""

    mentioned: Required[bool]
    attachments: Sequence[Attachment]
    thread_context: str | None
    recipient_id: str | None
    require_mention: bool


def message(
    source: str,
    room: Room,
    by: Speaker,
    *,
    content: str,
    message_id: str,
    sent_at: datetime,
    thread_id: str | None,
    reply_to: str | None,
    **found: Unpack[MessageContext],
) -> Inbound:
    """What was said, with everything that was looked up for it."""
    mentioned = found["mentioned"]
    meta = IngestMetadata(
        source=source,
        sender_id=by.id,
        sender_display_name=by.name,
        sender_type=by.kind,
        channel_external_id=room.external_id,
        mention_token=by.mention,
        thread_context=found.get("thread_context"),
        trigger_rag=mentioned or not found.get("require_mention", True),
        recipient_id=found.get("recipient_id") if mentioned else None,
    )
    return Inbound(
        content=content,
        meta=meta,
        room=room,
        message_id=message_id,
        sent_at=sent_at,
        thread_id=thread_id,
        reply_to=reply_to,
        attachments=tuple(found.get("attachments", ())),
        mentioned=mentioned,
    )
