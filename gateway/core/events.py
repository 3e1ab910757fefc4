"""The events that the page shows live, and the bus that hands them to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from contract.chat import Speaker
from contract.values import dataclass
from gateway.core.views import MessageView, OpenQuestion, RoomView, TurnView, WorkView


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
class WorkChanged:
    """The agent has done this so far in a turn: a snapshot."""

    room_id: str
    turn_id: str
    work: WorkView
    type: ClassVar[str] = "work"


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
class ReadUntil:
    """Somebody has read a room on the page up to a time: told to them alone."""

    room_id: str
    person_id: str
    until: datetime
    type: ClassVar[str] = "read"


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
    | WorkChanged
    | QuestionAsked
    | QuestionClosed
    | TypingChanged
    | MemoryChanged
    | PersonasChanged
    | AccessChanged
    | BotsChanged
    | RoomOpened
    | ReadUntil
    | Stopping
)
SNAPSHOTS = (DraftChanged, WorkChanged)
"""Of a turn: only its newest of each kind is of interest."""
EPHEMERAL = (DraftChanged, WorkChanged, TypingChanged)
"""What the next one replaces; of snapshots a client that comes back gets the newest."""


# ── The bus ─────────────────────────────────────────────────────────────────────────────

Publish = Callable[[AppEvent], None]


class EventBus:
    """Hands every event to all listeners, at once and in order. listeners: they must not raise;
    while there are none, an event that takes some work need not be made."""

    def __init__(self) -> None:
        self.listeners: set[Publish] = set()

    def publish(self, event: AppEvent) -> None:
        """Tell everybody."""
        for hear in tuple(self.listeners):
            hear(event)
