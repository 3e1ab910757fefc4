"""Discord's payloads as events. Pure.

What an event doesn't say (the room of a thread, nicknames, files' bytes) is looked up in
`inbound`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from bots.discord.wire import (
    WireAttachment,
    WireDelete,
    WireMember,
    WireMessage,
    WireReaction,
    WireUser,
)
from bots.kit.events import FileRef, PinChange, SaidMessage, faulty_fields
from bots.kit.reactions import PIN
from bots.kit.recent import Recent
from contract.chat import SLASH, Speaker
from contract.values import dataclass

SOURCE = "discord"

# Message types: somebody says something, replies, runs a command (a bot's answer), a context menu.
_SAID = {0, 19, 20, 23}
_PINNED = 6
_FORWARDED = 1  # of a reference
_EPOCH_MS = 1_420_070_400_000  # a snowflake counts milliseconds from 2015, 22 bits to the left

_REMEMBERED = 5_000
_SNOWFLAKE = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody as an event shows them. nick, roles: None, the event doesn't say."""

    id: str
    name: str
    is_bot: bool
    nick: str | None = None
    roles: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """The place where something happened: a channel, or a thread, whose id is a channel's too."""

    id: str
    guild: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage(SaidMessage):
    """A message. quotes_us: it replies to one of ours. is_command: it was run by a slash, and
    stands nowhere."""

    room: Channel
    by: Person
    role_ids: tuple[str, ...] = ()
    channel_type: int | None = None
    quoted: WireMessage | None = None
    quotes_us: bool = False
    is_command: bool = False


@dataclass(frozen=True, slots=True)
class OwnMessage:
    """A message of our own. nonce: what we gave it, as far as Discord tells."""

    channel: str
    id: str
    nonce: str | None


@dataclass(frozen=True, slots=True)
class MessageUpdate:
    """A message is not as it was: its text, its pin, or only the preview of a link.

    content, edited_at, pinned: None, not told. by: who wrote it.
    """

    room: Channel
    id: str
    by: Person
    content: str | None
    edited_at: datetime | None
    pinned: bool | None


@dataclass(frozen=True, slots=True)
class DeletedMessages:
    """Messages of one channel are gone."""

    room: Channel
    ids: tuple[str, ...]


PlatformEvent = (
    NewMessage | OwnMessage | MessageUpdate | PinChange[Channel, Person] | DeletedMessages
)


def parse_event(name: str, data: Mapping[str, Any], own_id: str) -> PlatformEvent | None:
    """The event that a payload reports; None when it is nothing for a chat.

    Raises ValueError on an event that Discord doesn't write.
    """
    try:
        match name:
            case "MESSAGE_CREATE":
                return parse_message(data, own_id)
            case "MESSAGE_UPDATE":
                return _updated(WireMessage.model_validate(data), own_id)
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                gone = WireDelete.model_validate(data)
                ids = tuple(filter(None, (gone.id, *gone.ids)))
                return DeletedMessages(Channel(gone.channel_id, gone.guild_id), ids)
            case "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE":
                reaction = WireReaction.model_validate(data)
                return _reacted(reaction, own_id, added=name.endswith("ADD"))
    except ValidationError as error:
        raise ValueError(f"{name} can't be read: {faulty_fields(error)}") from None
    return None


def parse_message(
    data: Mapping[str, Any], own_id: str
) -> NewMessage | OwnMessage | PinChange[Channel, Person] | None:
    """A message from an event or from the history. Raises ValidationError."""
    message = WireMessage.model_validate(data)
    author = message.author
    if author is None:
        return None
    if author.id == own_id:
        nonce = None if message.nonce is None else str(message.nonce)
        return OwnMessage(message.channel_id, message.id, nonce)
    reference = message.message_reference
    if message.type == _PINNED and reference and reference.message_id:
        by = person(author, message.member)
        room = Channel(message.channel_id, message.guild_id)
        return PinChange(room, reference.message_id, by, pinned=True)
    if (message.type or 0) not in _SAID:
        return None
    return _new_message(message, author, own_id)


def _new_message(message: WireMessage, author: WireUser, own_id: str) -> NewMessage:
    is_bot = bool(author.bot) or message.webhook_id is not None
    content = _text(message, is_bot=is_bot)
    reference = message.message_reference
    return NewMessage(
        room=Channel(message.channel_id, message.guild_id),
        id=message.id,
        by=person(author, message.member, is_bot=is_bot),
        content=content,
        at=moment(message.timestamp, message.id),
        mentioned=_addresses(content, own_id),
        mentions=_called(message, own_id),
        role_ids=tuple(message.mention_roles),
        channel_type=message.channel_type,
        reply_to=reference.message_id if reference and reference.type != _FORWARDED else None,
        quoted=message.referenced_message,
        quotes_us=_is_ours(message.referenced_message, own_id),
        files=tuple(_file(file) for file in message.attachments),
    )


