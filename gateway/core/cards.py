"""Rooms, messages and turns as the page and the HTTP API show them.

Ids are strings. Times are aware datetimes. Sequences are ordered as their docstrings say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contract.agent import Answer, Question
from contract.briefing import Trim
from contract.chat import Attachment, Room, Speaker

TurnState = Literal["queued", "running", "answered", "posted", "failed", "stopped"]


# ── What was said ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. id: unique in its room.

    turn_id: the turn whose answer this is. draft: the answer is still being written.
    legacy: written before the contract; the page strips its baked prefix for display only.
    """

    id: str
    room_id: str
    by: Speaker
    text: str
    at: datetime
    edited_at: datetime | None = None
    thread_id: str | None = None
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()
    turn_id: str | None = None
    draft: bool = False
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class RoomCard:
    """A room in a list. last_at: of its newest message."""

    room: Room
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PersonaCard:
    """A persona. agent: its program's title. hint: how to get the program when not available."""

    name: str
    description: str
    agent: str
    available: bool = True
    hint: str = ""


@dataclass(frozen=True, slots=True)
class SessionCard:
    """A living session of an agent's program. state: e.g. "starting", "idle", "working"."""

    id: str
    persona: str
    room_id: str
    state: str
    pid: int | None = None
    started_at: datetime | None = None
    terminal: bool = True  # it has a picture


@dataclass(frozen=True, slots=True)
class TurnCard:
    """A turn as the room sees it. ahead: turns before it in its session's queue while queued.

    message_id: of the message that asked. draft: the newest snapshot. error: one line.
    """

    id: str
    room_id: str
    persona: str
    state: TurnState
    at: datetime
    message_id: str | None = None
    thread_id: str | None = None
    session_id: str | None = None
    ahead: int = 0
    draft: str = ""
    status: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question waiting in a room. may_answer: who may; empty: everybody in the room.

    danger: why it is a dangerous one, in a few words; None: nothing says so.
    """

    question: Question
    room_id: str
    turn_id: str
    persona: str
    at: datetime
    may_answer: tuple[Speaker, ...] = ()
    expires_at: datetime | None = None
    danger: str | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A stretch of a room, oldest first. more: older messages exist.

    turns and questions: those that are open now; only with the newest stretch.
    """

    messages: tuple[Message, ...]
    more: bool = False
    turns: tuple[TurnCard, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()


# ── Why an answer is what it is ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Scored:
    """One item of a section with the score it was chosen by."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """A section of the header. source: the layer it came from."""

    name: str
    text: str
    source: str
    items: tuple[Scored, ...] = ()


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a step took. after_ms: its start, from the turn's acceptance; None: unknown."""

    name: str
    ms: float
    after_ms: float | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """When a turn entered a state."""

    state: TurnState
    at: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PostRecord:
    """A post of a turn's answer. message_id: None until its outcome is known."""

    key: str
    message_id: str | None
    state: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A layer of the memory that gave nothing. reason: for people."""

    layer: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """All that is on record of a turn. raw: the message that asked, content and metadata.

    left_out: layers of the memory that gave nothing. persona_version: which form of the persona's
    file it was made with.
    """

    card: TurnCard
    agent: str
    raw: Mapping[str, Any]
    header: str = ""
    sections: tuple[SectionRecord, ...] = ()
    trims: tuple[Trim, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    timings: tuple[Timing, ...] = ()
    states: tuple[StateChange, ...] = ()
    answer: Answer | None = None
    posts: tuple[PostRecord, ...] = ()
    hop: int = 0
    persona_version: int | None = None
