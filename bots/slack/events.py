"""Slack's payloads as events. Pure.

A mention in a channel arrives twice, as `message` and as `app_mention`: both read the same.
What an event doesn't say (names, files' bytes, the thread) is looked up in `inbound`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from bots.kit.events import (
    DeletedMessage,
    EditedMessage,
    FileRef,
    PinChange,
    RenamedRoom,
    SaidMessage,
    faulty_fields,
)
from bots.slack.text import typed
from bots.slack.wire import (
    TS,
    WireCommand,
    WireEvent,
    WireFile,
    WireFlag,
    WireHome,
    WireMessageAction,
    WirePress,
    WireRename,
    WireStop,
    WireSubmission,
)
from contract.chat import SLASH, RoomKind, Speaker
from contract.values import dataclass

SOURCE = "slack"
CHOOSE = "moot_choose_"  # begins the action id of a question's button
ASK = "moot_ask"  # callback_id of the shortcut "Ask Moot", and of its modal
NOTE = "moot_note"  # block_id of a line on an answer, which is nobody's words

# Subtypes that are somebody saying something; joins, topics, pins and the like are not.
_SAID = {None, "file_share", "thread_broadcast", "me_message", "bot_message"}
# Events about a pin, and whether the pin is there after them. By `reaction_…`: with a 📌 only.
_PIN_EVENTS = {
    "pin_added": True,
    "pin_removed": False,
    "reaction_added": True,
    "reaction_removed": False,
}
_TS = re.compile(TS)
_PINS = {"pushpin", "round_pushpin"}
_KINDS: dict[str, RoomKind] = {"im": "dm", "mpim": "gdm", "channel": "room", "group": "room"}


@dataclass(frozen=True)
class Account:
    """The bot's own account in the workspace. scopes: its token's; none: Slack doesn't tell.

    team: the workspace's id.
    """

    user_id: str
    bot_id: str
    name: str = ""
    scopes: frozenset[str] = frozenset()
    team: str = ""

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids under which it posts."""
        return frozenset({self.user_id, self.bot_id} - {""})

    @cached_property
    def mention(self) -> re.Pattern[str]:
        """The user's name as Slack writes it into a text."""
        return re.compile(rf"<@{re.escape(self.user_id)}(?:\|[^<>]*)?>")

    @cached_property
    def others(self) -> re.Pattern[str]:
        """Everybody else whom a text mentions, groups and all that are here among them."""
        own = "|".join(map(re.escape, self.ids)) or "(?!)"
        return re.compile(rf"<(?:@(?!(?:{own})[|>])|!subteam\^|!(?=here|channel|everyone))(\w+)")

    def may(self, scope: str) -> bool:
        """True if the token has the scope; where Slack doesn't tell, it may."""
        return not self.scopes or scope in self.scopes


@dataclass(frozen=True, slots=True)
class Channel:
    """The place where something happened. kind: None, the event doesn't say."""

    id: str
    kind: RoomKind | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage(SaidMessage):
    """A message, with its time stamp as its id. sender_id: a bot's where it has no user.

    Who answers a message does so in its thread.
    """

    room: Channel
    sender_id: str
    is_bot: bool
    bot_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAbout(NewMessage):
    """A question that somebody asked of a message, in a modal: it stands nowhere in Slack.

    at: the time of that message, which is `reply_to`; its thread is `thread_id`.
    """


