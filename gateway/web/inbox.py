"""Messages and answers to questions that come in by the HTTP API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from bots.bot import Bot
from contract.chat import Inbound, Room, Speaker
from contract.errors import Rejected
from contract.values import dataclass
from gateway.core import views
from gateway.core.addressing import said_to
from gateway.core.events import AppEvent, EventBus, TurnChanged
from gateway.core.ledger import SessionKey, Turn, TurnState
from gateway.core.sql_ledger import SqlLedger
from gateway.core.views import View
from gateway.questions.questions import Questions
from gateway.questions.replies import Choice
from gateway.settings.personas.personas import Personas
from gateway.turns.intake import Intake
from gateway.web.submission import DIRECT, Submission, parse_submission
from memory.scopes import home_scope
from store.transcript import Transcript


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


class InboxService:
    """Takes bodies as they came, see `submission.parse_submission`. Each entry returns when the
    message is on disk, and raises Rejected; another MootError's `.say` is for the caller."""

    def __init__(
        self,
        *,
        intake: Intake,
        transcript: Transcript,
        ledger: SqlLedger,
        personas: Personas,
        questions: Questions,
        bus: EventBus,
        bots: Mapping[str, Bot],
        clock: Callable[[], datetime],
    ) -> None:
        self._intake = intake
        self._transcript = transcript
        self._ledger = ledger
        self._personas = personas
        self._questions = questions
        self._bus = bus
        self._bots = bots
        self._clock = clock

    async def submit(
        self, raw: Mapping[str, Any], *, wait_s: float | None = None, trusted: bool = True
    ) -> Receipt:
        """Store a message; it may run agents. wait_s: stay that long for their replies. trusted: it
        came with an owner's token; what somebody who signed in may is asked of their roles."""
        return await self._take(parse_submission(raw, now=self._clock()), wait_s, trusted=trusted)

    async def inject(self, raw: Mapping[str, Any], *, wait_s: float | None = None) -> Receipt:
        """Give a message to the session named in `session_id`, which must be of its scope."""
        given = parse_submission(raw, now=self._clock())
        persona, at, rest = (given.session_id or "").partition("@")
        if not at or self._personas.good.get(persona) is None:
            raise Rejected("session_id", "is required: <persona>@<scope>, see /api/sessions")
        room = await self._room(given)
        key = SessionKey(persona, home_scope(room, given.meta.sender_id, persona))
        if given.session_id != key.id:
            thread_id = rest.removeprefix(f"{key.scope}#")
            key = replace(key, thread_id=thread_id)
            if given.session_id != key.id or given.thread_id not in (None, thread_id):
                raise Rejected("session_id", "belongs to another room")
            given = replace(given, thread_id=thread_id)
        meta = given.meta.model_copy(update={"recipient_id": f"bot:{persona}", "passive": False})
        return await self._take(replace(given, meta=meta), wait_s, trusted=True)

    async def store_passive(self, raw: Mapping[str, Any], *, trusted: bool = True) -> Receipt:
        """Store a message; it never runs an agent. trusted: see `submit`."""
        given = parse_submission(raw, now=self._clock())
        meta = given.meta.model_copy(update={"passive": True})
        return await self._take(replace(given, meta=meta), None, trusted=trusted)

    async def _room(self, given: Submission) -> Room:
        return given.room.resolve(await self._transcript.room(given.room.id))

    async def _take(self, given: Submission, wait_s: float | None, *, trusted: bool) -> Receipt:
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
        accepted = await self._intake.message(inbound, self._bot_of(inbound), trusted=trusted)
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
        wanted = (bot for bot in served if said_to(inbound, self._personas.of(bot.personas)))
        return next(wanted, served[0] if served else self._bots["web"])

    async def _reply(self, turn_id: str, wait_s: float) -> TurnReply:
        ended = asyncio.Event()

        def hear(event: AppEvent) -> None:
            if not isinstance(event, TurnChanged) or event.turn.id != turn_id:
                return
            if event.turn.state in views.ENDED:
                ended.set()

        self._bus.listeners.add(hear)
        try:
            turn = await self._known(turn_id)
            if turn.state not in ("posted", "dropped"):
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), wait_s)
                turn = await self._known(turn_id)
        finally:
            self._bus.listeners.discard(hear)
        text = turn.answer or ""
        state = turn.shown_state(turn.state)
        return TurnReply(turn.id, turn.speaker_name, text, state, text if turn.fault else None)

    async def _known(self, turn_id: str) -> Turn:
        turn = await self._ledger.turn(turn_id)
        if turn is None:
            raise Rejected("turn_id", "there is no such turn")
        return turn

    async def choose(
        self,
        question_id: str,
        option: int,
        by: Speaker,
        *,
        digest: str | None = None,
    ) -> Choice:
        """Answer a question. An account of ours answers none, whoever says that it does. digest: of
        the question that was seen; None: it isn't told."""
        own = frozenset[str]().union(*(bot.own_ids for bot in self._bots.values()))
        if by.id.startswith("bot:") or by.id in own:
            by = replace(by, kind="bot")
        return self._questions.choose(question_id, option, by, digest=digest, via="page")

    def room_of_question(self, question_id: str) -> str | None:
        """Where an open question was asked; None: it is not open."""
        open_ = self._questions.all_open()
        return next((one.room_id for one in open_ if one.question.id == question_id), None)
