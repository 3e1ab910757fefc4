"""What the HTTP API shows: the values behind the page, as JSON. What is not here stays inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from composer.attribution import strip_baked_prefix
from contract.chat import Attachment
from gateway.core.cards import Message, OpenQuestion, RoomCard, Timeline, TurnRecord
from gateway.core.events import (
    AccessChanged,
    AppEvent,
    BotsChanged,
    MessageEdited,
    MessagePosted,
    PersonasChanged,
    QuestionAsked,
    RoomOpened,
    Stopping,
    TurnChanged,
)
from gateway.web.uploads import SAFE_IMAGES

FileId = Callable[[Attachment], str | None]


class View(BaseModel):
    """Made from a value of the house by its attributes."""

    model_config = ConfigDict(from_attributes=True)

    def json_ready(self) -> dict[str, Any]:
        """Plain JSON values; times in ISO 8601 with zone."""
        return self.model_dump(mode="json")


class SpeakerView(View):
    id: str
    name: str
    kind: str
    role: str | None


class RoomView(View):
    id: str
    name: str
    kind: str
    project: str | None
    last_at: datetime | None


class FileView(View):
    """id, url: None for a file that is not kept by the page."""

    id: str | None
    name: str
    mime: str
    size_bytes: int
    url: str | None
    image: bool


class MessageView(View):
    id: str
    room_id: str
    by: SpeakerView
    text: str
    at: datetime
    edited_at: datetime | None
    thread_id: str | None
    reply_to: str | None
    attachments: list[FileView]
    turn_id: str | None
    draft: bool


class PersonaView(View):
    name: str
    description: str
    agent: str
    available: bool
    hint: str


class SessionView(View):
    id: str
    persona: str
    room_id: str
    state: str
    pid: int | None
    started_at: datetime | None
    terminal: bool


class TurnView(View):
    id: str
    room_id: str
    persona: str
    state: str
    at: datetime
    message_id: str | None
    thread_id: str | None
    session_id: str | None
    ahead: int
    draft: str
    status: str
    error: str


class OptionView(View):
    label: str
    refuses: bool


class QuestionView(View):
    id: str
    room_id: str
    turn_id: str
    persona: str
    title: str
    detail: str
    options: list[OptionView]
    may_answer: list[SpeakerView]
    at: datetime
    expires_at: datetime | None
    danger: str | None


class TimelineView(View):
    messages: list[MessageView]
    more: bool
    turns: list[TurnView]
    questions: list[QuestionView]


class ScoredView(View):
    text: str
    score: float


class SectionView(View):
    name: str
    text: str
    source: str
    items: list[ScoredView]


class TrimView(View):
    section: str
    what: str
    chars: int


class LeftOutView(View):
    layer: str
    reason: str


class TimingView(View):
    name: str
    ms: float
    after_ms: float | None


class StateView(View):
    state: str
    at: datetime
    detail: str


class AnswerView(View):
    text: str
    source: str
    ended_by: str
    tools: list[str]


class PostView(View):
    key: str
    message_id: str | None
    state: str
    at: datetime | None


class TurnRecordView(TurnView):
    """A turn with everything on its record."""

    agent: str
    raw: dict[str, Any]
    header: str
    sections: list[SectionView]
    trims: list[TrimView]
    left_out: list[LeftOutView]
    timings: list[TimingView]
    states: list[StateView]
    answer: AnswerView | None
    posts: list[PostView]
    hop: int
    persona_version: int | None


class ReplyView(View):
    turn_id: str
    persona: str
    text: str
    state: str
    error: str | None


class ReceiptView(View):
    message_id: str
    room_id: str
    duplicate: bool
    turn_ids: list[str]
    replies: list[ReplyView] | None


class HealthView(View):
    ok: bool
    detail: dict[str, str]


def room_view(card: RoomCard) -> RoomView:
    """A room in a list."""
    room = card.room
    return RoomView(
        id=room.id, name=room.name, kind=room.kind, project=room.project, last_at=card.last_at
    )


def file_view(attachment: Attachment, file_id: FileId) -> FileView:
    """A file without the path where it lies."""
    known = file_id(attachment)
    return FileView(
        id=known,
        name=attachment.name,
        mime=attachment.mime,
        size_bytes=attachment.size_bytes,
        url=f"/api/files/{known}" if known else None,
        image=known is not None and attachment.mime in SAFE_IMAGES,
    )


def message_view(message: Message, file_id: FileId) -> MessageView:
    """A message as people see it."""
    return MessageView(
        id=message.id,
        room_id=message.room_id,
        by=SpeakerView.model_validate(message.by),
        text=strip_baked_prefix(message.text) if message.legacy else message.text,
        at=message.at,
        edited_at=message.edited_at,
        thread_id=message.thread_id,
        reply_to=message.reply_to,
        attachments=[file_view(a, file_id) for a in message.attachments],
        turn_id=message.turn_id,
        draft=message.draft,
    )


def question_view(asked: OpenQuestion) -> QuestionView:
    """A question with its choices."""
    question = asked.question
    return QuestionView(
        id=question.id,
        room_id=asked.room_id,
        turn_id=asked.turn_id,
        persona=asked.persona,
        title=question.title,
        detail=question.detail,
        options=[OptionView.model_validate(option) for option in question.options],
        may_answer=[SpeakerView.model_validate(by) for by in asked.may_answer],
        at=asked.at,
        expires_at=asked.expires_at,
        danger=asked.danger,
    )


def timeline_view(timeline: Timeline, file_id: FileId) -> TimelineView:
    """A stretch of a room with what is open in it."""
    return TimelineView(
        messages=[message_view(message, file_id) for message in timeline.messages],
        more=timeline.more,
        turns=[TurnView.model_validate(turn) for turn in timeline.turns],
        questions=[question_view(asked) for asked in timeline.questions],
    )


def turn_view(record: TurnRecord) -> TurnRecordView:
    """A turn's whole record."""
    card = TurnView.model_validate(record.card)
    parts = {
        name: getattr(record, name)
        for name in TurnRecordView.model_fields.keys() - TurnView.model_fields.keys()
    }
    return TurnRecordView.model_validate(card.model_dump() | parts)


def happening_view(happening: AppEvent, file_id: FileId) -> Mapping[str, Any]:
    """An event: its type, its room, and what changed."""
    head: dict[str, Any] = {"type": happening.type, "room_id": happening.room_id}
    match happening:
        case MessagePosted(message) | MessageEdited(message):
            return head | {"message": message_view(message, file_id).json_ready()}
        case TurnChanged(turn):
            return head | {"turn": TurnView.model_validate(turn).json_ready()}
        case QuestionAsked(question):
            return head | {"question": question_view(question).json_ready()}
        case RoomOpened(room):
            return head | {"room": room_view(room).json_ready()}
        case PersonasChanged() | AccessChanged() | BotsChanged() | Stopping():
            return head
        case _:
            by = getattr(happening, "by", None)
            rest = {name: getattr(happening, name) for name in happening.__slots__}
            return head | rest | ({"by": SpeakerView.model_validate(by).json_ready()} if by else {})
