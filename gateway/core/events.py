"""The events that the page shows live, and the bus that hands them to whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import ClassVar

from contract.chat import Speaker
from gateway.core import views
from gateway.core.views import MessageView, OpenQuestion, RoomView, TurnView


@dataclass(frozen=True, slots=True)
class MessagePosted:
    """A message was stored."""

    message: MessageView
    type: ClassVar[str] = "message"

    @property
    def room_id(self) -> str:
        return self.message.room_id


@dataclass(frozen=True, slots=True)
class MessageEdited:
    """A stored message has a new text."""

    message: MessageView
    type: ClassVar[str] = "edited"

    @property
    def room_id(self) -> str:
        return self.message.room_id


@dataclass(frozen=True, slots=True)
class MessageDeleted:
    """A message was deleted."""

    room_id: str
    message_id: str
    type: ClassVar[str] = "deleted"


@dataclass(frozen=True, slots=True)
class TurnChanged:
    """A turn entered a state, or moved up in its queue."""

    turn: TurnView
    type: ClassVar[str] = "turn"

    @property
    def room_id(self) -> str:
        return self.turn.room_id


@dataclass(frozen=True, slots=True)
class DraftChanged:
    """The agent has said this so far in a turn: a snapshot."""

    room_id: str
    turn_id: str
    text: str
    type: ClassVar[str] = "draft"


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The agent's program asks the room."""

    question: OpenQuestion
    type: ClassVar[str] = "question"

    @property
    def room_id(self) -> str:
        return self.question.room_id


@dataclass(frozen=True, slots=True)
class QuestionClosed:
    """option: the index chosen, None when nobody did. reason: "answered", "timeout", ..."""

    room_id: str
    question_id: str
    option: int | None
    by: Speaker | None
    reason: str
    type: ClassVar[str] = "question_closed"


@dataclass(frozen=True, slots=True)
class TypingChanged:
    """A persona works in a room; "" ends it."""

    room_id: str
    persona: str
    status: str
    type: ClassVar[str] = "typing"


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """The memory of a room may have changed: fetch it again."""

    room_id: str
    type: ClassVar[str] = "memory"


@dataclass(frozen=True, slots=True)
class PersonasChanged:
    """Fetch the personas again."""

    room_id: ClassVar[None] = None
    type: ClassVar[str] = "personas"


@dataclass(frozen=True, slots=True)
class AccessChanged:
    """Fetch who may do what, and who waits, again."""

    room_id: ClassVar[None] = None
    type: ClassVar[str] = "access"


@dataclass(frozen=True, slots=True)
class BotsChanged:
    """A bot was started or has ended: fetch them again."""

    room_id: ClassVar[None] = None
    type: ClassVar[str] = "bots"


@dataclass(frozen=True, slots=True)
class RoomOpened:
    """A room is new, or its name or project changed."""

    room: RoomView
    type: ClassVar[str] = "room"

    @property
    def room_id(self) -> str:
        return self.room.room.id


@dataclass(frozen=True, slots=True)
class Stopping:
    """The gateway was told to end: no turn begins any more."""

    room_id: str | None = None
    type: ClassVar[str] = "stopping"


AppEvent = (
    MessagePosted
    | MessageEdited
    | MessageDeleted
    | TurnChanged
    | DraftChanged
    | QuestionAsked
    | QuestionClosed
    | TypingChanged
    | MemoryChanged
    | PersonasChanged
    | AccessChanged
    | BotsChanged
    | RoomOpened
    | Stopping
)
EPHEMERAL = (DraftChanged, TypingChanged)
"""Snapshots that the next one replaces: not kept for a client that comes back."""


# ── The bus ─────────────────────────────────────────────────────────────────────────────

Publish = Callable[[AppEvent], None]

_BACKLOG = 10_000  # a listener this far behind has stopped listening


class EventBus:
    """Every event to every subscriber, in order; a subscriber that sleeps is cut off."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[AppEvent | None]] = set()
        self._ends: dict[str, asyncio.Event] = {}

    def publish(self, event: AppEvent) -> None:
        """Tell everybody; never waits."""
        if isinstance(event, TurnChanged) and event.turn.state in views.ENDED:
            self._ends.pop(event.turn.id, asyncio.Event()).set()
        for queue in list(self._listeners):
            if queue.qsize() >= _BACKLOG:
                self._listeners.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    def end_of(self, turn_id: str) -> asyncio.Event:
        """Set when the turn ends; a turn that has ended before is never heard of again."""
        return self._ends.setdefault(turn_id, asyncio.Event())

    def forget(self, turn_id: str) -> None:
        """Nobody waits for the turn's end any more."""
        self._ends.pop(turn_id, None)

    def subscribe(self) -> AsyncIterator[AppEvent]:
        """Everything from this call on, until the iterator or the bus is closed."""
        queue: asyncio.Queue[AppEvent | None] = asyncio.Queue()
        self._listeners.add(queue)
        return self._listen(queue)

    async def _listen(self, queue: asyncio.Queue[AppEvent | None]) -> AsyncIterator[AppEvent]:
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._listeners.discard(queue)

    def close(self) -> None:
        """End every subscription."""
        for queue in self._listeners:
            queue.put_nowait(None)
