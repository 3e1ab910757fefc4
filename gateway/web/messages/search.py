"""The search over all rooms that somebody may read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from contract.chat import Room, Speaker
from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass
from gateway.core.views import View
from store.database import Store
from store.searching import Found, search

MOST_CHARS, MOST_WORDS = 200, 10
BEFORE, AFTER = 60, 180  # characters of an excerpt before the first word found, and from it on
_WORD = re.compile(r'"([^"]+)"|(\S+)')


@dataclass(frozen=True, slots=True)
class MessageHit(View):
    """A message that was found. text: what stands around the first word that was."""

    message_id: str
    room_id: str
    room_name: str
    by: Speaker
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Hits(View):
    """The newest first. words: what was looked for. next_before: the `before` of what goes on from
    there, also where a part without any was looked at; None: all was."""

    words: tuple[str, ...]
    items: tuple[MessageHit, ...]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class MessageSearch:
    """Finds messages that hold every word asked for."""

    store: Store

    async def find(self, asked: str, rooms: Sequence[Room], before: int | None, limit: int) -> Hits:
        """The messages of these rooms. asked: words, and several as one between quotes. Raises
        Rejected."""
        words = words_of(asked)
        names = {room.id: room.name for room in rooms}
        page = await search(self.store, words, names, before=before, limit=limit)
        items = tuple(_hit(found, names[found.room_id], words) for found in page.items)
        return Hits(words, items, page.next_before)


def words_of(asked: str) -> tuple[str, ...]:
    """What is looked for. Raises Rejected."""
    words = tuple(quoted or word for quoted, word in _WORD.findall(asked))
    if not words or len(asked) > MOST_CHARS or len(words) > MOST_WORDS:
        raise Rejected(
            "q",
            later(
                "must be 1 to {words} words, {chars} characters at most",
                words=MOST_WORDS,
                chars=MOST_CHARS,
            ),
        )
    return words


def _hit(found: Found, room_name: str, words: Sequence[str]) -> MessageHit:
    text = " ".join(found.content.split())
    return MessageHit(
        found.message_id, found.room_id, room_name, found.by, found.sent_at, excerpt(text, words)
    )


def excerpt(text: str, words: Sequence[str]) -> str:
    """What stands around the first of the words, with an ellipsis where something is left out."""
    places = [match.start() for one in words if (match := re.search(re.escape(one), text, re.I))]
    first = min(places, default=0)
    start = max(0, first - BEFORE)
    end = first + AFTER
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
