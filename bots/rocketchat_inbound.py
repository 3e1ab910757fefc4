"""What Rocket.Chat's people say, in the words of the ingest contract. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bots.rocketchat_events import SOURCE, Said
from contract import Attachment, Inbound, IngestMetadata, Room, Speaker


def speaker(
    external_id: str, name: str, username: str, *, is_bot: bool, role: str | None = None
) -> Speaker:
    shown = name.strip() or username or external_id
    mention = f"@{username}" if username and not is_bot else None
    return Speaker(f"{SOURCE}:{external_id}", shown, "bot" if is_bot else "human", mention, role)


def inbound(
    said: Said,
    room: Room,
    by: Speaker,
    *,
    mentioned: bool,
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
        channel_external_id=said.rid,
        mention_token=by.mention,
        thread_context=thread_context,
        trigger_rag=mentioned or not require_mention,
        recipient_id=recipient_id if mentioned else None,
    )
    return Inbound(
        content=said.content,
        meta=meta,
        room=room,
        message_id=said.id,
        sent_at=said.at,
        thread_id=said.thread_id,
        reply_to=said.reply_to,
        attachments=tuple(attachments),
        mentioned=mentioned,
    )
