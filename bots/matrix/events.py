"""Matrix's events as values. Pure.

What an event doesn't say (names, files' bytes, the thread) is looked up in `inbound`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from bots.kit.events import DeletedMessage, EditedMessage, FileRef, SaidMessage
from bots.matrix.wire import WireContent, WireEncryptedFile, WireEvent, WireRelation
from contract.chat import Speaker
from contract.values import dataclass

SOURCE = "matrix"

VERIFICATION = "m.key.verification.request"  # a message that begins a verification
_FILES = {"m.file", "m.image", "m.audio", "m.video"}
_PILL = re.compile(r'href="(?:https://matrix\.to/#/|matrix:)([^"?]+)', re.IGNORECASE)
# Where one has no end, none behind it has one, and all of it is what was typed.
_QUOTED = re.compile(r"<mx-reply>.*?</mx-reply>|(?P<typed><mx-reply>.*)", re.IGNORECASE | re.DOTALL)
_USER_ID = re.compile(r"(?<![\w.])@[\w.=/+-]+:[\w-]+(?:\.[\w-]+)*(?::\d+)?")
_FALLBACK = re.compile(r"> (?:\* )?<@[^\s>]+> ?")
_LATEST_MS = 253_402_300_799_000  # the last second of the year 9999


@dataclass(frozen=True, slots=True)
class OwnUser:
    """The bot's own account. names: what people call it at the beginning of a message."""

    user_id: str = ""
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MediaFile(FileRef):
    """A file by its mxc address. closed: how it is decrypted; None: it lies there openly."""

    closed: WireEncryptedFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage(SaidMessage):
    """A message: a text, or a file and its caption."""

    sender: str
    is_bot: bool
    files: tuple[MediaFile, ...] = ()


@dataclass(frozen=True, slots=True)
class AddedReaction:
    """event_id: the reaction's own id. target: the message's."""

    event_id: str
    target: str
    emoji: str
    sender: str


@dataclass(frozen=True, slots=True)
class PinnedListChange:
    """The room's list of pinned messages changed."""

    added: tuple[str, ...]
    taken: tuple[str, ...]
    sender: str


PlatformEvent = (
    NewMessage | EditedMessage[str] | DeletedMessage[str] | AddedReaction | PinnedListChange
)


def parsed(raw: Mapping[str, Any]) -> WireEvent | None:
    """The event, or None when it isn't one."""
    try:
        return WireEvent.model_validate(raw)
    except ValidationError:
        return None


def parse_event(event: WireEvent, own: OwnUser, room_id: str = "") -> PlatformEvent | None:
    """The event as a value; None when it is nothing for a chat, or our own doing.

    An edit counts only when the same person wrote the message.
    """
    if event.sender == own.user_id or not event.event_id:
        return None
    match event.type:
        case "m.room.message":
            return _message(event, event.event_id, own, room_id)
        case "m.reaction":
            return _reaction(event, event.event_id)
        case "m.room.redaction":
            gone = event.redacts or event.said().redacts
            return DeletedMessage(room_id, gone, event.sender) if gone else None
        case "m.room.pinned_events" if event.state_key == "":
            return _repinned(event)
    return None


def _reaction(event: WireEvent, event_id: str) -> AddedReaction | None:
    relation = event.said().relates_to
    if relation is None or not relation.event_id or not relation.key:
        return None
    return AddedReaction(event_id, relation.event_id, relation.key, event.sender)


def _repinned(event: WireEvent) -> PinnedListChange:
    """Servers tell what the list was before; where one doesn't, all of it is new."""
    now = event.state().pinned
    before = event.unsigned.prev_content.pinned if event.unsigned.prev_content else []
    known, kept = frozenset(before), frozenset(now)
    added = tuple(one for one in now if one not in known)
    return PinnedListChange(added, tuple(one for one in before if one not in kept), event.sender)


