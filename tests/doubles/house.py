"""A house without a gateway: keeps everything in memory, records what it was asked.

A message that mentions a persona queues a turn; what becomes of the turn is told by the caller
(`run`, `draft`, `finish`, `fail`, `ask`) or by a script.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from composer.contents import contents
from contract.agent import Answer, Option, Question
from contract.briefing import Trim
from contract.chat import Attachment, Room, Speaker
from contract.errors import Rejected
from gateway.core.events import (
    AppEvent,
    DraftChanged,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    Publish,
    QuestionAsked,
    QuestionClosed,
    RoomOpened,
    TurnChanged,
    TypingChanged,
)
from gateway.core.ledger import TurnState
from gateway.core.views import (
    LeftOut,
    MessageView,
    OpenQuestion,
    PersonaView,
    PostRecord,
    RoomView,
    Scored,
    SectionRecord,
    SessionView,
    StateChange,
    TimelineView,
    Timing,
    TurnRecord,
    TurnView,
)
from gateway.questions.replies import Choice
from gateway.web.admin.service import AdminServices
from gateway.web.inbox import Receipt, TurnReply
from gateway.web.messages.api import TalkServices
from gateway.web.messages.reads import Unread, mention_of
from gateway.web.messages.search import Hits, words_of
from gateway.web.monitor import HealthReport
from gateway.web.services import Services
from gateway.web.stream import Picture
from gateway.web.submission import Submission, parse_submission
from tests.doubles.admin import FakeAdmin
from tests.doubles.books import FakeAudit, FakeUsage
from tests.doubles.credentials import make_visitors
from tests.doubles.memories import FakeMemories
from tests.doubles.roles import FakeRoles
from tests.doubles.schedules import FakeSchedules

PERSONAS = (
    PersonaView("demo", "Shows what a room can do; needs nothing installed.", "Scripted demo"),
    PersonaView("claude", "Reads, writes and runs code in the project.", "Claude Code CLI agent"),
    PersonaView(
        "codex",
        "A second opinion on code.",
        "Codex CLI agent",
        available=False,
        hint="npm install -g @openai/codex",
    ),
)
HEADER = """\
[SESSION CONTEXT]
Room: #{room}
Participants: {who}
You are: @{persona} ({agent})
Time: 2026-04-21 14:02 Asia/Jakarta

[RECALL — from long-term memory]
- Andi previously stated a preference for 30 min JWT expiry (fact, 2026-04-15, DM)
- Project saga-ai uses NestJS + Prisma (project memory)

[RAW TRANSCRIPT — most recent 40 messages]
[14:02 | {who}] {text}

[CURRENT INVOCATION]
Respond to {who} in room #{room}.
"""
ENDED = ("posted", "failed", "stopped")


@dataclass(frozen=True, slots=True)
class Call:
    """What the page asked: the method's name and what came with it."""

    name: str
    given: Any


