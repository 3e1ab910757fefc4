"""Messages, rooms, turns and questions as the page and the HTTP API show them.

Ids are strings. Times are aware datetimes. Sequences are ordered as their docstrings say. All that
a `View` holds may be seen by whoever may see the page: `web/rendering.py` makes JSON of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from composer.contents import Contents
from contract.agent import Answer, Question
from contract.briefing import Trim
from contract.chat import Attachment, Inbound, Room, Speaker
from contract.values import dataclass
from contract.work import (
    STEP_MARKS,
    TODO_MARKS,
    StepState,
    TodoState,
    Work,
    recorded_files,
    recorded_work,
)
from gateway.core.ledger import Post, Turn, TurnState
from store.rows import StoredMessage
from store.timestamps import moment


@dataclass(frozen=True, slots=True)
class View:
    """A value that is shown with all its fields, in their order."""


# ── What was said ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ChangeView(View):
    """A file that a tool changed, by lines."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class StepView(View):
    """One use of a tool. text: the tool and what it was used on. note: how it failed, or ""."""

    mark: str
    text: str
    state: StepState
    note: str
    changes: tuple[ChangeView, ...]


@dataclass(frozen=True, slots=True)
class TodoView(View):
    """An item of the agent's to-do list."""

    mark: str
    text: str
    state: TodoState