@dataclass(frozen=True, slots=True)
class ShortcutUse:
    """Somebody wants to ask of a message. trigger_id: opens a modal, for three seconds. about: the
    channel, the message and its thread, as the modal hands it on."""

    trigger_id: str
    about: str


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """Somebody chose an option of a question, counted from 0. digest: of what stood above it.

    room: None: it isn't told. thread_id: of the thread that the button stands in.
    """

    question_id: str
    option: int
    user_id: str
    digest: str = ""
    room: Channel | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class HomeUse:
    """Somebody opened the app's Home tab. room: the direct message with them."""

    room: Channel
    user_id: str


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A slash command. It is no message of Slack's: nothing can be answered in a thread of it.

    id: of this one alone; it says who gave it, also after a restart. content: as it was typed,
    behind `/moot`. thread_id: of Slack's stop button, which is `/moot stop`; others have none.
    """

    room: Channel
    user_id: str
    id: str
    content: str
    mentions: tuple[str, ...] = ()
    thread_id: str | None = None

    @property
    def reply_to(self) -> None:
        """None: a slash command replies to no message."""


PlatformEvent = (
    NewMessage
    | EditedMessage[Channel]
    | DeletedMessage[Channel]
    | PinChange[Channel, str]
    | RenamedRoom
    | ButtonPress
    | CommandUse
    | ShortcutUse
    | HomeUse
)


def parse_event(payload: Mapping[str, Any], own: Account) -> PlatformEvent | None:
    """The event that a payload reports; None when it is nothing for a chat, or our own doing.

    Raises ValueError on a payload that Slack doesn't write.
    """
    try:
        if payload.get("type") == "block_actions":
            return _pressed(WirePress.model_validate(payload))
        if payload.get("type") == "message_action":
            return _shortcut(WireMessageAction.model_validate(payload))
        if payload.get("type") == "view_submission":
            return _submitted(WireSubmission.model_validate(payload))
        if "command" in payload and "type" not in payload:
            return _commanded(WireCommand.model_validate(payload))
        event = payload.get("event")
        if payload.get("type") != "event_callback" or not isinstance(event, Mapping):
            return None
        if event.get("type") in ("channel_rename", "group_rename"):
            return RenamedRoom(WireRename.model_validate(event).channel.id)
        if event.get("type") == "app_home_opened":
            return _home(WireHome.model_validate(event))
        if event.get("type") == "agent_session_stopped":
            return _stopped(WireStop.model_validate(event))
        if event.get("type") in _PIN_EVENTS:
            return _pin(WireFlag.model_validate(event), own)
        if event.get("type") not in ("message", "app_mention"):
            return None
        return _message(WireEvent.model_validate(event), own)
    except ValidationError as error:
        fields = faulty_fields(error)
        raise ValueError(f"an event of Slack's can't be read: {fields}") from None


def _pressed(press: WirePress) -> ButtonPress | None:
    for action in press.actions:
        number, _, rest = (action.value or "").partition(" ")
        digest, _, question = rest.partition(" ")
        if action.action_id.startswith(CHOOSE) and number.isascii() and number.isdigit():
            room = _channel(press.channel.id) if press.channel else None
            thread = press.message.thread_ts if press.message else None
            return ButtonPress(question, int(number), press.user.id, digest, room, thread)
    return None


def is_note(message: Mapping[str, Any]) -> bool:
    """True of a line of Moot's own on an answer."""
    blocks = message.get("blocks") or ()
    return any(isinstance(block, dict) and block.get("block_id") == NOTE for block in blocks)


def later(ts: str, other: str) -> bool | None:
    """True if the first time stamp is the later one; None: one of them is none."""
    if not (_TS.fullmatch(ts) and _TS.fullmatch(other)):
        return None
    return _counted(ts) > _counted(other)


def _counted(ts: str) -> tuple[int, str]:
    """A time stamp in full seconds and millionths: as a float it would lose some."""
    seconds, _, parts = ts.partition(".")
    return int(seconds), parts.ljust(6, "0")


def _commanded(given: WireCommand) -> CommandUse:
    """Any command of the app's: one that isn't `/moot` is what it says itself."""
    own = given.command.removeprefix("/")
    words = typed(given.text) if own == "moot" else f"{own} {typed(given.text)}"
    content = f"/moot {words}".rstrip()
    id_ = f"{SLASH}{given.user_id}:{given.trigger_id}"
    return CommandUse(_channel(given.channel_id), given.user_id, id_, content)


def _home(opened: WireHome) -> HomeUse | None:
    if opened.tab != "home" or not opened.channel:
        return None
    return HomeUse(_channel(opened.channel, "im"), opened.user)


def _stopped(stop: WireStop) -> CommandUse:
    id_ = f"{SLASH}{stop.user}:{stop.event_ts}"
    return CommandUse(
        _channel(stop.channel), stop.user, id_, "/moot stop", thread_id=stop.thread_ts
    )


def _shortcut(use: WireMessageAction) -> ShortcutUse | None:
    if use.callback_id != ASK or not use.message.ts:
        return None
    ts = use.message.ts
    return ShortcutUse(use.trigger_id, f"{use.channel.id} {ts} {use.message.thread_ts or ts}")


def _submitted(sent: WireSubmission) -> QuestionAbout | None:
    channel, ts, thread = (*sent.view.private_metadata.split(), "", "", "")[:3]
    boxes = (box for block in sent.view.state.values.values() for box in block.values())
    said = next((box.value for box in boxes if box.value), "")
    if sent.view.callback_id != ASK or not said or not _TS.fullmatch(ts):
        return None
    return QuestionAbout(
        room=_channel(channel),
        id=f"{SLASH}{sent.user.id}:{sent.view.id}",
        sender_id=sent.user.id,
        is_bot=False,
        content=said,
        mentioned=True,
        at=moment(ts),
        thread_id=thread,
        reply_to=ts,
    )