class FakeHouse:
    """Stands for the services behind the page; personas' files are not among them."""

    def __init__(self, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.calls: list[Call] = []
        self.memory = FakeMemories()
        self.audit = FakeAudit()
        self.usage = FakeUsage()
        self.roles = FakeRoles()
        self.admin = FakeAdmin(now, lambda: list(self.open.values()))
        self.schedules = FakeSchedules()
        self.room_cards: dict[str, RoomView] = {}
        self.said: dict[str, list[MessageView]] = {}
        self.records: dict[str, TurnRecord] = {}
        self.open: dict[str, OpenQuestion] = {}
        self.pictures: dict[str, Picture] = {}
        self.session_cards: list[SessionView] = []
        self.cards: Sequence[PersonaView] = PERSONAS
        self.raises: Exception | None = None
        self.script: Callable[[TurnRecord], None] = lambda record: None
        self.visitors = make_visitors()
        self._now = now
        self.began = datetime.now(UTC)
        self.read_until: dict[tuple[str, str], datetime] = {}
        self._numbers = itertools.count(1)
        self.listeners: set[Publish] = set()
        self._choices: dict[str, asyncio.Future[int]] = {}
        self._ended: dict[str, asyncio.Event] = {}

    @property
    def services(self) -> Services:
        here: Any = self
        admin: Any = self.admin
        nobody: Any = None
        return Services(
            inbox=here, chat=here, talk=TalkServices(here, here, here, self.rooms),
            agents=here, monitor=here, events=here,
            memory=cast(Any, self.memory), audit=cast(Any, self.audit),
            usage=cast(Any, self.usage), access=cast(Any, self.roles),
            admin=AdminServices(admin, admin, admin, admin), schedules=cast(Any, self.schedules),
            personas=nobody, dry_runs=nobody, choices=nobody, visitors=self.visitors,
        )  # fmt: skip

    # ── What the page calls ─────────────────────────────────────────────────────────────

    async def submit(
        self, raw: Mapping[str, Any], *, wait_s: float | None = None, trusted: bool = True
    ) -> Receipt:
        receipt = self._receive("submit", raw, runs=True)
        if wait_s is None:
            return receipt
        waiting = [self._ended[turn_id].wait() for turn_id in receipt.turn_ids]
        try:
            async with asyncio.timeout(wait_s):
                await asyncio.gather(*waiting)
        except TimeoutError:
            pass
        replies = tuple(self._reply(self.records[turn_id]) for turn_id in receipt.turn_ids)
        return replace(receipt, replies=replies)

    async def inject(self, raw: Mapping[str, Any], *, wait_s: float | None = None) -> Receipt:
        return self._receive("inject", raw, runs=True)

    async def store_passive(self, raw: Mapping[str, Any], *, trusted: bool = True) -> Receipt:
        return self._receive("store_passive", raw, runs=False)

    async def room(self, room_id: str) -> Room | None:
        card = self.room_cards.get(room_id)
        return card.room if card else None

    async def is_used(self, room_id: str) -> bool:
        return False

    async def rooms_of_file(self, file_id: str) -> Sequence[str]:
        def holds(message: MessageView) -> bool:
            return any(f"/{file_id}/" in str(one.path) for one in message.attachments)

        return [room for room, said in self.said.items() if any(map(holds, said))]

    def room_of_question(self, question_id: str) -> str | None:
        asked = self.open.get(question_id)
        return asked.room_id if asked else None

    async def rooms(self) -> Sequence[RoomView]:
        oldest = datetime.min.replace(tzinfo=UTC)
        cards = self.room_cards.values()
        return sorted(cards, key=lambda card: card.last_at or oldest, reverse=True)

    async def create_room(self, name: str) -> RoomView:
        self.calls.append(Call("create_room", name))
        slug = re.sub(r"[^\w]+", "-", name.lower()).strip("-")
        if not slug:
            raise Rejected("name", "needs a letter or a digit")
        return self.open_room(Room(f"web:{slug}", name))

    async def messages(
        self, room_id: str, *, before: str | None, limit: int
    ) -> TimelineView | None:
        self.calls.append(Call("messages", (room_id, before, limit)))
        if room_id not in self.room_cards:
            return None
        said = self.said[room_id]
        end = next((i for i, m in enumerate(said) if m.id == before), len(said))
        start = max(0, end - limit)
        stretch = tuple(said[start:end])
        if before is not None:
            return TimelineView(stretch, start > 0)
        cards = (r.turn for r in self.records.values())
        turns = tuple(c for c in cards if c.room_id == room_id and c.state not in ENDED)
        questions = tuple(q for q in self.open.values() if q.room_id == room_id)
        return TimelineView(stretch, start > 0, turns, questions)

    async def turn(self, turn_id: str) -> TurnRecord | None:
        if self.raises:
            raise self.raises
        return self.records.get(turn_id)

    async def personas(self) -> Sequence[PersonaView]:
        return self.cards

    async def people(self) -> Sequence[Speaker]:
        spoken = (m.by for said in self.said.values() for m in said if m.by.kind == "human")
        return list({by.id: by for by in spoken}.values())

    async def sessions(self) -> Sequence[SessionView]:
        return self.session_cards

    def picture(self, session_id: str) -> Picture | None:
        return self.pictures.get(session_id)

    async def choose(
        self,
        question_id: str,
        option: int,
        by: Speaker,
        *,
        digest: str | None = None,
    ) -> Choice:
        self.calls.append(Call("choose", (question_id, option, by)))
        asked = self.open.get(question_id)
        if asked is None:
            return "closed" if question_id in self._choices else "unknown"
        if not option < len(asked.question.options):
            raise Rejected("option", f"must be below {len(asked.question.options)}")
        who = asked.may_answer
        if who is not None and by.id not in {person.id for person in who}:
            return "forbidden"
        if digest not in (None, asked.question.digest):
            return "changed"
        del self.open[question_id]
        self._choices[question_id].set_result(option)
        self.publish(QuestionClosed(asked.room_id, question_id, option, by, "answered"))
        return "taken"

    async def edit(self, room_id: str, message_id: str, text: str, by: Speaker) -> MessageView:
        [message] = [one for one in self.said[room_id] if one.id == message_id]
        return self.reword(message, text=text, edited_at=self._now())

    async def delete(self, room_id: str, message_id: str, by: Speaker) -> None:
        [message] = [one for one in self.said[room_id] if one.id == message_id]
        self.unsay(message)

    async def find(self, asked: str, rooms: object, before: object, limit: int) -> Hits:
        return Hits(words_of(asked), (), None)

    async def unread(self, person: Speaker, rooms: Sequence[str]) -> list[Unread]:
        if self.raises:
            raise self.raises
        new = {
            room: [
                m
                for m in self.said[room]
                if m.at > self.read_until.get((person.id, room), self.began)
                and m.by.id != person.id
            ]
            for room in rooms
        }
        named = mention_of(person.name)
        return [
            Unread(
                room,
                len(said),
                sum(bool(named.search(m.text)) for m in said),
                self.read_until.get((person.id, room), self.began),
            )
            for room, said in new.items()
            if said
        ]

    async def read(self, person: Speaker, room_id: str, until: datetime) -> None:
        self.read_until[person.id, room_id] = until

    async def metrics(self) -> bytes:
        return b"# TYPE moot_messages_total counter\nmoot_messages_total 3.0\n"

    async def health(self) -> HealthReport:
        return HealthReport(self.raises is None, {"store": "ok"})

    # ── What a test or a script tells ───────────────────────────────────────────────────

    def publish(self, happening: AppEvent) -> None:
        for hear in tuple(self.listeners):
            hear(happening)

    def open_room(self, room: Room) -> RoomView:
        if room.id not in self.room_cards:
            self.room_cards[room.id] = RoomView(room)
            self.said[room.id] = []
            self.publish(RoomOpened(self.room_cards[room.id]))
        return self.room_cards[room.id]

    def say(self, room: Room, by: Speaker, text: str, **more: Any) -> MessageView:
        self.open_room(room)
        at = more.pop("at", None) or self._now()
        message_id = more.pop("id", None) or f"m{next(self._numbers)}"
        message = MessageView(message_id, room.id, by, text, at, **more)
        self.said[room.id].append(message)
        self.room_cards[room.id] = replace(self.room_cards[room.id], last_at=at)
        self.publish(MessagePosted(message))
        return message

    def reword(self, message: MessageView, **changes: Any) -> MessageView:
        said = self.said[message.room_id]
        new = replace(message, **changes)
        said[[m.id for m in said].index(message.id)] = new
        self.publish(MessageEdited(new))
        return new

    def unsay(self, message: MessageView) -> None:
        self.said[message.room_id] = [m for m in self.said[message.room_id] if m.id != message.id]
        self.publish(MessageDeleted(message.room_id, message.id))

    def queue(self, message: MessageView, persona: str, raw: Mapping[str, Any]) -> TurnRecord:
        at = self._now()
        turn_id = f"t{next(self._numbers)}"
        room = self.room_cards[message.room_id].room
        agent = next((card.agent for card in self.cards if card.name == persona), "agent")
        header = HEADER.format(
            room=room.name, who=message.by.name, persona=persona, agent=agent, text=message.text
        )
        card = TurnView(
            turn_id, room.id, persona, "queued", at, message.id, message.thread_id, f"s-{persona}"
        )
        record = TurnRecord(
            turn=card, agent=agent, raw=raw, header=header, sections=_sections(header),
            knew=contents({section.name: section.text for section in _sections(header)}),
            trims=(Trim("transcript", "12 oldest lines", 4210),),
            left_out=(LeftOut("recall", "took too long"),),
            timings=(Timing("recall", 41.0, 2.0), Timing("compose", 3.0, 43.0)),
            states=(StateChange("queued", at),),
        )  # fmt: skip
        self.records[turn_id] = record
        self._ended[turn_id] = asyncio.Event()
        self.publish(TurnChanged(card))
        return record

    def move(self, turn_id: str, state: TurnState, **changes: Any) -> TurnRecord:
        old = self.records[turn_id]
        at = self._now()
        card = replace(old.turn, state=state, at=at, **changes)
        record = replace(old, turn=card, states=(*old.states, StateChange(state, at)))
        self.records[turn_id] = record
        self.publish(TurnChanged(card))
        if state in ENDED:
            self._ended[turn_id].set()
        return record

    def draft(self, turn_id: str, text: str) -> None:
        record = self.records[turn_id]
        self.records[turn_id] = replace(record, turn=replace(record.turn, draft=text))
        self.publish(DraftChanged(record.turn.room_id, turn_id, text))

    def finish(self, turn_id: str, text: str) -> MessageView:
        record = self.move(turn_id, "answered")
        room = self.room_cards[record.turn.room_id].room
        by = Speaker(f"bot:{record.turn.persona}", record.turn.persona, "bot")
        posted = self.say(room, by, text, turn_id=turn_id, thread_id=record.turn.thread_id)
        self.records[turn_id] = replace(
            record,
            answer=Answer(text, "record", "hook", ("Read", "Bash")),
            posts=(PostRecord(f"{turn_id}/0", posted.id, "posted", posted.at),),
            timings=(*record.timings, Timing("agent", 1830.0, 46.0), Timing("post", 12.0, 1876.0)),
        )
        self.move(turn_id, "posted")
        return posted

    def ask(self, turn_id: str, title: str, detail: str, *labels: str, **more: Any) -> str:
        card = self.records[turn_id].turn
        options = tuple(Option(label, label.startswith("No")) for label in labels)
        question = Question(f"q{next(self._numbers)}", title, detail, options)
        asked = OpenQuestion(question, card.room_id, turn_id, card.persona, self._now(), **more)
        self.open[question.id] = asked
        self._choices[question.id] = asyncio.get_running_loop().create_future()
        self.publish(QuestionAsked(asked))
        return question.id

    def choice(self, question_id: str) -> asyncio.Future[int]:
        return self._choices[question_id]

    def working(self, turn_id: str, status: str) -> None:
        card = self.records[turn_id].turn
        self.publish(TypingChanged(card.room_id, card.persona, status))

    # ── Inside ──────────────────────────────────────────────────────────────────────────

    def _receive(self, entry: str, raw: Mapping[str, Any], *, runs: bool) -> Receipt:
        self.calls.append(Call(entry, dict(raw)))
        if self.raises:
            raise self.raises
        told = parse_submission(raw, now=self._now(), new_id=lambda: f"m{next(self._numbers)}")
        known = self.room_cards.get(told.room.id)
        room = told.room.resolve(known.room if known else None)
        self.open_room(room)
        if any(m.id == told.message_id for m in self.said[room.id]):
            return Receipt(told.message_id, room.id, duplicate=True)
        message = self._store(room, told)
        if message.text.startswith("!stop"):
            self._stop(room)
        personas = self._addressed(message, room) if runs else []
        turns = [self.queue(message, persona, raw) for persona in personas]
        for record in turns:
            self.script(record)
        return Receipt(message.id, room.id, turn_ids=tuple(r.turn.id for r in turns))

    def _store(self, room: Room, told: Submission) -> MessageView:
        files: tuple[Attachment, ...] = told.attachments
        return self.say(
            room, told.meta.speaker(), told.content, id=told.message_id, at=told.sent_at,
            thread_id=told.thread_id, reply_to=told.reply_to, attachments=files,
        )  # fmt: skip

    def _addressed(self, message: MessageView, room: Room) -> list[str]:
        names = [card.name for card in self.cards]
        if room.kind == "dm":
            return [name for name in names if room.id.endswith(f"-{name}")]
        return [name for name in names if re.search(rf"@{name}\b", message.text)]

    def _stop(self, room: Room) -> None:
        for record in list(self.records.values()):
            if record.turn.room_id == room.id and record.turn.state not in ENDED:
                self.move(record.turn.id, "stopped")

    def _reply(self, record: TurnRecord) -> TurnReply:
        text = record.answer.text if record.answer else ""
        card = record.turn
        return TurnReply(card.id, card.persona, text, card.state, card.error or None)


def _sections(header: str) -> tuple[SectionRecord, ...]:
    blocks = header.strip().split("\n\n")
    made = []
    for block in blocks:
        name, _, text = block.partition("\n")
        name = name.strip("[]").partition(" — ")[0]
        scores = (0.82, 0.64) if name == "RECALL" else ()
        items = tuple(Scored(t, s) for t, s in zip(text.split("\n"), scores, strict=False))
        source = {"RECALL": "mem0", "RAW TRANSCRIPT": "transcript"}.get(name, "gateway")
        made.append(SectionRecord(name, text, source, items))
    return tuple(made)
