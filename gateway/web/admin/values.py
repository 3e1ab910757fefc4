"""The values that the page's administrator side shows.

Sequences are ordered as their docstrings say; times are aware; durations are milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from contract.chat import Speaker
from contract.values import dataclass
from gateway.core.views import OpenQuestion, RoomView, SessionView, View
from gateway.settings.tables import Follow

SessionAct = Literal["stop", "renew", "sleep"]
Acted = Literal["done", "nothing", "busy", "unknown"]
"""nothing: there was nothing to stop; busy: it works, or would lose its conversation."""


@dataclass(frozen=True, slots=True)
class BotView(View):
    """The health of a bot. state: up, connecting, down. since: of its present run."""

    name: str
    platform: str
    personas: tuple[str, ...]
    state: str
    since: datetime | None
    event_at: datetime | None
    error: str
    error_at: datetime | None
    restarts: int


@dataclass(frozen=True, slots=True)
class Problem(View):
    """Something that is not well. kind: bot, persona, agent, disk, database, sandbox. remedy: what
    to do."""

    kind: str
    name: str
    text: str
    remedy: str = ""
    grave: bool = True


@dataclass(frozen=True, slots=True)
class Embedder(View):
    """The model that finds what is said in other words. kept_mb: on disk, as it is or will be.
    facts: that the index holds; embedded: of those, how many are found by their meaning. refused:
    why it isn't used although it is there. fault: why it could not be installed."""

    state: Literal["absent", "fetching", "installed"]
    download_mb: int
    kept_mb: int
    facts: int
    embedded: int
    refused: str
    fault: str


@dataclass(frozen=True, slots=True)
class TurnLine(View):
    """A turn in a list. The steps are None where it didn't come to them. error: one line."""

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
    command: bool = False
    total_ms: int | None = None
    queued_ms: int | None = None
    ready_ms: int | None = None
    brief_ms: int | None = None
    compose_ms: int | None = None
    agent_ms: int | None = None
    post_ms: int | None = None
    error: str = ""
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class TurnPage(View):
    """Turns, newest first. next_before: for the next page; None at the end."""

    items: Sequence[TurnLine]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class WantedTurns:
    """The filter of a list of turns. state: the page's word, or "open"; slow_ms: those above."""

    room_id: str | None = None
    persona: str | None = None
    person_id: str | None = None
    state: str | None = None
    slow_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PersonaUsage(View):
    """The tokens and cost of a persona's turns of a day, where its agent reports them.

    cached_tokens: a part of the input's.
    """

    persona: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Day(View):
    """A day in Moot's zone. turns: by how they ended, commands left out.

    p50_ms, p95_ms: of answered turns, from the question to the posted answer. facts: how many
    there were at its end.
    """

    day: date
    turns: Mapping[str, int]
    p50_ms: int | None
    p95_ms: int | None
    spent: Sequence[PersonaUsage]
    facts: int


@dataclass(frozen=True, slots=True)
class RoomLine(View):
    """A room and what happened there lately. people: the most talkative, and how many more spoke.

    messages: in so many days. models: what `!model` chose, by persona. follow: who goes on without
    a mention in a thread. require_mention: what `!mention` chose; None: as each bot's table says.
    """

    room: RoomView
    platform: str
    people: Sequence[Speaker]
    more_people: int
    personas: Sequence[str]
    messages: int
    days: int
    in_memory: bool
    models: Mapping[str, str]
    follow: Follow = "asker"
    require_mention: bool | None = None


@dataclass(frozen=True, slots=True)
class SessionLine(View):
    """A living session, what its program takes now, and what it took since it began.

    cpu_s: since its start. tokens, cost_usd: None where unknown.
    """

    session: SessionView
    room_name: str
    room_kind: str
    agent: str
    used_at: datetime
    memory_bytes: int | None
    cpu_s: float | None
    tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Disk(View):
    """The size of the data, in bytes. database: None where it is not a file."""

    free_bytes: int
    total_bytes: int
    database_bytes: int | None


@dataclass(frozen=True, slots=True)
class Today(View):
    """The last 24 hours, commands left out."""

    turns: int
    failed: int
    p50_ms: int | None
    waiting: int


@dataclass(frozen=True, slots=True)
class AlertView(View):
    """A trouble that operators are told of. since: when it was first seen."""

    text: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Summary(View):
    """Is everything well? failed: of the last 24 hours, newest first; questions: oldest first;
    alerts: newest first. alerts_told: a room or a webhook is told of them."""

    at: datetime
    bots: Sequence[BotView]
    problems: Sequence[Problem]
    alerts: Sequence[AlertView]
    alerts_told: bool
    questions: Sequence[OpenQuestion]
    failed: Sequence[TurnLine]
    today: Today
    sessions: int
    asleep: int
    most_sessions: int
    disk: Disk
