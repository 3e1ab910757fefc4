"""The page's document, filled: it shows a room's newest messages before any script has run, and
holds what its script begins with. Pure.

On a slow network each request costs a second and more. A message stands there as its plain text,
escaped; the script draws it again. The data is a block that no browser executes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from contract.chat import MENTION
from contract.values import dataclass

MESSAGES, CHARS = 20, 1_200  # as many as fill a tall screen, each as long as is read in a moment
GROUP = timedelta(minutes=5)  # so soon after it a message continues the one before
_TOKEN = re.compile(MENTION)
_MESSAGES, _START = "<!-- messages -->", "<!-- start -->"
_TITLE = 'id="room-name">Moot<'
_SCRIPT = '<script type="module"'
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the page begins with, as JSON values. clean: takes secrets out of a text."""

    told: Json
    clean: Callable[[str], str]

    def filled(self, document: str, *, shows_room: bool, ahead: Sequence[str]) -> str:
        """The document with it. shows_room: its conversation is what the page shows first. ahead:
        scripts that it needs at once beside its own, by name."""
        if shows_room:
            document = document.replace(_MESSAGES, self._messages(), 1)
            if title := self._title():
                document = document.replace(_TITLE, f'id="room-name">{html.escape(title)}<', 1)
        links = "".join(f'<link rel="modulepreload" href="/static/{name}">\n' for name in ahead)
        document = document.replace(_SCRIPT, links + _SCRIPT, 1)
        return document.replace(_START, self._data(), 1)

    def _data(self) -> str:
        text = self.clean(json.dumps(self.told, ensure_ascii=False))
        data = text.translate(_IN_SCRIPT)
        return f'<script type="application/json" id="start">{data}</script>'

    def _title(self) -> str:
        """What stands above a room that is no DM."""
        rooms = (one for one in self.told["rooms"] if one["id"] == self.told["room_id"])
        names = (self.clean(one["name"]) for one in rooms if one["kind"] == "room")
        return next((f"#{name.removeprefix('#')}" for name in names), "")

    def _messages(self) -> str:
        said = self.told["timeline"]["messages"][-MESSAGES:]
        names = self._names()
        said = [{**one, "text": _with_names(one["text"], names)} for one in said]
        pairs = zip([None, *said], said, strict=False)
        return "".join(self._article(one, compact=_continues(one, before)) for before, one in pairs)

    def _names(self) -> Json:
        """Names by external ids, in lower case: `mentions` in lib/store.js."""
        people = {one["id"]: one["name"] for one in self.told["people"]}
        people |= {id_: one["name"] for one in self.told["personas"] for id_ in one["accounts"]}
        return {id_.partition(":")[2].lower(): name for id_, name in people.items()}

    def _article(self, message: Json, *, compact: bool) -> str:
        """A message in the form of those that the script draws: chat/message.js."""
        text = self.clean(message["text"])
        shown = html.escape(text if len(text) <= CHARS else f"{text[:CHARS]}…")
        side, head = '<span class="avatar round" aria-hidden="true"></span>', ""
        if compact:
            side = '<span class="gutter" aria-hidden="true"></span>'
        else:
            name = html.escape(self.clean(message["by"]["name"]))
            head = f'<header class="message-head"><span class="author">{name}</span></header>'
        return (
            f'<article class="message early{" compact" if compact else ""}">{side}'
            f'<div class="message-body">{head}<div class="text">{shown}</div></div></article>'
        )


def _with_names(text: str, names: Json) -> str:
    """A text with names where mention tokens stood: `withNames` in lib/tokens.js."""

    def named(token: re.Match[str]) -> str:
        name = names.get(token[1].lower())
        return f"@{name}" if name else token[0]

    return _TOKEN.sub(named, text)


def _continues(message: Json, before: Json | None) -> bool:
    """True if a message stands below its author's name already: `continues` in chat/message.js."""
    if before is None or message["reply_to"] or message["by"]["id"] != before["by"]["id"]:
        return False
    at, earlier = (datetime.fromisoformat(one["at"]) for one in (message, before))
    return bool(message["turn_id"] == before["turn_id"]) and at - earlier < GROUP
