"""Rocket.Chat's messages as events. Pure.

The server sends the same message again when it is edited, pinned, reacted to, when its thread
grows or a link in it unfolds: what is news is told by what was seen of it before.
"""

from __future__ import annotations

import mimetypes
import re
from datetime import datetime, timedelta
from functools import partial
from urllib.parse import unquote

from bots.kit.directory import account_speaker
from bots.kit.events import DeletedMessage, EditedMessage, FileRef, PinChange, SaidMessage
from bots.rocketchat.wire import WireFile, WireMessage
from contract.values import dataclass

SOURCE = "rocketchat"

PUSHPIN = ":pushpin:"
DIGITS = (":one:", ":two:", ":three:", ":four:", ":five:", ":six:", ":seven:", ":eight:", ":nine:")
"""Reactions that choose an option of a question, the first one for the first."""

_QUOTED = re.compile(r"\s*\[ ?\]\((?=[^()\s]*+\))[^()\s]*[?&]msg=([A-Za-z0-9]+)")
_BYTES = "application/octet-stream"
_OVERTAKEN = timedelta(
    seconds=30
)  # what changes later is an old message, perhaps of before we came
_FILE = re.compile(r"/file-upload/([A-Za-z0-9_-]+)/([^/?#]+)")
_LINKED = re.compile(r"[?&]msg=([A-Za-z0-9]+)")


