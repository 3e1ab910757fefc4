"""A message of Discord's as one of the ingest contract. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Unpack

from bots.discord.events import SOURCE, NewMessage, Person
from bots.kit.inbound import MessageContext, message
from contract.chat import Inbound, Room, Speaker


def speaker(by: Person, name: str = "", role: str | None = None) -> Speaker:
    """name: as the guild calls them, where that is known."""
    shown = name or by.name or by.id
    if by.is_bot:
        return Speaker(f"{SOURCE}:{by.id}", shown, "bot", None, role)
    return Speaker(f"{SOURCE}:{by.id}", shown, "human", f"<@{by.id}>", role)


def addressed(message: NewMessage, room: Room, own_roles: Collection[str]) -> bool:
    """By a mention, a reply, a mention of our own role, or in a direct message."""
    return message.mentioned or room.kind == "dm" or bool(set(message.role_ids) & set(own_roles))


def inbound(
    said: NewMessage,
    room: Room,
    by: Speaker,
    thread_id: str | None = None,
    **found: Unpack[MessageContext],
) -> Inbound:
    """The message with everything that was looked up for it."""
    return message(
        SOURCE,
        room,
        by,
        content=said.content,
        message_id=said.id,
        sent_at=said.at,
        thread_id=thread_id,
        reply_to=said.reply_to,
        **found,
    )
