"""The house as the page sees it: its entries, its lists, and what is on record."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from bots.bot import Bot
from contract.chat import Inbound, Room, Speaker
from contract.errors import Rejected
from gateway.access.service import AccessService
from gateway.audit.audit import Audit
from gateway.core import views
from gateway.core.addressing import route
from gateway.core.events import AppEvent, EventBus, RoomOpened
from gateway.core.ledger import Turn
from gateway.core.sql_ledger import SqlLedger
from gateway.core.views import PersonaView, RoomView, SessionView, TimelineView, TurnRecord
from gateway.limits.usage import UsageBook
from gateway.observability.metering import Taken, measure
from gateway.observability.metrics import Metrics
from gateway.observability.session_metrics import Counted, Load
from gateway.questions.questions import Choice, Questions
from gateway.schedules.service import ScheduleService
from gateway.sessions.pool import SessionPool
from gateway.sessions.sessions import LiveSession, scope_folder
from gateway.settings.personas.personas import Personas
from gateway.turns.intake import Intake
from gateway.turns.queue import TurnQueues
from gateway.web import records
from gateway.web.admin.service import AdminService
from gateway.web.memory.room_memory import RoomMemoryService
from gateway.web.protocols import HealthReport, Picture, Receipt, TurnReply
from gateway.web.submission import DIRECT, Submission, parse_submission
from memory.scopes import home_scope
from store.transcript import Transcript


class WebService:
    """`gateway.web.protocols.House` over the real rooms."""

    def __init__(
        self,
        *,
        door: Intake,
        rooms: TurnQueues,
        transcript: Transcript,
        ledger: SqlLedger,
        sessions: SessionPool,
        personas: Personas,
        questions: Questions,
        bus: EventBus,
        bots: Mapping[str, Bot],
        metrics: Metrics,
        memory: RoomMemoryService,
        audit: Audit,
        usage: UsageBook,
        roles: AccessService,
        admin: AdminService,
        schedules: ScheduleService,
        clock: Callable[[], datetime],
    ) -> None:
        self.memory = memory
        self.audit = audit
        self.usage = usage
        self.roles = roles
        self.admin = admin
        self.schedules = schedules
        self._door = door
        self._rooms = rooms
        self._transcript = transcript
        self._ledger = ledger
        self._sessions = sessions
        self._personas = personas
        self._questions = questions
        self._bus = bus
        self._bots = bots
        self._metrics = metrics
        self._clock = clock

    # ── The entries ─────────────────────────────────────────────────────────────────────

    async def submit(self, raw: Mapping[str, Any], *, wait_s: float | None = None) -> Receipt:
        """Store a message; it may run agents."""
        return await self._take(parse_submission(raw, now=self._clock()), wait_s)

    async def inject(self, raw: Mapping[str, Any], *, wait_s: float | None = None) -> Receipt:
        """Give a message to the session named in `session_id`, which must be of its scope."""
        given = parse_submission(raw, now=self._clock())
        persona, at, scope = (given.session_id or "").partition("@")
        if not at or self._personas.get(persona) is None:
            raise Rejected("session_id", "is required: <persona>@<scope>, see /api/sessions")
        room = await self._room(given)
        if scope != home_scope(room, given.meta.sender_id, persona):
            raise Rejected("session_id", "belongs to another room")
        meta = given.meta.model_copy(update={"recipient_id": f"bot:{persona}", "passive": False})
        return await self._take(replace(given, meta=meta), wait_s)

    async def store_passive(self, raw: Mapping[str, Any]) -> Receipt:
        """Store a message; it never runs an agent."""
        given = parse_submission(raw, now=self._clock())
        meta = given.meta.model_copy(update={"passive": True})
        return await self._take(replace(given, meta=meta), None)

    async def _room(self, given: Submission) -> Room:
        return given.room.resolve(await self._transcript.room(given.room.id))

    async def _take(self, given: Submission, wait_s: float | None) -> Receipt:
        room = await self._room(given)
        meta = given.meta
        direct = DIRECT.fullmatch(room.id)
        if direct and meta.recipient_id is None:
            meta = meta.model_copy(update={"recipient_id": f"bot:{direct['persona']}"})
        inbound = Inbound(
            content=given.content,
            meta=meta,
            room=room,
            message_id=given.message_id,
            sent_at=given.sent_at,
            thread_id=given.thread_id,
            reply_to=given.reply_to,
            attachments=given.attachments,
        )
        accepted = await self._door.message(inbound, self._bot_of(inbound), trusted=True)
        ids = tuple(turn.id for turn in accepted.turns)
        replies = None
        if wait_s is not None:
            turns = accepted.turns or await self._ledger.turns_of(accepted.seq)
            replies = tuple([await self._reply(turn.id, wait_s) for turn in turns])
        return Receipt(given.message_id, room.id, not accepted.new, ids, replies)

    def _bot_of(self, inbound: Inbound) -> Bot:
        """The bot that serves a room's platform, the one among several whose persona is addressed;
        the page for every other source."""
        served = [bot for bot in self._bots.values() if bot.platform == inbound.room.source]
        wanted = (bot for bot in served if route(inbound, self._personas.of(bot.personas)))
        return next(wanted, served[0] if served else self._bots["web"])

    async def _reply(self, turn_id: str, wait_s: float) -> TurnReply:
        ended = self._bus.end_of(turn_id)
        turn = await self._known(turn_id)
        if turn.state not in ("posted", "dropped"):
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), wait_s)
            turn = await self._known(turn_id)
        self._bus.forget(turn_id)
        text = turn.answer or ""
        state = views.state(turn, turn.state)
        return TurnReply(turn.id, turn.persona, text, state, text if turn.fault else None)

    async def _known(self, turn_id: str) -> Turn:
        turn = await self._ledger.turn(turn_id)
        if turn is None:
            raise Rejected("turn_id", "there is no such turn")
        return turn

    # ── The lists ───────────────────────────────────────────────────────────────────────

    async def rooms(self) -> Sequence[RoomView]:
        """Every room, the one with the newest message first."""
        return [RoomView(room, at) for room, at in await self._transcript.rooms()]

    async def create_room(self, name: str) -> RoomView:
        """Open `web:<slug of name>`, or return it when it is there."""
        slug = re.sub(r"[^\w]+", "-", name.strip().lower().lstrip("#")).strip("-")[:64]
        if not slug or slug.startswith("dm-"):
            raise Rejected("name", "needs letters or digits, and doesn't begin with dm-")
        room = Room(f"web:{slug}", name.strip().lstrip("#"))
        known = await self._transcript.room(room.id)
        if known is None:
            await self._transcript.open_room(room, self._clock())
            self._bus.publish(RoomOpened(RoomView(room)))
        return RoomView(known or room)

    async def open_lobby(self) -> None:
        """See that the page has a room to begin in."""
        if not await self._transcript.rooms():
            await self.create_room("general")

    async def messages(
        self, room_id: str, *, before: str | None, limit: int
    ) -> TimelineView | None:
        """The newest messages, or those before message `before`; None: no such room."""
        if await self._transcript.room(room_id) is None:
            return None
        stored = await self._transcript.page(room_id, before, limit + 1)
        messages = tuple(views.message(item) for item in stored[-limit:])
        more = len(stored) > limit
        if before is not None:
            return TimelineView(messages, more)
        turns = [turn for turn in await self._ledger.open_turns() if turn.room.id == room_id]
        asked = {seq: item.message_id for item in stored for seq in [item.seq]}
        cards = tuple(
            views.turn_view(t, message_id=asked.get(t.message_seq), ahead=self._rooms.ahead(t))
            for t in turns
        )
        return TimelineView(messages, more, cards, tuple(self._questions.open_in(room_id)))

    async def turn(self, turn_id: str) -> TurnRecord | None:
        """All that is on record of a turn."""
        turn = await self._ledger.turn(turn_id)
        asked = await self._transcript.get(turn.message_seq) if turn else None
        if turn is None or asked is None:
            return None
        persona = self._personas.get(turn.persona)
        agent = self._sessions.program(persona).agent if persona else ""
        return records.turn_record(turn, asked, agent, await self._ledger.posts(turn_id))

    async def personas(self) -> Sequence[PersonaView]:
        """Every persona, available or not; the one that answers by default first."""
        self._personas.refresh()
        return [
            records.persona_view(persona, self._sessions.program(persona))
            for persona in self._personas.of(self._bots["web"].personas)
        ]

    async def people(self) -> Sequence[Speaker]:
        """Humans who have spoken, the latest first."""
        return await self._transcript.people()

    async def sessions(self) -> Sequence[SessionView]:
        """Living sessions."""
        return [records.session(live) for live in self._sessions.all()]

    def picture(self, session_id: str) -> Picture | None:
        """The terminal now; None: no such session."""
        for live in self._sessions.all():
            if views.session_id(live.persona, live.scope) == session_id:
                return live.agent.picture()
        return None

    # ── The rest ────────────────────────────────────────────────────────────────────────

    async def choose(self, question_id: str, option: int, by: Speaker) -> Choice:
        """Answer a question. An account of ours answers none, whoever says that it does."""
        own = frozenset[str]().union(*(bot.own_ids for bot in self._bots.values()))
        if by.id.startswith("bot:") or by.id in own:
            return "forbidden"
        return self._questions.choose(question_id, option, by, trusted=True)

    def subscribe(self) -> AsyncIterator[AppEvent]:
        """Everything that happens from now on, in order, until the house closes."""
        return self._bus.subscribe()

    async def metrics(self) -> bytes:
        """Prometheus text. What the programs take is read in a thread."""
        living = [(live, live.agent.pid) for live in self._sessions.all()]
        taken = await asyncio.to_thread(measure, [pid for _, pid in living if pid is not None])
        return self._metrics.text(
            waiting=self._rooms.waiting(),
            sessions=Counted(
                living=len(living),
                asleep=self._sessions.asleep,
                waiting=self._sessions.waiting,
                most=self._sessions.most,
                taken=[_load(live, taken[pid]) for live, pid in living if pid in taken],
            ),
        )

    async def health(self) -> HealthReport:
        """The state of Moot, in words."""
        problems = dict(self._personas.problems)
        detail = {"store": "ok", "personas": "; ".join(problems.values()) or "ok"}
        detail |= {f"bot {bot.name}": bot.state for bot in self.admin.bots()}
        await self._transcript.room("web:health")
        if self._rooms.stopping:
            return HealthReport(False, {**detail, "gateway": "stopping"})
        return HealthReport(True, {**detail, "gateway": "ok"})


def _load(live: LiveSession, taken: Taken) -> Load:
    name = scope_folder(live.scope).rpartition("-")[2][:8]
    return Load(live.persona, live.program.name, name, taken)
