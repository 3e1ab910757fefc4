"""What was said as messages of the ingest contract: ids, who it is for, and whose it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from urllib.parse import unquote

from bots.bluebubbles.events import Chat, NewMessage
from bots.kit.naming import Named
from contract.chat import EXTERNAL_ID, Attachment, Inbound, IngestMetadata, Room, Speaker

SOURCE = "bluebubbles"
ALIAS = "bb"  # begins the ids of people; the contract knows it
ME = "me"  # the owner of the account, in ids
ME_NAME = "Me"  # and to people

_UNFIT = re.compile(r"[\s*%\x00-\x1f\x7f]")
# What the owner may say to Moot itself without naming a persona: in a group any command, in a
# chat with one other person only what answers a question or stops an answer.
_COMMAND = re.compile(r"!(?:[a-z]+|[1-9])\b", re.IGNORECASE)
_REMOTE = re.compile(r"!(?:stop|[1-9])\s*", re.IGNORECASE)


def external(native: str) -> str:
    """A guid or an address as an id of the contract: what may not stand in one is escaped (an SMS
    can come from `DHL Info`). Raises ValueError when it can't be one."""
    fit = _UNFIT.sub(lambda sign: "".join(f"%{byte:02X}" for byte in sign[0].encode()), native)
    if not EXTERNAL_ID.fullmatch(fit):
        raise ValueError("an id is empty or too long")
    return fit


def native(external_id: str) -> str:
    """The guid or address that an id stands for."""
    return unquote(external_id)


def room_id(guid: str) -> str:
    return f"{SOURCE}:{external(guid)}"


def person(address: str, name: str) -> Speaker:
    """Somebody else. iMessage tags nobody in a text: no mention."""
    return Speaker(f"{ALIAS}:{external(address)}", name)


def owner(chat: Chat, *, alone: bool = False) -> Speaker:
    """The account's owner, typing on a device of their own.

    In a chat of two their id has the other person's address in it: what the owner tells a persona
    in one person's chat is not what it may say in another's. alone: the chat is with themselves.
    """
    if chat.kind == "dm" and not alone:
        return Speaker(f"{ALIAS}:{external(f'{ME}/{chat.address}')}", ME_NAME)
    return Speaker(f"{ALIAS}:{ME}", ME_NAME)


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