def _text(message: WireMessage, *, is_bot: bool) -> str:
    """The text; of a bot that says nothing beside its embeds, theirs."""
    if message.content or not is_bot:
        return message.content or ""
    shown = ((embed.title, embed.description) for embed in message.embeds)
    return "\n".join(text for texts in shown for text in texts if text)


def _addresses(content: str, own_id: str) -> bool:
    """True if its text names the account: Discord lists whom a reply notifies among those whom it
    mentions."""
    return bool(own_id) and bool(re.search(rf"<@!?{re.escape(own_id)}>", content))


def _called(message: WireMessage, own_id: str) -> tuple[str, ...]:
    """Ids of the others whom it mentions, roles and all that are here among them."""
    users = (user.id for user in message.mentions if user.id != own_id)
    return (*users, *message.mention_roles, *(["everyone"] if message.mention_everyone else []))


def _is_ours(message: WireMessage | None, own_id: str) -> bool:
    return message is not None and message.author is not None and message.author.id == own_id


def _updated(message: WireMessage, own_id: str) -> MessageUpdate:
    """An update may leave out all but the ids; who wrote it is then a person without one."""
    author = message.author
    by = person(author, message.member) if author else Person("", "", False)
    said = (message.type or 0) in _SAID and by.id != own_id  # a pin on our answer is news
    edited = message.edited_timestamp
    return MessageUpdate(
        Channel(message.channel_id, message.guild_id),
        message.id,
        by,
        message.content if said else None,
        moment(edited, message.id) if said and edited else None,
        message.pinned,
    )


def _reacted(
    reaction: WireReaction, own_id: str, *, added: bool
) -> PinChange[Channel, Person] | None:
    if reaction.emoji.name != PIN or reaction.user_id == own_id:
        return None
    user = reaction.member.user if reaction.member else None
    by = person(user or WireUser(id=reaction.user_id), reaction.member)
    if by.is_bot:
        return None
    room = Channel(reaction.channel_id, reaction.guild_id)
    return PinChange(room, reaction.message_id, by, added)


def person(user: WireUser, member: WireMember | None, *, is_bot: bool | None = None) -> Person:
    nick = member.nick if member else None
    name = nick or user.global_name or user.username or ""
    roles = tuple(member.roles) if member else None
    return Person(user.id, name, bool(user.bot) if is_bot is None else is_bot, nick, roles)


def _file(file: WireAttachment) -> FileRef:
    mime = (file.content_type or "application/octet-stream").partition(";")[0].strip()
    return FileRef(file.id, file.filename, mime, max(file.size, 0), file.url)


def later(snowflake: str, other: str) -> bool | None:
    """True if the first id was given after the second; None: one of them is none of Discord's."""
    given = snowflake.removeprefix(SLASH)
    if not (_SNOWFLAKE.fullmatch(given) and _SNOWFLAKE.fullmatch(other)):
        return None
    return int(given) > int(other)


def moment(timestamp: str | None, snowflake: str) -> datetime:
    """A time as Discord writes it; without one, the time that the id holds."""
    if timestamp:
        try:
            at = datetime.fromisoformat(timestamp)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        except ValueError:
            pass
    return datetime.fromtimestamp(((int(snowflake) >> 22) + _EPOCH_MS) / 1000, UTC)


class UpdateTracker:
    """Remembers the text of messages, and who pinned them.

    One event reports pins and edits, and neither plainly. A pin comes as an update of the message
    that doesn't say whose doing it was, and as a message of Discord's own that does; in either
    order. Taking it back comes as an update alone.
    """

    def __init__(self) -> None:
        self._texts: Recent[str, str] = Recent(_REMEMBERED)
        self._pins: Recent[str, Person] = Recent(_REMEMBERED)

    def read(self, message: str, text: str) -> None:
        """The text of a message as it was told last."""
        self._texts[message] = text

    def edited(self, update: MessageUpdate) -> bool:
        """True if the update is an edit; a preview that unfolds changes no text."""
        if update.content is None:
            return False
        known = self._texts.get(update.id)
        if known == update.content or (known is None and update.edited_at is None):
            return False
        self.read(update.id, update.content)
        return True

    def pinned(self, change: PinChange[Channel, Person]) -> bool:
        """True if the change is news."""
        if change.pinned:
            new = change.id not in self._pins
            self._pins[change.id] = change.by
            return new
        self._pins.pop(change.id, None)
        return True

    def pin_of(self, update: MessageUpdate) -> PinChange[Channel, Person] | None:
        """The pin that an update tells, if it is news: by its author, where nobody said who."""
        if update.pinned is None or update.pinned == (update.id in self._pins) or not update.by.id:
            return None
        by = self._pins.get(update.id, update.by)
        return PinChange(update.room, update.id, by, update.pinned)


def speaker(by: Person, name: str = "", role: str | None = None) -> Speaker:
    """name: as the guild calls them, where that is known."""
    shown = name or by.name or by.id
    if by.is_bot:
        return Speaker(f"{SOURCE}:{by.id}", shown, "bot", None, role)
    return Speaker(f"{SOURCE}:{by.id}", shown, "human", f"<@{by.id}>", role)
