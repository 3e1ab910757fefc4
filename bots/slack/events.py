"""Slack's events as values, and those values as messages of the ingest contract. Pure.

A mention in a channel arrives twice, as `message` and as `app_mention`: both read the same.
What an event doesn't say (names, files' bytes, the thread) is looked up by `slack` in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Unpack

from pydantic import ValidationError

from bots.kit.inbound import MessageContext, message
from bots.slack.text import typed
from bots.slack.wire import WireCommand, WireEvent, WireFile, WireFlag, WirePress, WireRename
from contract.chat import SLASH, Inbound, Room, RoomKind, Speaker

SOURCE = "slack"
CHOOSE = "moot_choose_"  # begins the action id of a question's button

# Subtypes that are somebody saying something; joins, topics, pins and the like are not.
_SAID = {None, "file_share", "thread_broadcast", "me_message", "bot_message"}
# Events about a pin, and whether the pin is there after them. By `reaction_…`: with a 📌 only.
_FLAGS = {
    "pin_added": True,
    "pin_removed": False,
    "reaction_added": True,
    "reaction_removed": False,
}
_PINS = {"pushpin", "round_pushpin"}
_KINDS: dict[str, RoomKind] = {"im": "dm", "mpim": "gdm", "channel": "room", "group": "room"}


@dataclass(frozen=True, slots=True)
class Account:
    """The bot's own account in the workspace. scopes: its token's; none: Slack doesn't tell."""

    user_id: str
    bot_id: str
    name: str = ""
    scopes: frozenset[str] = frozenset()

    def may(self, scope: str) -> bool:
        """Whether the token has the scope; where Slack doesn't tell, it may."""
        return not self.scopes or scope in self.scopes


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file beside a message. url: "" when it isn't Slack's, None when only files.info tells."""

    id: str
    name: str
    mime: str
    size_bytes: int
    url: str | None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message. sender_id: a user's id, or a bot's where it has no user. kind: None, not told."""

    channel: str
    kind: RoomKind | None
    ts: str
    sender_id: str
    is_bot: bool
    content: str
    mentioned: bool
    thread_ts: str | None = None
    bot_name: str | None = None
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, slots=True)
class EditedMessage:
    channel: str
    kind: RoomKind | None
    ts: str
    content: str
    at: datetime


@dataclass(frozen=True, slots=True)
class DeletedMessage:
    channel: str
    kind: RoomKind | None
    ts: str


@dataclass(frozen=True, slots=True)
class ButtonPress:
    question_id: str
    option: int
    user_id: str


@dataclass(frozen=True, slots=True)
class RenamedRoom:
    """What is known of this channel is out of date."""

    channel: str