@dataclass(frozen=True, slots=True)
class Account:
    """The bot's own account on the server.

    roles: the workspace's, e.g. "bot"; None: the server doesn't tell. counted: whether its answers
    say how many calls are left.
    """

    user_id: str
    username: str = ""
    name: str = ""
    roles: frozenset[str] | None = frozenset()
    counted: bool = False

    @property
    def unlimited(self) -> bool:
        """May call as often as it likes (api-bypass-rate-limit is theirs by default)."""
        if self.roles is None:
            return not self.counted
        return bool(self.roles & {"bot", "admin", "app"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage(SaidMessage):
    """A message. name: what the message itself says, or "". rewritten: its words are another
    person's, who edited it before we saw it."""

    rid: str
    sender_id: str
    username: str
    name: str
    is_bot: bool
    rewritten: bool = False


@dataclass(frozen=True, slots=True)
class OptionReaction:
    """Somebody reacted with a digit to a message of ours. option: counted from 0. is_news: the
    message was seen before without it; else it may have stood there for long."""

    id: str
    by: str
    option: int
    is_news: bool = True


@dataclass(frozen=True, slots=True)
class EncryptedMessage:
    """A person's message that is ciphertext to the account. mentioned: its sender's client says
    whom it names."""

    rid: str
    thread_id: str | None
    mentioned: bool


PlatformEvent = (
    NewMessage
    | EncryptedMessage
    | EditedMessage[str]
    | DeletedMessage[str]
    | PinChange[str, str | None]
    | OptionReaction
)


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """A message as it was seen last: its text, and who had reacted with what (name, user name)."""

    text: str = ""
    pinned: bool = False
    reactions: frozenset[tuple[str, str]] = frozenset()


def glimpse(message: WireMessage) -> SeenMessage:
    return SeenMessage(content(message), bool(message.pinned), _reactions(message))


def _reactions(message: WireMessage) -> frozenset[tuple[str, str]]:
    told = message.reactions or {}
    wanted = {name: told[name] for name in (PUSHPIN, *DIGITS) if name in told}
    return frozenset(
        (name, who) for name, reaction in wanted.items() for who in reaction.usernames or ()
    )


def parse_message(
    message: WireMessage,
    before: SeenMessage | None,
    own: Account,
    *,
    since: datetime,
    missed: bool,
) -> list[PlatformEvent]:
    """The news in a message, in their order.

    since: what was said earlier is old. missed: it was asked for after a gap, and may be new
    though it carries the signs of a second sight.
    """
    if is_gone(message):
        return [DeletedMessage(message.rid, message.id)]
    if message.t == "e2e":
        return _encrypted(message, before, own, since=since)
    if message.t:
        return _pin_notice(message)
    found: list[PlatformEvent] = []
    if message.u.id != own.user_id:
        found += _new_or_edited(message, before, own, since=since, missed=missed)
    return [*found, *_reacted(message, before, own)]


def _encrypted(
    message: WireMessage, before: SeenMessage | None, own: Account, *, since: datetime
) -> list[PlatformEvent]:
    is_news = before is None and message.ts >= since and not message.edited_at
    if not is_news or message.bot or message.u.id == own.user_id:
        return []
    return [EncryptedMessage(message.rid, message.tmid, _mentions(message, own))]


def is_gone(message: WireMessage) -> bool:
    """True if it was deleted, and the server keeps its place or its history."""
    return bool(message.hidden) or message.t == "rm"


def _new_or_edited(
    message: WireMessage, before: SeenMessage | None, own: Account, *, since: datetime, missed: bool
) -> list[PlatformEvent]:
    text, found = content(message), list[PlatformEvent]()
    first = missed or not _again(message) or _just_said(message)
    is_new = before is None and message.ts >= since and first
    if is_new:
        found.append(new_message(message, own))
    if message.edited_at and (before is None or before.text != text):
        found.append(EditedMessage(message.rid, message.id, text, message.edited_at))
    return found


def _just_said(message: WireMessage) -> bool:
    """A reaction may overtake the message itself: servers tell side by side."""
    return message.updated_at is not None and message.updated_at - message.ts < _OVERTAKEN


def _again(message: WireMessage) -> bool:
    """True if it bears signs of having been sent before."""
    signs = (
        message.edited_at,
        message.pinned,
        message.pinned_at,
        message.starred,
        message.replies,
        message.tcount,
        message.tlm,
        any(reaction.usernames for reaction in (message.reactions or {}).values()),
    )
    return any(signs)


def _reacted(message: WireMessage, seen: SeenMessage | None, own: Account) -> list[PlatformEvent]:
    now, before, found = glimpse(message), seen or SeenMessage(), list[PlatformEvent]()
    if now.pinned != before.pinned and (now.pinned or message.pinned is not None):
        by = message.pinned_by.username if message.pinned_by else None
        found.append(PinChange(message.rid, message.id, by, now.pinned))
    for name, who in sorted(now.reactions - before.reactions):
        if who == own.username:
            continue
        if name == PUSHPIN:
            found.append(PinChange(message.rid, message.id, who, pinned=True))
        elif message.u.id == own.user_id:
            is_news = seen is not None
            found.append(OptionReaction(message.id, who, DIGITS.index(name), is_news))
    for who in sorted(who for name, who in before.reactions - now.reactions if name == PUSHPIN):
        found.append(PinChange(message.rid, message.id, who, pinned=False))
    return found


def _pin_notice(message: WireMessage) -> list[PlatformEvent]:
    """The room's own line on a pin; it names the message only where it links to it."""
    if message.t != "message_pinned":
        return []
    links = (a.message_link or "" for a in message.attachments or () if a)
    linked = next((found[1] for link in links if (found := _LINKED.search(link))), None)
    return [PinChange(message.rid, linked, message.u.username, pinned=True)] if linked else []


def content(message: WireMessage) -> str:
    """The typed text: with a file it may stand in the file's description."""
    if message.msg:
        return message.msg
    described = (a.description for a in message.attachments or () if a)
    return next(filter(None, described), "")


def new_message(message: WireMessage, own: Account) -> NewMessage:
    text = content(message)
    quoted = _QUOTED.match(text)
    thread = message.tmid or None
    username = message.u.username or ""
    return NewMessage(
        id=message.id,
        rid=message.rid,
        at=_said_at(message),
        sender_id=message.u.id,
        username=username,
        name=message.alias or message.u.name or "",
        is_bot=bool(message.bot),
        rewritten=_is_rewritten(message),
        content=text,
        mentioned=_mentions(message, own),
        mentions=tuple(
            u.id for u in message.mentions or () if u and u.id not in (None, own.user_id)
        ),
        thread_id=thread,
        reply_to=quoted[1] if quoted else thread,
        files=_files(message),
    )


def _said_at(message: WireMessage) -> datetime:
    """Its time. A sender's program may date it some seconds ahead, and no answer may seem later
    than the question it stands before: what the server had by then was said by then."""
    return min(message.ts, message.updated_at or message.ts)


def _is_rewritten(message: WireMessage) -> bool:
    """True if somebody else edited it, as moderators may."""
    editor = message.edited_by.id if message.edited_by else None
    return editor is not None and editor != message.u.id


def _mentions(message: WireMessage, own: Account) -> bool:
    """True if the server, or a file's description, names the account. `@all` is no mention."""
    if any(user.id == own.user_id for user in message.mentions or () if user):
        return True
    if message.msg or not own.username:  # the server looks into `msg` only
        return False
    name = re.escape(own.username)
    return bool(re.search(rf"(?<![\w@])@{name}(?![\w-]|\.\w)", content(message)))


def _files(message: WireMessage) -> tuple[FileRef, ...]:
    told = [file for file in message.files or () if file]
    if not told and message.file:
        told = [message.file]
    if not told:  # some servers name a file in its link only
        links = (_FILE.search(a.title_link or "") for a in message.attachments or () if a)
        return tuple(_linked(link[1], unquote(link[2])) for link in links if link)
    return tuple(_file(file) for n, file in enumerate(told) if not (n and _is_thumbnail(file)))


def _is_thumbnail(file: WireFile) -> bool:
    return file.kind == "thumb" or (file.name or "").startswith("thumb-")


def _file(file: WireFile) -> FileRef:
    return FileRef(file.id, file.name or file.id, file.type or _BYTES, max(file.size or 0, 0))


def _linked(file_id: str, name: str) -> FileRef:
    return FileRef(file_id, name, mimetypes.guess_type(name)[0] or _BYTES, 0)


speaker = partial(account_speaker, SOURCE)
