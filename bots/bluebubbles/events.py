"""BlueBubbles' payloads as events. Pure.

A message comes in by webhook and again by a query after a gap: both read the same. What it doesn't
say (names, files' bytes, an update's chat) is looked up in `inbound`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from bots.bluebubbles.wire import WireAttachment, WireChat, WireMessage
from bots.kit.events import DeletedMessage, EditedMessage, FileRef, RenamedRoom
from contract.chat import EXTERNAL_ID, RoomKind, Speaker
from contract.values import dataclass

# Stands in a text where an attachment is; newer servers take it out themselves.
_OBJECT = "\ufffc"
# Link previews and the like: no file that anybody sent.
_PAYLOAD = ".pluginPayloadAttachment"
# Without these there is no message; each repair takes away every mistake that is seen then.
_NEEDED, _REPAIRS = {"guid", "text", "isFromMe", "chats", "handle"}, 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SOURCE = "bluebubbles"
ALIAS = "bb"  # begins the ids of people; the contract knows it
ME = "me"  # the owner of the account, in ids
ME_NAME = "Me"  # and to people

_UNFIT = re.compile(r"[\s*%\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Chat:
    """Where a message stands. name: "" where the people in it are its name. address: the other
    person's, in a chat of two."""

    guid: str
    kind: RoomKind
    name: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message. room: None where it isn't told. sender: an address, "" for the account's owner.

    sent_ms: milliseconds since 1970, None where it isn't told. temp_guid: the name that the
    sender's program gave it. row: its number in the Mac's own order; None: it isn't told. mentions:
    iMessage tells programs of none.
    """

    id: str
    room: Chat | None
    sender: str
    from_me: bool
    content: str
    sent_ms: int | None
    reply_to: str | None = None
    temp_guid: str | None = None
    files: tuple[FileRef, ...] = ()
    row: int | None = None
    mentions: tuple[str, ...] = ()


Edit = EditedMessage[Chat | None]
Deletion = DeletedMessage[Chat | None]
PlatformEvent = NewMessage | Edit | Deletion | RenamedRoom


def parse_events(payload: Mapping[str, Any]) -> tuple[PlatformEvent, ...]:
    """The events in a webhook's payload; none where it is nothing for a chat.

    Raises ValueError on a payload that BlueBubbles doesn't write.
    """
    kind, data = payload.get("type"), payload.get("data")
    if kind not in ("new-message", "updated-message", "group-name-change"):
        return ()
    if not isinstance(data, Mapping):
        raise ValueError(f"{kind} has no data")
    message = read_message(data)
    if kind == "group-name-change":
        return tuple(RenamedRoom(chat.guid) for chat in message.chats)
    return changes(message) if kind == "updated-message" else messages(message)


def read_message(data: Mapping[str, Any]) -> WireMessage:
    """A message as the server wrote it; what else in it can't be read counts as absent.

    Raises ValueError, which names fields and no text, when it is about what nobody can do without.
    """
    kept: Any = dict(data)
    for _ in range(_REPAIRS):
        try:
            return WireMessage.model_validate(kept)
        except ValidationError as error:
            places = {e["loc"][:2] for e in error.errors()}
        fields = sorted({str(place[0]) for place in places if place})
        if not fields or _NEEDED & set(fields):
            break
        kept = _without(kept, places)
    raise ValueError(f"a message can't be read: {', '.join(fields) or 'it is no object'}")


def _without(data: Mapping[str, Any], places: Collection[tuple[int | str, ...]]) -> dict[str, Any]:
    """The message without what stands at these places; of a list, without those entries."""
    kept = dict(data)
    for name in {str(place[0]) for place in places}:
        at = {place[1] for place in places if place[0] == name and len(place) > 1}
        listed = kept.pop(name, None)
        if isinstance(listed, list) and at:
            kept[name] = [entry for number, entry in enumerate(listed) if number not in at]
    return kept


def messages(message: WireMessage) -> tuple[NewMessage | Edit | Deletion, ...]:
    """A message and its changes since; nothing of a tapback, of a change of the group and of one
    that was never sent."""
    if _is_service(message):
        return ()
    if _is_retracted(message):
        return changes(message)
    said = _new_message(message)
    return (said, *changes(message)) if said else ()


def changes(message: WireMessage) -> tuple[Edit | Deletion, ...]:
    """An edit or a removal; most updates (delivered, read) are neither.

    A message that was taken back is one that was edited and is empty: Apple hardly ever sets the
    date of a retraction.
    """
    if _is_service(message):
        return ()
    chat = _chat(message)
    if _is_retracted(message):
        return (DeletedMessage(chat, message.guid),)
    if not message.edited:
        return ()
    return (EditedMessage(chat, message.guid, content(message), moment(message.edited)),)


def _is_service(message: WireMessage) -> bool:
    tapback = message.tapback not in (None, "", "0")
    return bool(tapback or message.item_type or message.group_action or message.error)


def _is_retracted(message: WireMessage) -> bool:
    empty = not message.text and not message.subject and not message.attachments
    return bool(message.retracted) or (bool(message.edited) and empty)


def _new_message(message: WireMessage) -> NewMessage | None:
    chat, from_me = _chat(message), bool(message.is_from_me)
    files, text = tuple(_files(message.attachments)), content(message)
    if not text.strip() and not files:
        return None
    sender = "" if from_me else (message.handle and message.handle.address) or ""
    if not from_me and not sender:
        sender = chat.address if chat else ""
        if not sender:
            raise ValueError(f"nobody is told to have sent {message.guid}")
    return NewMessage(
        id=message.guid,
        room=chat,
        sender=sender,
        from_me=from_me,
        content=text,
        sent_ms=message.created,
        reply_to=message.thread_guid or None,
        temp_guid=message.temp_guid,
        files=files,
        row=message.row,
    )


def content(message: WireMessage) -> str:
    """The typed text: the subject line if there is one, and the text without its objects.

    U+FFFC is no key on a keyboard: it stands for an attachment, and one is left out for each.
    """
    text = (message.text or "").replace(_OBJECT, "", len(message.attachments))
    return f"{message.subject}\n{text}" if message.subject else text


def _files(attachments: Sequence[WireAttachment]) -> list[FileRef]:
    shown = (
        file
        for file in attachments
        if not file.hidden and not (file.transfer_name or "").endswith(_PAYLOAD)
    )
    return [
        FileRef(
            file.guid,
            file.transfer_name or file.guid,
            file.mime_type or "application/octet-stream",
            file.total_bytes or 0,
        )
        for file in shown
    ]


def _chat(message: WireMessage) -> Chat | None:
    return chat_of(message.chats[0]) if message.chats else None


def chat_of(chat: WireChat) -> Chat:
    """Style 45 or `;-;` in its guid: two people; anything else is a group, the closer kind."""
    is_pair = chat.style == 45 or (chat.style is None and ";-;" in chat.guid)
    if not is_pair:
        return Chat(chat.guid, "gdm", (chat.display_name or "").strip())
    return Chat(chat.guid, "dm", address=chat.identifier or address_of(chat.guid))


def address_of(guid: str) -> str:
    """The part of a chat's guid that stays when the chat moves between iMessage and SMS."""
    return guid.rpartition(";")[2]


def moment(millis: int) -> datetime:
    """Milliseconds since 1970 as a time."""
    return _EPOCH + timedelta(milliseconds=millis)


def millis(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


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