def _message(
    event: WireEvent, event_id: str, own: OwnUser, room_id: str
) -> NewMessage | EditedMessage[str] | None:
    content = event.said()
    if content.body is None or content.msgtype == VERIFICATION:  # redacted, or nobody's words
        return None
    relation = content.relates_to or WireRelation.model_validate({})
    if relation.rel_type == "m.replace":
        new = content.new_content
        if not relation.event_id or new is None or new.body is None:
            return None
        at = moment(event.origin_server_ts)
        return EditedMessage(room_id, relation.event_id, _typed(new), at, event.sender)
    reply_to = relation.in_reply_to.event_id if relation.in_reply_to else None
    thread_id = relation.event_id if relation.rel_type == "m.thread" else None
    text = _typed(content)
    if reply_to:
        text = without_fallback(text)
    return NewMessage(
        id=event_id,
        sender=event.sender,
        is_bot=content.msgtype == "m.notice",
        content=text,
        mentioned=_mentions(content, text, own),
        mentions=tuple(sorted(_called(content, text) - {own.user_id})),
        at=moment(event.origin_server_ts),
        thread_id=thread_id,
        reply_to=None if thread_id and relation.is_falling_back else reply_to,
        files=_files(content) if content.msgtype in _FILES else (),
    )


def _typed(content: WireContent) -> str:
    """The text that the person typed. A file's body is its name, unless both are told: then it is a
    caption (Matrix 1.10)."""
    body = content.body or ""
    if content.msgtype not in _FILES:
        return body
    return body if content.filename and content.filename != body else ""


def without_fallback(body: str) -> str:
    """A reply's body without the quotation that older clients put above what was typed.

    It is taken away only in its exact form: lines that begin with `> `, the first one with
    `> <@user:server>`, then an empty line. To be called for rich replies only.
    """
    if not _FALLBACK.match(body):
        return body
    lines = body.split("\n")
    end = next((n for n, line in enumerate(lines) if not line.startswith("> ")), len(lines))
    if end < len(lines) and lines[end] == "":
        return "\n".join(lines[end + 1 :])
    return body


def _mentions(content: WireContent, text: str, own: OwnUser) -> bool:
    """True if the bot is addressed: by `m.mentions`, a pill, its full id, or its name."""
    if own.user_id in _called(content, text):
        return True
    if re.search(rf"(?<![\w.]){re.escape(own.user_id)}(?![\w-])(?!\.\w)", text):
        return True
    return any(_calls(text.lower(), name) for name in own.names)


def _called(content: WireContent, text: str) -> set[str]:
    """Ids of those whom it mentions: by `m.mentions`, pills and full ids; "room": everybody."""
    told = content.mentions
    html = _QUOTED.sub(r"\g<typed>", content.formatted_body or "")
    pills = (unquote(unescape(target)) for target in _PILL.findall(html))
    users = {f"@{pill[2:]}" if pill.startswith("u/") else pill for pill in pills}
    called = {one for one in users if one.startswith("@")} | set(_USER_ID.findall(text))
    return called.union(told.user_ids if told else (), ["room"] if told and told.room else ())


def _calls(text: str, name: str) -> bool:
    """True if it begins with `name:` or `name,`, or says `@name` anywhere. Both in lower case."""
    if re.match(rf"\s*{re.escape(name)}[:,]", text):
        return True
    return bool(re.search(rf"(?<![\w.@/]){re.escape('@' + name)}(?![\w:-])(?!\.\w)", text))


def _files(content: WireContent) -> tuple[MediaFile, ...]:
    url = content.file.url if content.file else content.url
    if not url:
        return ()
    name = content.filename or content.body or "file"
    mime = (content.info and content.info.mimetype) or "application/octet-stream"
    size = max((content.info and content.info.size) or 0, 0)
    media = url.removeprefix("mxc://")
    return (MediaFile(media, name, mime, min(size, 2**53), url, content.file),)


def moment(milliseconds: int) -> datetime:
    """A server's time stamp as a time."""
    return datetime.fromtimestamp(min(max(milliseconds, 0), _LATEST_MS) / 1000, UTC)


def speaker(user_id: str, name: str, *, is_bot: bool = False, role: str | None = None) -> Speaker:
    if is_bot:
        return Speaker(f"{SOURCE}:{user_id}", name, "bot", None, role)
    return Speaker(f"{SOURCE}:{user_id}", name, "human", user_id, role)