@dataclass(frozen=True, slots=True)
class WorkView(View):
    """An agent's work in a turn, in the order in which it happened. left_out: of its first steps.

    summary: one line, e.g. `4 tools, 2 files changed`.
    """

    summary: str
    steps: tuple[StepView, ...]
    todos: tuple[TodoView, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class MessageView(View):
    """A stored message. id: unique in its room.

    turn_id: the turn whose answer this is. draft: the answer is still being written. work: what
    was done for the answer; None: nothing that is shown. fault: why it is no answer; None: it is.
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
    work: WorkView | None = None
    fault: str | None = None
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class RoomView(View):
    """A room in a list. last_at: of its newest message."""

    room: Room
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PersonaView(View):
    """A persona. agent: its program's title. hint: how to get the program when not available.
    accounts: sender ids of the bots that it answers for, where a mention names nobody else."""

    name: str
    description: str
    agent: str
    available: bool = True
    hint: str = ""
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionView(View):
    """A living session of an agent's program. state: e.g. "starting", "idle", "working". worker:
    the machine that it lives on; "": the gateway's own."""

    id: str
    persona: str
    room_id: str
    state: str
    pid: int | None = None
    started_at: datetime | None = None
    terminal: bool = True  # it has a picture
    worker: str = ""


@dataclass(frozen=True, slots=True)
class TurnView(View):
    """A turn as the room sees it. ahead: turns before it in its session's queue while queued.

    message_id: of the message that asked. draft, work: the newest snapshot. error: one line.
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
    work: WorkView | None = None
    status: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class OpenQuestion(View):
    """A question waiting in a room. may_answer: who of the page's accounts may; None: everybody.

    danger: why it is a dangerous one, in a few words; None: nothing says so.
    """

    question: Question
    room_id: str
    turn_id: str
    persona: str
    at: datetime
    may_answer: tuple[Speaker, ...] | None = None
    expires_at: datetime | None = None
    danger: str | None = None


@dataclass(frozen=True, slots=True)
class TimelineView(View):
    """A stretch of a room, oldest first. more: older messages exist; newer: so do newer ones.

    turns and questions: those that are open now; only with the newest stretch.
    """

    messages: tuple[MessageView, ...]
    more: bool = False
    turns: tuple[TurnView, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    newer: bool = False


# ── Why an answer is what it is ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Scored(View):
    """One item of a section with the score it was chosen by."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SectionRecord(View):
    """A section of the header. source: the layer it came from."""

    name: str
    text: str
    source: str
    items: tuple[Scored, ...] = ()


@dataclass(frozen=True, slots=True)
class Timing(View):
    """The time that a step took. after_ms: its start, from the turn's acceptance; None: unknown."""

    name: str
    ms: float
    after_ms: float | None = None


@dataclass(frozen=True, slots=True)
class StateChange(View):
    """The time at which a turn entered a state."""

    state: TurnState
    at: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PostRecord(View):
    """A post of a turn's answer. message_id: None until its outcome is known."""

    key: str
    message_id: str | None
    state: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LeftOut(View):
    """A layer of the memory that gave nothing. reason: for people."""

    layer: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurnRecord(View):
    """All that is on record of a turn. raw: the message that asked, content and metadata.

    knew: what its agent was given, as its sections tell. left_out: layers of the memory that gave
    nothing. persona_version: which form of the persona's file it was made with. retry_of: the id of
    the turn that it repeats; retried_as: of the one that repeats it.
    """

    turn: TurnView
    agent: str
    raw: Mapping[str, Any]
    header: str = ""
    sections: tuple[SectionRecord, ...] = ()
    knew: Contents = field(default_factory=Contents)
    trims: tuple[Trim, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    timings: tuple[Timing, ...] = ()
    states: tuple[StateChange, ...] = ()
    answer: Answer | None = None
    posts: tuple[PostRecord, ...] = ()
    hop: int = 0
    persona_version: int | None = None
    retry_of: str | None = None
    retried_as: str | None = None


# ── Made from what is stored ────────────────────────────────────────────────────────────

ENDED: frozenset[TurnState] = frozenset({"posted", "failed", "stopped"})


def message(stored: StoredMessage) -> MessageView:
    """A stored message for a list."""
    return MessageView(
        id=stored.message_id,
        room_id=stored.room_id,
        by=stored.by,
        text=stored.content,
        at=stored.sent_at,
        edited_at=stored.edited_at,
        thread_id=stored.thread_id,
        reply_to=stored.reply_to,
        attachments=stored.attachments,
        turn_id=stored.turn_id,
        work=work(recorded_work(stored.meta["work"])) if _has_work(stored) else None,
        fault=stored.meta.get("fault") if stored.turn_id is not None else None,
    )


def inbound(inbound: Inbound) -> MessageView:
    """A message that was just stored, for a list."""
    return MessageView(
        id=inbound.message_id,
        room_id=inbound.room.id,
        by=inbound.meta.speaker(),
        text=inbound.content,
        at=inbound.sent_at,
        thread_id=inbound.thread_id,
        reply_to=inbound.reply_to,
        attachments=inbound.attachments,
    )


def answer(turn: Turn, first: Post, by: Speaker) -> MessageView:
    """A posted answer for a list. first: its first post, whose id the whole answer bears."""
    return MessageView(
        id=first.platform_id or first.key,
        room_id=turn.room.id,
        by=by,
        text=turn.answer or "",
        at=moment(turn.states[-1][1]),
        thread_id=turn.thread_id,
        attachments=_handed(turn) if "files" in turn.record else (),
        turn_id=turn.id,
        work=_worked(turn),
        fault=turn.fault,
    )


def _has_work(stored: StoredMessage) -> bool:
    return stored.turn_id is not None and "work" in stored.meta


def _handed(turn: Turn) -> tuple[Attachment, ...]:
    """The files that its agent handed over."""
    return tuple(handed.file for handed in recorded_files(turn.record))


def _worked(turn: Turn) -> WorkView | None:
    """What its agent did, once that is on record."""
    return work(recorded_work(turn.record["work"])) if "work" in turn.record else None


def work(done: Work | None) -> WorkView | None:
    """An agent's work, as it may be shown."""
    if not done:
        return None
    return WorkView(
        summary=done.summary,
        steps=tuple(
            StepView(
                STEP_MARKS[step.state],
                step.text,
                step.state,
                step.note,
                tuple(ChangeView(one.path, one.added, one.removed) for one in step.changes),
            )
            for step in done.steps
        ),
        todos=tuple(TodoView(TODO_MARKS[todo.state], todo.text, todo.state) for todo in done.todos),
        left_out=done.left_out,
    )


def turn_view(
    turn: Turn, *, message_id: str | None = None, ahead: int = 0, done: Work | None = None
) -> TurnView:
    """A turn for a list."""
    return TurnView(
        id=turn.id,
        room_id=turn.room.id,
        persona=turn.speaker_name,
        state=turn.shown_state(turn.state),
        at=moment(turn.states[0][1]),
        message_id=message_id,
        thread_id=turn.thread_id,
        session_id=turn.key.id,
        ahead=ahead,
        work=work(done) if done else _worked(turn),
        error=(turn.answer or "") if turn.fault else "",
    )


def left_out(turn: Turn) -> tuple[LeftOut, ...]:
    """The layers of the memory that gave nothing for a turn, and why."""
    memory = turn.record.get("memory", {})
    late = memory.get("late", ())
    return tuple(
        LeftOut(layer, "took too long" if layer in late else "failed")
        for layer in memory.get("missing", ())
    )
