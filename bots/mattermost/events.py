"""Mattermost's events and posts as values. Pure.

What an event doesn't say (names, files' bytes, the thread) is looked up in `inbound`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from urllib.parse import parse_qsl

from pydantic import ValidationError

from bots.kit.directory import account_speaker
from bots.kit.events import (
    DeletedMessage,
    EditedMessage,
    FileRef,
    PinChange,
    RenamedRoom,
    SaidMessage,
    faulty_fields,
)
from bots.kit.files import mime_of
from bots.mattermost.text import names
from bots.mattermost.wire import WireCommand, WireFrame, WirePost, WirePress, WireReaction
from contract.chat import SLASH
from contract.values import dataclass

SOURCE = "mattermost"
KEY = "moot"  # the property of an own post that names its key
NOTE = "moot_note"  # of one that is nobody's words

_PINS = {"pushpin", "round_pushpin"}
_PROGRAMS = ("from_webhook", "from_bot", "from_plugin")
_HOOK = re.compile(r"/hooks/commands/([A-Za-z0-9]+)$")


@dataclass(frozen=True, slots=True)
class Account:
    """The bot's own account."""

    user_id: str
    username: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage(SaidMessage):
    """A post. names: the user names that it mentions, ours left out. shown: the name under which a
    program posted it."""

    room: str
    sender_id: str
    is_bot: bool
    names: tuple[str, ...] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """Somebody chose an option of a question, counted from 0. digest: of what stood above it."""

    room: str
    user_id: str
    question_id: str
    option: int
    digest: str


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A slash command, which is no post. content: as it was typed, behind `/moot`.

    id: of this one alone; it says who gave it, and where the answer goes that they alone see.
    """

    room: str
    user_id: str
    id: str
    content: str
    reply_to: None = None
    mentions: tuple[str, ...] = ()


PostEvent = NewMessage | EditedMessage[str] | DeletedMessage[str]
PlatformEvent = PostEvent | PinChange[str, str] | RenamedRoom


def parse_event(frame: WireFrame, own: Account) -> PlatformEvent | None:
    """The event that a frame reports; None when it is nothing for a chat, or our own doing.

    Raises ValueError on one that Mattermost doesn't write.
    """
    try:
        match frame.event:
            case "posted":
                post = WirePost.model_validate_json(frame.told("post"))
                return new_message(post, own) if _is_said(post, own) else None
            case "post_edited":
                post = WirePost.model_validate_json(frame.told("post"))
                return _edited(post) if post.edit_at and _is_said(post, own) else None
            case "post_deleted":
                post = WirePost.model_validate_json(frame.told("post"))
                return DeletedMessage(post.channel_id, post.id) if _is_said(post, own) else None
            case "reaction_added" | "reaction_removed":
                return _pin(frame, own)
            case "channel_updated" | "channel_converted":
                return RenamedRoom(str((frame.broadcast or {}).get("channel_id") or ""))
    except ValidationError as error:
        fields = faulty_fields(error)
        raise ValueError(f"an event of Mattermost's can't be read: {fields}") from None
    return None


def parse_missed(post: WirePost, own: Account, since_ms: int) -> PostEvent | None:
    """The event that a post stands for, of those that have changed since then."""
    if post.original_id or not _is_said(post, own):
        return None
    if post.delete_at:
        return DeletedMessage(post.channel_id, post.id)
    if post.create_at > since_ms:
        return new_message(post, own)
    return _edited(post) if post.edit_at > since_ms else None


def new_message(post: WirePost, own: Account) -> NewMessage:
    is_bot = any(post.prop(name) for name in _PROGRAMS)
    # A webhook posts in the name of the person who made it, and is not them.
    sender = f"webhook-{post.user_id}" if post.prop("from_webhook") else post.user_id
    text, called = content(post), names(content(post))
    ours = own.username.lower()
    return NewMessage(
        id=post.id,
        room=post.channel_id,
        content=text,
        at=moment(post.create_at),
        sender_id=sender,
        is_bot=is_bot,
        mentioned=ours in called,
        names=tuple(name for name in called if name != ours),
        thread_id=post.root_id or None,
        reply_to=post.root_id or None,
        files=tuple(
            FileRef(file.id, file.name or file.id, file.mime_type or mime_of(file.name), file.size)
            for file in (post.metadata.files if post.metadata else ())
        ),
        shown=post.prop("override_username") or post.prop("webhook_display_name"),
    )


def _is_said(post: WirePost, own: Account) -> bool:
    """True if it is somebody's words: not a line of the server's, and not ours."""
    return not post.type.startswith("system_") and post.user_id != own.user_id


def content(post: WirePost) -> str:
    """The text as it was typed; of a program that says nothing beside its attachments, theirs."""
    if text := post.message_source or post.message:
        return text
    told = (post.props or {}).get("attachments")
    shown = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    return "\n".join(str(said) for one in shown if (said := one.get("text") or one.get("fallback")))


def _edited(post: WirePost) -> EditedMessage[str]:
    return EditedMessage(post.channel_id, post.id, content(post), moment(post.edit_at))


def _pin(frame: WireFrame, own: Account) -> PinChange[str, str] | None:
    """A 📌. Of its own pins the server doesn't tell whose they are."""
    reaction = WireReaction.model_validate_json(frame.told("reaction"))
    room = str((frame.broadcast or {}).get("channel_id") or "")
    if reaction.emoji_name not in _PINS or reaction.user_id == own.user_id or not room:
        return None
    pinned = frame.event == "reaction_added"
    return PinChange(room, reaction.post_id, reaction.user_id, pinned)


# ── By webhook ──────────────────────────────────────────────────────────────────────────────


def parse_press(body: bytes) -> ButtonPress:
    """Raises ValueError on a body that is no press of a button of ours."""
    try:
        press = WirePress.model_validate_json(body)
    except ValidationError as error:
        raise ValueError(f"a press can't be read: {faulty_fields(error)}") from None
    chosen = press.context
    return ButtonPress(
        press.channel_id, press.user_id, chosen.question, chosen.option, chosen.digest
    )


def parse_command(body: bytes) -> tuple[CommandUse, str]:
    """A slash command, and the token that came with it. Raises ValueError.

    Any command that isn't `/moot` is what it says itself.
    """
    try:
        given = WireCommand.model_validate(dict(parse_qsl(body.decode(errors="replace"))))
    except ValidationError as error:
        raise ValueError(f"a command can't be read: {faulty_fields(error)}") from None
    if (hook := _HOOK.search(given.response_url)) is None:
        raise ValueError("a command can't be read: response_url")
    name = given.command.removeprefix("/")
    words = given.text if name == "moot" else f"{name} {given.text}"
    id_ = f"{SLASH}{given.user_id}:{hook[1]}"
    return CommandUse(given.channel_id, given.user_id, id_, f"/moot {words}".rstrip()), given.token


def hook_of(command_id: str) -> str:
    """The address of a slash command's answer; "" for any other id."""
    return command_id.rpartition(":")[2] if command_id.startswith(SLASH) else ""


# ── Values ──────────────────────────────────────────────────────────────────────────────────


def moment(ms: int) -> datetime:
    """Milliseconds since 1970 as a time."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def millis(at: datetime) -> int:
    return round(at.timestamp() * 1000)


speaker = partial(account_speaker, SOURCE)
