"""What the HTTP API shows of a room's memory, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from gateway.web.memory.room_memory import MemorySearch, Overview
from gateway.web.views import View
from memory.browse.view_rows import InsightRow, ObservationContext, TitleRow


class LandmarkView(View):
    """seq: what `!unpin` takes. message_id: None when no message was pinned, or it is gone."""

    seq: int
    kind: str
    text: str
    by_name: str
    message_id: str | None
    at: datetime


class EpisodeView(View):
    seq: int
    text: str
    record: dict[str, str | list[str]]
    persona: str | None
    plain: bool
    first_at: datetime | None
    last_at: datetime | None
    at: datetime


class FactView(View):
    """seq: what `!forget` takes. replaced_by: another fact's seq; 0 when that one is gone."""

    seq: int
    kind: str
    text: str
    person: str | None
    person_name: str | None
    origin: str | None
    shared: bool
    said_at: datetime
    replaced_by: int | None


class TitleView(View):
    seq: int
    id: str
    kind: str
    title: str
    persona: str
    at: datetime


class RecordView(TitleView):
    """An observation with all that was written."""

    subtitle: str
    facts: list[str]
    narrative: str
    concepts: list[str]
    files: list[str]
    session_id: str
    turn_id: str | None


class PlacedView(TitleView):
    """An observation in a timeline. here: the one that was asked for."""

    here: bool


class ObservationView(View):
    record: RecordView
    timeline: list[PlacedView]


class NoteView(View):
    kind: str
    text: str
    used_at: datetime


class PersonView(View):
    """What is known of one person."""

    id: str
    name: str
    notes: list[NoteView]


class AgentSessionView(View):
    id: str
    persona: str
    title: str
    subtitle: str
    overview: str
    started_at: datetime
    ended_at: datetime | None


class FactsView(View):
    """next_before: for the next page; None at the end."""

    items: list[FactView]
    next_before: int | None


class TitlesView(View):
    items: list[TitleView]
    next_before: int | None


class MemoryView(View):
    scopes: list[str]
    landmarks: list[LandmarkView]
    episodes: list[EpisodeView]
    facts: FactsView
    observations: TitlesView
    insights: list[PersonView]
    sessions: list[AgentSessionView]


class FoundView(View):
    facts: list[FactView]
    observations: list[TitleView]
    by: str


def memory_view(overview: Overview) -> MemoryView:
    """The first page of every section; insights by person."""
    parts = {name: getattr(overview, name) for name in MemoryView.model_fields}
    return MemoryView.model_validate(parts | {"insights": _people(overview.insights)})


def observation_view(found: ObservationContext) -> ObservationView:
    """An observation within its timeline, oldest first."""
    return ObservationView(
        record=RecordView.model_validate(found.record),
        timeline=[
            *(_placed(entry) for entry in found.earlier),
            _placed(TitleRow.of(found.record), here=True),
            *(_placed(entry) for entry in found.later),
        ],
    )


def found_view(found: MemorySearch) -> FoundView:
    """What a search found."""
    return FoundView.model_validate(found)


def _placed(entry: TitleRow, *, here: bool = False) -> PlacedView:
    return PlacedView(**TitleView.model_validate(entry).model_dump(), here=here)


def _people(insights: Iterable[InsightRow]) -> list[PersonView]:
    return [
        PersonView(
            id=sender_id,
            name=notes[0].sender_name,
            notes=[NoteView.model_validate(note) for note in notes],
        )
        for sender_id, group in groupby(insights, key=lambda note: note.sender_id)
        for notes in [list(group)]
    ]
