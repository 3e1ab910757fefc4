"""A message of Discord's as one of the ingest contract. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bots.discord_events import SOURCE, Person, Said
from contract import Attachment, Inbound, IngestMetadata, Room, Speaker


def speaker(by: Person, name: str = "", role: str | None = None) -> Speaker:
    """name: as the guild calls them, where that is known."""
    shown = name or by.name or by.id
    if by.is_bot:
        return Speaker(f"{SOURCE}:{by.id}", shown, "bot", None, role)
    return Speaker(f"{SOURCE}:{by.id}", shown, "human", f"<@{by.id}>", role)


def addressed(message: Said, room: Room, own_roles: Collection[str]) -> bool:
    """By a mention, a reply, a mention of our own role, or in a direct message."""
    return message.mentioned or room.kind == "dm" or bool(set(message.role_ids) & set(own_roles))


def inbound(
    message: Said,
    room: Room,
    by: Speaker,
    *,
    mentioned: bool,
    thread_id: str | None = None,
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
        sender_type=by.kind,
        channel_external_id=room.external_id,
        mention_token=by.mention,
        thread_context=thread_context,
        trigger_rag=mentioned or not require_mention,
        recipient_id=recipient_id if mentioned else None,
    )
    return Inbound(
        content=message.content,
        meta=meta,
        room=room,
        message_id=message.id,
        sent_at=message.at,
        thread_id=thread_id,
        reply_to=message.reply_to,
        attachments=tuple(attachments),
        mentioned=mentioned,
    )
