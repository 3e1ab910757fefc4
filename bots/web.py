"""Moot's own page as a platform: what the bot posts goes to a sink, and the gateway stores it.

The page has no account elsewhere and no API to call: people's messages come in by the HTTP API,
so `run` only waits. A message's id follows from its key, so the same key twice is one post.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bots.bot import Manners, Mark, Receive
from contract import Place, PlatformError, Question, Room, Speaker

MANNERS = Manners(
    draft_interval_s=0.1,  # ten snapshots a second read as a stream
    max_posts=1_000_000,  # a page scrolls: nothing is too long for it
    marks=False,  # it shows the turn itself
)


@dataclass(frozen=True, slots=True)
class Posted:
    """A new message. The same id twice is the same message."""

    place: Place
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A new message with a file."""

    place: Place
    message_id: str
    text: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Changed:
    """An own message has a new text."""

    place: Place
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Removed:
    """An own message is gone."""

    place: Place
    message_id: str


@dataclass(frozen=True, slots=True)
class Questioned:
    """A question with buttons."""

    place: Place
    message_id: str
    question: Question


@dataclass(frozen=True, slots=True)
class Working:
    """The agent works; "" ends it."""

    place: Place
    status: str


Delivery = Posted | Uploaded | Changed | Removed | Questioned | Working
Deliver = Callable[[Delivery], Awaitable[None]]
"""Stores and shows one delivery. Raises PlatformError."""
Holds = Callable[[Place, str], Awaitable[bool]]
"""Whether the gateway's store holds this message id at this place."""
Members = Callable[[Room], Awaitable[Sequence[Speaker]]]


def message_id(key: str, kind: Literal["post", "file", "question"] = "post") -> str:
    """The id of the message that a key makes, for ever."""
    return f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"


async def _nobody(_room: Room) -> Sequence[Speaker]:
    return ()


class WebBot:
    """Implements bots.bot.Bot over a sink; it remembers nothing itself."""

    platform = "web"

    def __init__(
        self,
        personas: Sequence[str],
        *,
        deliver: Deliver,
        holds: Holds,
        members: Members = _nobody,
        name: str = "web",
    ) -> None:
        self.name = name
        self.personas: Sequence[str] = tuple(personas)
        self.manners = MANNERS
        self._deliver = deliver
        self._holds = holds
        self._members = members

    async def run(self, receive: Receive) -> None:
        """Wait until cancelled: the page's messages come in by the HTTP API."""
        await asyncio.Event().wait()

    def split(self, text: str) -> list[str]:
        """One piece: the page has no limit."""
        return [text]

    async def post(self, place: Place, text: str, key: str) -> str:
        """Deliver a message; its id follows from the key."""
        posted = Posted(place, message_id(key), text)
        await self._deliver(posted)
        return posted.message_id

    async def edit(self, place: Place, message_id: str, text: str) -> None:
        """Deliver a new text."""
        await self._deliver(Changed(place, message_id, text))

    async def delete(self, place: Place, message_id: str) -> None:
        """Deliver a removal."""
        await self._deliver(Removed(place, message_id))

    async def find(
        self, place: Place, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The id that this key makes, when the store holds it. No need to guess by time."""
        for kind in ("post", "file", "question"):
            made = message_id(key, kind)
            if await self._holds(place, made):
                return made
        return None

    async def upload(self, place: Place, name: str, data: bytes, comment: str, key: str) -> str:
        """Deliver a file with a comment."""
        uploaded = Uploaded(place, message_id(key, "file"), comment, name, data)
        await self._deliver(uploaded)
        return uploaded.message_id

    async def typing(self, place: Place, status: str) -> None:
        """Show that the agent works. Best effort."""
        try:
            await self._deliver(Working(place, status))
        except PlatformError:
            return

    async def mark(self, place: Place, message_id: str, mark: Mark) -> None:
        """Nothing: the page shows the turn itself."""

    async def ask(self, place: Place, question: Question, key: str) -> str:
        """Deliver a question; the page shows its choices as buttons."""
        asked = Questioned(place, message_id(key, "question"), question)
        await self._deliver(asked)
        return asked.message_id

    async def members(self, room: Room) -> Sequence[Speaker]:
        """Who has spoken in the room, as the gateway knows."""
        return await self._members(room)
