"""A platform that lies in memory: it records what was posted, and fails on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from aiohttp import web

from bots.bot import PlatformCapabilities, Reaction, Receive
from contract.agent import Question
from contract.chat import Deleted, Destination, Edited, Inbound, IngestMetadata, Room, Speaker
from contract.errors import MootError, PlatformError
from contract.work import Draft


@dataclass
class Posted:
    """A message on the platform."""

    id: str
    place: Destination
    text: str
    key: str
    at: datetime


@dataclass
class FakeBot:
    """Records its calls. faults: raised by the next posts, in order; None lets one pass.

    tell: called with each post once it stands there, as the platform tells everybody in the room.
    lose_answers: the next posts arrive, but their caller is told that nobody knows. early:
    messages that stand before all posts, or before one. unordered: it doesn't say what stood where.
    """

    name: str = "fake"
    platform: str = "fake"
    personas: Sequence[str] = ("demo",)
    capabilities: PlatformCapabilities = field(
        default_factory=lambda: PlatformCapabilities(draft_interval_s=0.05)
    )
    limit: int = 4000
    prefix: str = "p"  # of its posts' ids
    faults: list[PlatformError | None] = field(default_factory=list)
    lose_answers: int = 0
    has_history: bool = True
    frozen: bool = False  # no message can be edited any more
    posted: list[Posted] = field(default_factory=list)
    edits: list[tuple[str, str]] = field(default_factory=list)
    marks: list[tuple[str, Reaction]] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)
    uploads: list[tuple[str, bytes]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    early: set[str | tuple[str, str]] = field(default_factory=set)
    unordered: bool = False
    tell: Callable[[Posted], Awaitable[None]] | None = None
    _ids: count[int] = field(default_factory=lambda: count(1))

    own_ids: frozenset[str] = frozenset()
    lacks: Sequence[str] = ()
    refuses: MootError | None = None
    roster: Sequence[Speaker] = ()

    async def check(self) -> Sequence[str]:
        if self.refuses:
            raise self.refuses
        return self.lacks

    def routes(self) -> Sequence[web.RouteDef]:
        return ()

    async def run(self, receive: Receive) -> None:
        await asyncio.Event().wait()

    def split(self, text: str) -> list[str]:
        return [text[i : i + self.limit] for i in range(0, len(text), self.limit)]

    async def post(self, place: Destination, text: str, key: str) -> str:
        if self.faults and (fault := self.faults.pop(0)):
            raise fault
        message = Posted(f"{self.prefix}{next(self._ids)}", place, text, key, datetime.now(UTC))
        self.posted.append(message)
        if self.lose_answers:
            self.lose_answers -= 1
            raise PlatformError("the line went dead", outcome="unknown")
        if self.tell:
            await self.tell(message)
        return message.id

    async def draft(self, place: Destination, draft: Draft, key: str) -> str:
        return await self.post(place, draft.text, key)

    async def redraft(self, place: Destination, message_id: str, draft: Draft) -> None:
        await self.edit(place, message_id, draft.text)

    async def note(self, place: Destination, text: str, key: str) -> str:
        self.notes.append(text)
        return await self.post(place, f"({text})", key)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        if self.frozen:
            raise PlatformError("can't be edited", outcome="refused")
        self.edits.append((message_id, text))
        for message in self.posted:
            if message.id == message_id:
                message.text = text

    async def delete(self, place: Destination, message_id: str) -> None:
        self.posted = [m for m in self.posted if m.id != message_id]

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        if not self.has_history:
            raise PlatformError("no history here", outcome="refused")
        return next((m.id for m in self.posted if m.key == key), None)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        self.uploads.append((name, data))
        return await self.post(place, f"[{name}] {comment}", key)

    async def typing(self, place: Destination, status: str) -> None:
        return None

    async def react(self, place: Destination, message_id: str, mark: Reaction) -> None:
        self.marks.append((message_id, mark))

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        self.asked.append(question)
        return await self.post(place, f"? {question.title}", key)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        return (
            None if self.unordered else self.early.isdisjoint({message_id, (message_id, post_id)})
        )

    async def changed(self, room: Room, message_id: str) -> Edited | Deleted | None:
        return None

    async def members(self, room: Room) -> Sequence[Speaker]:
        return self.roster


ROOM = Room("fake:general", "general")


def said(
    content: str,
    *,
    message_id: str | None = None,
    by: str = "ash",
    room: Room = ROOM,
    kind: str = "human",
    thread_id: str | None = None,
    **meta: object,
) -> Inbound:
    """A message as a platform delivers it."""
    metadata = IngestMetadata.model_validate(
        {
            "source": "fake",
            "sender_id": f"fake:{by}",
            "sender_display_name": by.title(),
            "sender_type": kind,
            **meta,
        }
    )
    return Inbound(
        content=content,
        meta=metadata,
        room=room,
        message_id=message_id or f"m{next(_ids)}",
        sent_at=datetime.now(UTC),
        thread_id=thread_id,
    )


_ids = count(1)