def commander(command_id: str) -> str:
    """The user who gave a slash command, or whose id it is; "" for any other id."""
    begins = next((start for start in (SLASH, f"{SOURCE}:") if command_id.startswith(start)), None)
    return command_id.removeprefix(begins).partition(":")[0] if begins else ""


def _pin(event: WireFlag, own: Account) -> PinChange[Channel, str] | None:
    item = event.item
    channel = item.channel or event.channel_id
    ts = item.ts or (item.message.ts if item.message else None)
    if not channel or not ts or not event.user or event.user == own.user_id:
        return None
    if event.type.startswith("reaction_") and event.reaction not in _PINS:
        return None
    return PinChange(_channel(channel), ts, event.user, _PIN_EVENTS[event.type])


def _channel(id_: str, told: str | None = None) -> Channel:
    """told: the type of the channel, as a message's event has it."""
    return Channel(id_, "dm" if id_.startswith("D") else _KINDS.get(told or ""))


def _message(
    event: WireEvent, own: Account
) -> NewMessage | EditedMessage[Channel] | DeletedMessage[Channel] | None:
    if not event.channel:
        return None
    if event.subtype in ("message_deleted", "message_changed"):
        return _changed(event, _channel(event.channel, event.channel_type), own)
    sender, ts = event.user or event.bot_id, event.ts
    if event.subtype not in _SAID or not ts or not sender:
        return None
    if not own.ids.isdisjoint((event.user, event.bot_id)):
        return None
    room = _channel(event.channel, event.channel_type)
    is_bot = bool(event.bot_id) or sender == "USLACKBOT"
    text = event.text or (_attached(event) if is_bot else "")
    thread = event.thread_ts if event.thread_ts != ts else None
    return NewMessage(
        room=room,
        id=ts,
        sender_id=sender,
        is_bot=is_bot,
        content=typed(text),
        mentioned=room.kind == "dm" or own.mention.search(text) is not None,
        mentions=tuple(own.others.findall(text)),
        at=moment(ts),
        thread_id=thread,
        reply_to=thread,
        bot_name=_bot_name(event) if is_bot else None,
        files=tuple(_file(file) for file in event.files or () if file.mode != "tombstone"),
    )


def _changed(
    event: WireEvent, room: Channel, own: Account
) -> EditedMessage[Channel] | DeletedMessage[Channel] | None:
    """An edit, or a message gone. Slack sends the event of an edit also when a link unfolds or a
    thread grows."""
    new, old = event.message, event.previous_message
    if event.subtype == "message_deleted":
        gone = event.deleted_ts or (old and old.ts)
        return DeletedMessage(room, gone) if gone else None
    if not new or not new.ts:
        return None
    if new.subtype == "tombstone":  # deleted, but its thread lives on
        return DeletedMessage(room, new.ts)
    if new.subtype not in _SAID or not own.ids.isdisjoint((new.user, new.bot_id)):
        return None
    if (old.text == new.text) if old else not new.edited:
        return None
    at = new.edited.ts if new.edited else event.event_ts or new.ts
    return EditedMessage(room, new.ts, typed(new.text or ""), moment(at))


def _attached(event: WireEvent) -> str:
    """The text of a bot that says nothing beside its attachments."""
    shown = (attached.text or attached.fallback for attached in event.attachments or ())
    return "\n".join(filter(None, shown))


def _bot_name(event: WireEvent) -> str | None:
    return event.username or (event.bot_profile.name if event.bot_profile else None)


def _file(file: WireFile) -> FileRef:
    """An external file lives elsewhere: our token must not travel there."""
    url = "" if file.is_external else file.url_private_download or file.url_private
    name = file.name or file.title or file.id
    return FileRef(file.id, name, file.mimetype or "application/octet-stream", file.size or 0, url)


def moment(ts: str) -> datetime:
    """A Slack timestamp (seconds, a point, microseconds) as a time."""
    return datetime.fromtimestamp(float(ts), UTC)


def speaker(external_id: str, name: str, *, is_bot: bool) -> Speaker:
    kind, mention = ("bot", None) if is_bot else ("human", f"<@{external_id}>")
    return Speaker(f"{SOURCE}:{external_id}", name, kind, mention)  # type: ignore[arg-type]
