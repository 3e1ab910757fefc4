"""What the administrator's routes show, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from gateway.web.admin.values import Day, RoomLine, SessionLine, Summary
from gateway.web.views import QuestionView, RoomView, SessionView, SpeakerView, View, question_view
from gateway.web.views import room_view as room_in_list


class BotView(View):
    name: str
    platform: str
    personas: list[str]
    state: str
    since: datetime | None
    event_at: datetime | None
    error: str
    error_at: datetime | None
    restarts: int


class ProblemView(View):
    kind: str
    name: str
    text: str
    remedy: str
    grave: bool


class TurnLineView(View):
    seq: int
    id: str
    at: datetime
    state: str
    persona: str
    room_id: str
    room_name: str
    room_kind: str
    person_id: str
    person_name: str
    command: bool
    total_ms: int | None
    queued_ms: int | None
    ready_ms: int | None
    brief_ms: int | None
    compose_ms: int | None
    agent_ms: int | None
    post_ms: int | None
    error: str
    tokens: int | None
    cost_usd: float | None


class TurnPageView(View):
    """next_before: for the next page; None at the end."""

    items: list[TurnLineView]
    next_before: int | None


class SpentView(View):
    persona: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


class DayView(View):
    day: date
    turns: dict[str, int]
    p50_ms: int | None
    p95_ms: int | None
    spent: list[SpentView]
    facts: int


class DaysView(View):
    days: list[DayView]


class RoomLineView(RoomView):
    platform: str
    people: list[SpeakerView]
    personas: list[str]
    messages: int
    days: int
    in_memory: bool
    models: dict[str, str]


class SessionLineView(SessionView):
    room_name: str
    room_kind: str
    agent: str
    used_at: datetime
    memory_bytes: int | None
    cpu_s: float | None
    tokens: int | None
    cost_usd: float | None


class TodayView(View):
    turns: int
    failed: int
    p50_ms: int | None
    waiting: int


class DiskView(View):
    free_bytes: int
    total_bytes: int
    database_bytes: int | None


class SummaryView(View):
    """ok: every bot is up or on its way, and nothing grave is known."""

    ok: bool
    at: datetime
    bots: list[BotView]
    problems: list[ProblemView]
    questions: list[QuestionView]
    failed: list[TurnLineView]
    today: TodayView
    sessions: int
    asleep: int
    most_sessions: int
    disk: DiskView


def summary_view(summary: Summary) -> SummaryView:
    """Everything on one page."""
    parts = {name: getattr(summary, name) for name in SummaryView.model_fields if name != "ok"}
    parts["questions"] = [question_view(asked) for asked in summary.questions]
    return SummaryView.model_validate(
        parts | {"ok": not any(problem.grave for problem in summary.problems)}
    )


def room_line_view(line: RoomLine) -> RoomLineView:
    """A room with what happened there lately."""
    own = RoomLineView.model_fields.keys() - RoomView.model_fields.keys()
    parts = {name: getattr(line, name) for name in own}
    return RoomLineView.model_validate(room_in_list(line.card).model_dump() | parts)


def session_line_view(line: SessionLine) -> SessionLineView:
    """A living session with what it takes."""
    card = SessionView.model_validate(line.card).model_dump()
    own = SessionLineView.model_fields.keys() - SessionView.model_fields.keys()
    return SessionLineView.model_validate(card | {name: getattr(line, name) for name in own})


def days_view(days: Sequence[Day]) -> DaysView:
    """The days, oldest first."""
    return DaysView(days=[DayView.model_validate(day) for day in days])