@dataclass(frozen=True, slots=True)
class PinChange:
    """A message that somebody pinned, by Slack's pin or a 📌, or whose pin they took back."""

    channel: str
    kind: RoomKind | None
    ts: str
    user_id: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A slash command. It is no message of Slack's: nothing can be answered in a thread of it.

    id: of this one alone; it tells who gave it, also after a restart. content: as it was typed,
    behind `/moot`.
    """

    channel: str
    user_id: str
    id: str
    content: str


PlatformEvent = (
    NewMessage | EditedMessage | DeletedMessage | ButtonPress | RenamedRoom | PinChange | CommandUse
)


def heard(payload: Mapping[str, Any], own: Account) -> PlatformEvent | None:
    """What a payload of Slack's says, or None when it is nothing for a chat, or our own doing.

    Raises ValueError on a payload that Slack doesn't write.
    """
    try:
        if payload.get("type") == "block_actions":
            return _pressed(WirePress.model_validate(payload))
        if "command" in payload and "type" not in payload:
            return _commanded(WireCommand.model_validate(payload))
        event = payload.get("event")
        if payload.get("type") != "event_callback" or not isinstance(event, Mapping):
            return None
        if event.get("type") in ("channel_rename", "group_rename"):
            return RenamedRoom(WireRename.model_validate(event).channel.id)
        if event.get("type") in _FLAGS:
            return _flagged(WireFlag.model_validate(event), own)
        if event.get("type") not in ("message", "app_mention"):
            return None
        return _message(WireEvent.model_validate(event), own)
    except ValidationError as error:
        fields = sorted({".".join(map(str, e["loc"])) for e in error.errors()})
        raise ValueError(f"an event of Slack's can't be read: {', '.join(fields)}") from None


def _pressed(press: WirePress) -> ButtonPress | None:
    for action in press.actions:
        number, _, question = (action.value or "").partition(" ")
        if action.action_id.startswith(CHOOSE) and number.isascii() and number.isdigit():
            return ButtonPress(question, int(number), press.user.id)
    return None


def _commanded(given: WireCommand) -> CommandUse:
    """Any command of the app's: one that isn't `/moot` is what it says itself."""
    own = given.command.removeprefix("/")
    words = typed(given.text) if own == "moot" else f"{own} {typed(given.text)}"
    content = f"/moot {words}".rstrip()
    id_ = f"{SLASH}{given.user_id}:{given.trigger_id}"
    return CommandUse(given.channel_id, given.user_id, id_, content)


def commander(command_id: str) -> str:
    """Who gave a slash command; "" for any other id."""
    return command_id.removeprefix(SLASH).partition(":")[0] if command_id.startswith(SLASH) else ""


def _flagged(event: WireFlag, own: Account) -> PinChange | None:
    item = event.item
    channel = item.channel or event.channel_id
    ts = item.ts or (item.message.ts if item.message else None)
    if not channel or not ts or not event.user or event.user == own.user_id:
        return None
    if event.type.startswith("reaction_") and event.reaction not in _PINS:
        return None
    kind: RoomKind | None = "dm" if channel.startswith("D") else None
    return PinChange(channel, kind, ts, event.user, _FLAGS[event.type])


def _message(event: WireEvent, own: Account) -> NewMessage | EditedMessage | DeletedMessage | None:
    if not event.channel:
        return None
    kind = _KINDS.get(event.channel_type or "")
    if event.channel.startswith("D"):
        kind = "dm"
    if event.subtype == "message_deleted":
        gone = event.deleted_ts or (event.previous_message and event.previous_message.ts)
        return DeletedMessage(event.channel, kind, gone) if gone else None
    if event.subtype == "message_changed":
        return _changed(event, event.channel, kind, own)
    if event.subtype not in _SAID or not event.ts or _is_own(event, own):
        return None
    return _said(event, event.channel, event.ts, kind, own)


def _is_own(event: WireEvent, own: Account) -> bool:
    return event.user == own.user_id or (bool(event.bot_id) and event.bot_id == own.bot_id)


def _changed(
    event: WireEvent, channel: str, kind: RoomKind | None, own: Account
) -> EditedMessage | DeletedMessage | None:
    """An edit. Slack sends the same event when a link unfolds or a thread grows: no edit."""
    new, old = event.message, event.previous_message
    if not new or not new.ts:
        return None
    if new.subtype == "tombstone":  # deleted, but its thread lives on
        return DeletedMessage(channel, kind, new.ts)
    if new.subtype not in _SAID or _is_own(new, own):
        return None
    if (old.text == new.text) if old else not new.edited:
        return None
    at = new.edited.ts if new.edited else event.event_ts or new.ts
    return EditedMessage(channel, kind, new.ts, typed(new.text or ""), moment(at))


def _said(
    event: WireEvent, channel: str, ts: str, kind: RoomKind | None, own: Account
) -> NewMessage | None:
    sender = event.user or event.bot_id
    if not sender:
        return None
    is_bot = bool(event.bot_id) or sender == "USLACKBOT"
    text = event.text or ""
    if is_bot and not text:
        shown = (a.text or a.fallback for a in event.attachments or ())
        text = "\n".join(filter(None, shown))
    reply = event.thread_ts if event.thread_ts != ts else None
    mention = re.search(rf"<@{re.escape(own.user_id)}(?:\|[^<>]*)?>", text)
    answers_us = bool(reply) and event.parent_user_id == own.user_id
    return NewMessage(
        channel=channel,
        kind=kind,
        ts=ts,
        sender_id=sender,
        is_bot=is_bot,
        content=typed(text),
        mentioned=bool(mention) or kind == "dm" or answers_us,
        thread_ts=reply,
        bot_name=_bot_name(event) if is_bot else None,
        files=tuple(_file(file) for file in event.files or () if file.mode != "tombstone"),
    )


def _bot_name(event: WireEvent) -> str | None:
    return event.username or (event.bot_profile.name if event.bot_profile else None)


def _file(file: WireFile) -> FileRef:
    """An external file lives elsewhere: our token must not travel there."""
    url = "" if file.is_external else file.url_private_download or file.url_private
    name = file.name or file.title or file.id
    return FileRef(file.id, name, file.mimetype or "application/octet-stream", file.size or 0, url)


def moment(ts: str) -> datetime:
    """A Slack timestamp (seconds, a point, microseconds) as a time."""
    seconds, _, fraction = ts.partition(".")
    micros = int((fraction + "000000")[:6])
    return datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=micros)


# ── The ingest contract ─────────────────────────────────────────────────────────────────


def speaker(external_id: str, name: str, *, is_bot: bool) -> Speaker:
    kind, mention = ("bot", None) if is_bot else ("human", f"<@{external_id}>")
    return Speaker(f"{SOURCE}:{external_id}", name, kind, mention)  # type: ignore[arg-type]


def inbound(said: NewMessage, room: Room, by: Speaker, **found: Unpack[MessageContext]) -> Inbound:
    """The message with everything that was looked up for it."""
    return message(
        SOURCE,
        room,
        by,
        content=said.content,
        message_id=said.ts,
        sent_at=moment(said.ts),
        thread_id=said.thread_ts,
        reply_to=said.thread_ts,
        **found,
    )
