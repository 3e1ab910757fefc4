"""What Rocket.Chat's people say, in the words of the ingest contract. Pure."""

from __future__ import annotations

from typing import Unpack

from bots.kit import inbound as ingest
from bots.rocketchat.events import SOURCE, NewMessage
from contract.chat import Inbound, Room, Speaker


def speaker(
    external_id: str, name: str, username: str, *, is_bot: bool, role: str | None = None
) -> Speaker:
    shown = name.strip() or username or external_id
    mention = f"@{username}" if username and not is_bot else None
    return Speaker(f"{SOURCE}:{external_id}", shown, "bot" if is_bot else "human", mention, role)


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
