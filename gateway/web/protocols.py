"""What the page and the HTTP API ask of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from contract.chat import Speaker
from gateway.access.admissions import AccessOverview
from gateway.access.grants import GrantSpan, KeptGrant
from gateway.access.pairing_rows import Decision, Pairing
from gateway.audit.audit import AuditLog
from gateway.core.events import AppEvent
from gateway.core.views import (
    PersonaView,
    RoomView,
    SessionView,
    TimelineView,
    TurnRecord,
    TurnState,
    View,
)
from gateway.limits.usage import UsageReports
from gateway.questions.questions import Choice
from gateway.schedules.scheduled import Schedule
from gateway.schedules.service import ScheduleRequest
from gateway.settings.access import Role
from gateway.web.admin.protocol import Admin
from gateway.web.memory.room_memory import MemorySearch, Overview
from memory.browse.view_rows import FactRow, ObservationContext, ObservationFilter, Page, TitleRow


@dataclass(frozen=True, slots=True)
class TurnReply(View):
    """The outcome of a turn for a caller who waited. state: "running" when the wait was over."""

    turn_id: str
    persona: str
    text: str
    state: TurnState
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt(View):
    """The message is on disk. duplicate: it was there before and nothing happened.

    replies: only for a caller who waits, one for each turn.
    """

    message_id: str
    room_id: str
    duplicate: bool = False
    turn_ids: tuple[str, ...] = ()
    replies: tuple[TurnReply, ...] | None = None


@dataclass(frozen=True, slots=True)
class HealthReport(View):
    """ok: messages are taken and turns run. detail: a word for each part, no secrets."""

    ok: bool
    detail: Mapping[str, str] = field(default_factory=dict)


Picture = Sequence[Sequence[tuple[str, str]]]
"""A terminal: rows of (text, CSS classes) runs."""


class RoomMemoryProtocol(Protocol):
    """What is remembered of a room, for people who look. None: there is no such room."""

    async def overview(self, room_id: str) -> Overview | None:
        """The first page of every section."""

    async def facts(self, room_id: str, *, before: int, replaced: bool) -> Page[FactRow] | None:
        """Facts numbered below `before`. replaced: those that were replaced, too."""

    async def observations(
        self, room_id: str, sought: ObservationFilter | None, *, before: int
    ) -> Page[TitleRow] | None:
        """Titles of what agents did, older than `before`."""

    async def observation(self, room_id: str, observation_id: str) -> ObservationContext | None:
        """One of them and its timeline; None also when the room holds none of this id."""

    async def search(self, room_id: str, query: str) -> MemorySearch | None:
        """Facts and observations."""


class Roles(Protocol):
    """Who may do what, for whoever reached the page. None: there is no such one."""

    async def overview(self) -> AccessOverview:
        """All of it."""

    async def grant(
        self, person: Speaker, role: Role, span: GrantSpan, by: Speaker, *, named: bool
    ) -> KeptGrant:
        """Give a role. named: the person's name was told, too. Raises Rejected."""

    async def revoke(self, seq: int, by: Speaker) -> KeptGrant | None:
        """Take a kept role back."""

    async def decide(self, code: str, decision: Decision, by: Speaker) -> Pairing | None:
        """Let somebody in who waits, or don't."""


class Scheduling(Protocol):
    """Schedules of all rooms."""

    async def all(self, room_id: str | None) -> Sequence[Schedule]:
        """Those of a room, or every one."""

    async def create(self, wish: ScheduleRequest) -> Schedule:
        """A new one. Raises MootError."""

    async def pause(self, seq: int, by: Speaker, *, paused: bool) -> Schedule | None:
        """It; None: there is none. Raises Rejected for one whose time is over."""

    async def end(self, seq: int, by: Speaker) -> bool:
        """End it; False: there is none. Raises Rejected for one of moot.toml."""


class WebServiceProtocol(Protocol):
    """The gateway behind the page.

    The three entries take the body as it came (see `gateway.web.submission.parse_submission`, which
    they call first), return when the message is on disk, and raise contract.Rejected. Any other
    contract.MootError becomes its `.say` for the caller.
    """

    @property
    def memory(self) -> RoomMemoryProtocol:
        """What is remembered, by room."""

    @property
    def audit(self) -> AuditLog:
        """Who let which agent do what."""

    @property
    def usage(self) -> UsageReports:
        """What agents took."""

    @property
    def roles(self) -> Roles:
        """Who may do what."""

    @property
    def admin(self) -> Admin:
        """The whole house, for whoever administers it."""

    @property
    def schedules(self) -> Scheduling:
        """What is asked by itself."""

    async def submit(self, raw: Mapping[str, Any], *, wait_s: float | None = None) -> Receipt:
        """Store a message; it may run agents. wait_s: stay that long for their replies."""

    async def inject(self, raw: Mapping[str, Any], *, wait_s: float | None = None) -> Receipt:
        """Give a message to the session named in `session_id`."""

    async def store_passive(self, raw: Mapping[str, Any]) -> Receipt:
        """Store a message; it never runs an agent."""

    async def rooms(self) -> Sequence[RoomView]:
        """Every room, the one with the newest message first."""

    async def create_room(self, name: str) -> RoomView:
        """Open `web:<slug of name>`, or return it when it is there. Raises Rejected."""

    async def messages(
        self, room_id: str, *, before: str | None, limit: int
    ) -> TimelineView | None:
        """The newest messages, or those before message `before`; None: no such room."""

    async def turn(self, turn_id: str) -> TurnRecord | None:
        """All that is on record of a turn."""

    async def personas(self) -> Sequence[PersonaView]:
        """Every persona, available or not; the one that answers by default first."""

    async def people(self) -> Sequence[Speaker]:
        """Humans who have spoken, the latest first."""

    async def sessions(self) -> Sequence[SessionView]:
        """Living sessions."""

    def picture(self, session_id: str) -> Picture | None:
        """The terminal now; None: no such session."""

    async def choose(self, question_id: str, option: int, by: Speaker) -> Choice:
        """Answer a question. Raises Rejected when there is no such option."""

    def subscribe(self) -> AsyncIterator[AppEvent]:
        """Everything that happens from now on, in order, until the house closes."""

    async def metrics(self) -> bytes:
        """Prometheus text."""

    async def health(self) -> HealthReport:
        """The state of Moot, in words."""
