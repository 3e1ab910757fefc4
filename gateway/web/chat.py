"""Rooms with their messages and turns, and the agents that answer there, for people who look."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from bots.bot import Bot
from contract.chat import Room, Speaker
from contract.errors import Rejected
from contract.values import dataclass
from gateway.core import views
from gateway.core.events import EventBus, RoomOpened
from gateway.core.sql_ledger import SqlLedger
from gateway.core.views import PersonaView, RoomView, SessionView, TimelineView, TurnRecord
from gateway.files.attached import AttachedFiles
from gateway.questions.questions import Questions
from gateway.sessions.pool import SessionPool
from gateway.settings.personas.personas import Personas
from gateway.turns.queue import TurnQueues
from gateway.web import records
from gateway.web.stream import Picture
from store.transcript import Transcript

LOOKED_BACK = 50  # messages: a conversation's latest


@dataclass(frozen=True, slots=True)
class AgentService:
    """The personas and their agents' living sessions. bots: by name, the page's own among them."""

    sessions_here: SessionPool
    known: Personas
    bots: Mapping[str, Bot]

    async def personas(self) -> Sequence[PersonaView]:
        """Every persona, available or not; the one that answers by default first."""
        self.known.refresh()
        accounts = defaultdict[str, set[str]](set)
        for bot in self.bots.values():
            accounts[next(iter(bot.personas), "")] |= bot.own_ids
        return [
            records.persona_view(
                persona, self.sessions_here.program(persona), sorted(accounts[persona.name])
            )
            for persona in self.known.of(self.bots["web"].personas)
        ]

    async def sessions(self) -> Sequence[SessionView]:
        """Living sessions."""
        return [records.session(live) for live in self.sessions_here.all()]

    def picture(self, session_id: str) -> Picture | None:
        """The terminal now; None: no such session."""
        for live in self.sessions_here.all():
            if live.key.id == session_id:
                return live.agent.picture()
        return None

    def title_of(self, name: str) -> str:
        """The agent behind a persona, as headers call it; "": the persona is gone."""
        persona = self.known.good.get(name)
        return self.sessions_here.program(persona).agent if persona else ""


class ChatService:
    """Rooms, messages, turns and people."""

    def __init__(
        self,
        *,
        transcript: Transcript,
        ledger: SqlLedger,
        queues: TurnQueues,
        questions: Questions,
        agents: AgentService,
        attached: AttachedFiles,
        bus: EventBus,
        clock: Callable[[], datetime],
    ) -> None:
        self._transcript = transcript
        self._ledger = ledger
        self._queues = queues
        self._questions = questions
        self._agents = agents
        self._attached = attached
        self._bus = bus
        self._clock = clock

    async def rooms(self) -> Sequence[RoomView]:
        """Every room, the one with the newest message first."""
        return [RoomView(room, at) for room, at in await self._transcript.rooms()]

    async def room(self, room_id: str) -> Room | None:
        """One room; None: there is none."""
        return await self._transcript.room(room_id)

    async def is_used(self, room_id: str) -> bool:
        """True if somebody spoke there lately, and no program in their name."""
        latest = await self._transcript.page(room_id, None, LOOKED_BACK)
        return any(one.by.kind == "human" and one.by.through is None for one in latest)

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
        open_turns = tuple(
            views.turn_view(
                t,
                message_id=asked.get(t.message_seq),
                ahead=self._queues.ahead(t),
                done=self._queues.work(t),
            )
            for t in turns
        )
        return TimelineView(messages, more, open_turns, tuple(self._questions.open_in(room_id)))

    async def messages_around(self, room_id: str, message_id: str, limit: int) -> TimelineView:
        """A stretch with a message in its middle; empty: there is no such message."""
        older = await self._transcript.page(room_id, message_id, limit // 2 + 1)
        onward = await self._transcript.onward(room_id, message_id, limit - limit // 2 + 1)
        if not onward or onward[0].message_id != message_id:
            return TimelineView(())
        before, after = older[-(limit // 2) :], onward[: limit - limit // 2]
        messages = tuple(views.message(one) for one in (*before, *after))
        return TimelineView(messages, len(older) > len(before), newer=len(onward) > len(after))

    async def messages_after(self, room_id: str, message_id: str, limit: int) -> TimelineView:
        """The oldest messages after message `message_id`."""
        onward = await self._transcript.onward(room_id, message_id, limit + 2)
        after = [one for one in onward if one.message_id != message_id]
        messages = tuple(views.message(one) for one in after[:limit])
        return TimelineView(messages, more=True, newer=len(after) > limit)

    async def turn(self, turn_id: str) -> TurnRecord | None:
        """All that is on record of a turn."""
        turn = await self._ledger.turn(turn_id)
        asked = await self._transcript.get(turn.message_seq) if turn else None
        if turn is None or asked is None:
            return None
        agent = self._agents.title_of(turn.persona)
        return records.turn_record(turn, asked, agent, await self._ledger.posts(turn_id))

    async def rooms_of_file(self, file_id: str) -> Sequence[str]:
        """Ids of the rooms in which a file was posted."""
        return await self._attached.rooms(file_id)

    async def people(self) -> Sequence[Speaker]:
        """Humans who have spoken, the latest first."""
        return await self._transcript.people()
