"""What the bot says in Matrix's own words: bodies, mentions, relations. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from html import unescape
from typing import Any

from bots.matrix.text import plain, written
from contract.chat import Destination

KEY = "moot.key"  # in a post's content, encrypted with it: `find` looks for it
_PROFILE = "com.beeper.per_message_profile"  # MSC4144, not yet in the specification

# The server counts 65,536 bytes with all that it adds to an event (ids, hashes, signatures).
_EVENT_BYTES = 62_000
_CUT_CHARS = 500  # of an edit's text for clients that know no edits, when the whole has no room
_MOST_MENTIONS = 50

_PILL = re.compile(r'<a href="https://matrix\.to/#/(@[^"?]+)')


def transaction(key: str) -> str:
    """The transaction id of a post: the same key makes the same event, once."""
    return sha256(key.encode()).hexdigest()[:40]


def text_content(text: str, *, msgtype: str = "m.text") -> dict[str, Any]:
    """A Markdown text: as it is, as HTML, and whom it mentions; never a whole room."""
    html = written(text)
    mentioned = list(dict.fromkeys(unescape(user) for user in _PILL.findall(html)))[:_MOST_MENTIONS]
    return {
        "msgtype": msgtype,
        "body": plain(text),
        "format": "org.matrix.custom.html",
        "formatted_body": html,
        "m.mentions": {"user_ids": mentioned} if mentioned else {},
    }


def placed(
    content: Mapping[str, Any], place: Destination, key: str, *, last: str | None
) -> dict[str, Any]:
    """The content for its place. last: the thread's newest event, shown as the message replied to
    where threads are unknown."""
    made = {**content, KEY: key}
    if place.thread_id:
        made["m.relates_to"] = {
            "rel_type": "m.thread",
            "event_id": place.thread_id,
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": last or place.thread_id},
        }
    if place.voice:
        made[_PROFILE] = {"id": place.voice.name, "displayname": place.voice.name}
    return made


def replacing(message_id: str, new: Mapping[str, Any], told: Collection[str]) -> dict[str, Any]:
    """An edit. told: whom the message mentioned before; they are not notified again."""
    body = str(new["body"])
    shown = body if len(body.encode()) * 3 < _EVENT_BYTES / 2 else body[:_CUT_CHARS] + "…"
    mentioned = [user for user in new["m.mentions"].get("user_ids", []) if user not in told]
    return {
        "msgtype": new["msgtype"],
        "body": f"* {shown}",
        "m.mentions": {"user_ids": mentioned} if mentioned else {},
        "m.new_content": dict(new),
        "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
    }


def fitted(content: Mapping[str, Any], *, encrypted: bool) -> Mapping[str, Any]:
    """The content, without its HTML when it has no room in an event."""
    size = len(json.dumps(content, ensure_ascii=encrypted).encode())
    if size * (4 / 3 if encrypted else 1) <= _EVENT_BYTES:
        return content
    return without_html(content)


def without_html(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its plain text alone."""
    made = {k: v for k, v in content.items() if k not in ("format", "formatted_body")}
    if isinstance(inner := made.get("m.new_content"), dict):
        made["m.new_content"] = without_html(inner)
    return made
