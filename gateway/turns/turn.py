"""The middle: one turn from a stored question to a posted answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import structlog

from adapters.agent import TurnContext
from bots.bot import Bot
from composer.typed import untyped
from contract.agent import Answer
from contract.chat import MOOT, Destination, persona_speaker
from contract.errors import AgentError, AgentFault, PlatformError
from gateway.access.presence import Presence
from gateway.access.visibility import Visibility
from gateway.core import views
from gateway.core.destination import destination_of
from gateway.core.events import MessagePosted, Publish, TurnChanged
from gateway.core.ledger import Ledger, Post, Turn, TurnRequest
from gateway.core.redaction import Redactor
from gateway.core.trace import StepTimer, TurnTraces
from gateway.limits.accounting import Accounting
from gateway.questions.delivery import deliver, plan
from gateway.questions.questions import Questions
from gateway.sessions.sessions import LiveSession, Sessions
from gateway.settings.personas.personas import Persona, Personas
from gateway.settings.tables import TurnsTable
from gateway.turns.handover import HandOver
from gateway.turns.prompt import MessageGone, Prompts
from gateway.turns.reactions import TurnReactions
from gateway.turns.reply import LiveReply
from gateway.turns.steps import REPORTS, AgentStep
from memory.layers import AnsweredTurn, Layers
from store.transcript import StoredMessage, Transcript

log = structlog.stdlib.get_logger("moot.turn")


FULL_HOUSE = "waits for a free session"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """An answered turn, and what the memory may learn from it: nothing, when it failed."""

    turn: Turn
    lesson: AnsweredTurn | None = None


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """What a turn needs, and how one is taken."""

    transcript: Transcript
    layers: Layers
    visibility: Visibility
    prompts: Prompts
    hand_over: HandOver
    suggest: Callable[[Turn], Awaitable[str | None]]
    ledger: Ledger
    sessions: Sessions
    personas: Personas
    bots: Mapping[str, Bot]
    presence: Presence
    questions: Questions
    marks: TurnReactions
    books: Accounting
    publish: Publish
    measure: Callable[[Turn], None]
    clock: Callable[[], datetime]
    limits: TurnsTable
    version: Callable[[Persona], Awaitable[int]]
    redactor: Redactor = field(default_factory=Redactor)
    trails: TurnTraces = field(default_factory=TurnTraces)
    waited: Callable[[float], None] = lambda seconds: None
    withdrawn: set[str] = field(default_factory=set)
    cast: dict[str, Persona] = field(default_factory=dict)  # who plays each turn that runs

    async def take_turn(self, turn: Turn) -> tuple[Turn, ...]:
        """Answer one question and post it; return the turns that the answer hands over to.

        Its persona is the one that it begins with, whatever becomes of the file meanwhile.
        """
        self.personas.refresh()
        persona = self.personas.get(turn.persona)
        if persona is not None:
            self.cast[turn.id] = persona
        try:
            return await self._take(turn, persona)
        finally:
            self.cast.pop(turn.id, None)

    async def _take(self, turn: Turn, persona: Persona | None) -> tuple[Turn, ...]:
        if turn.state == "answered":
            posts = [_after_restart(post) for post in await self.ledger.posts(turn.id)]
            return await self._post(turn, posts, StepTimer(self.trails.of(turn.id)))
        step = StepTimer(self.trails.of(turn.id), REPORTS)
        try:
            outcome = await self._ask(turn, persona, step)
        finally:
            withdrawn = turn.id in self.withdrawn
            self.withdrawn.discard(turn.id)
        if outcome is None or withdrawn:
            await self.drop(outcome.turn if outcome else turn)
            return ()
        more = await self.answer(outcome.turn, step)
        if outcome.lesson is not None:
            self.layers.remember(outcome.lesson)
        return more

    async def withdraw(self, turn: Turn) -> None:
        """The message of a turn that runs was deleted: nobody wants its answer any more."""
        self.withdrawn.add(turn.id)
        await self.sessions.interrupt(turn.persona, turn.scope)

    async def drop(self, turn: Turn) -> None:
        """End a turn whose message was deleted; nothing of it stays in the room."""
        self.marks.ended(turn.id, None)
        bot, place = self.bots[turn.bot], self.destination_of(turn)
        for post in await self.ledger.posts(turn.id):
            if post.platform_id is not None:
                try:
                    await bot.delete(place, post.platform_id)
                except PlatformError as error:
                    log.info("draft.not_deleted", turn=turn.id, reason=str(error))
        dropped = await self.ledger.dropped(replace(turn, answer=None), self.clock())
        self._tell(dropped)
        self.trails.ended(dropped, "withdrawn")

    def destination_of(self, turn: Turn) -> Destination:
        """Where everything goes that is posted in a turn."""
        persona = self.cast.get(turn.id) or self.personas.get(turn.persona)
        return destination_of(turn, self.bots[turn.bot], persona)

    async def close_questions(self, turn: Turn) -> None:
        """Close the questions of a turn that an earlier process took."""
        await self.questions.close_left(turn, self.bots[turn.bot], self.destination_of(turn))

    async def answer(self, outcome: Turn, step: StepTimer | None = None) -> tuple[Turn, ...]:
        """Record an answer, then post it; an empty one is recorded only. step: of the turn's
        earlier steps, whose times its record keeps."""
        bot = self.bots[outcome.bot]
        timer = step or StepTimer(self.trails.of(outcome.id))
        with timer("record"):
            if outcome.answer:
                outcome = replace(outcome, answer=self.redactor(outcome.answer))
            posts_to_be = await plan(outcome.answer, bot) if outcome.answer else []
            log.info("answer.planned", chars=len(outcome.answer or ""), posts=len(posts_to_be))
            outcome, posts = await self.ledger.answered(outcome, posts_to_be, self.clock())
            self._tell(outcome)
        return await self._post(outcome, posts, timer, keeps_times=step is not None)

    async def _ask(self, turn: Turn, persona: Persona | None, step: StepTimer) -> _Outcome | None:
        """Brief the agent and get its answer, or the line that says why there is none.

        None: the message that asked is not there any more.
        """
        try:
            async with AsyncExitStack() as stack:
                with step("agent ready") as ready:
                    if persona is None:
                        raise AgentError("missing", f"there is no persona {turn.persona} any more")
                    turn = replace(turn, record={"persona_version": await self.version(persona)})
                    self._tell(replace(turn, state="running"))  # its program may have to start
                    live = ready.made = await stack.enter_async_context(
                        self.sessions.use(persona, turn.scope, turn.room, lambda: self._waits(turn))
                    )
                self.marks.goes_on(turn.id)
                await stack.enter_async_context(live.asking)
                return await self._ask_live(turn, persona, live, step)
        except MessageGone:
            return None
        except AgentError as error:
            return _Outcome(replace(turn, answer=_failure(error), fault=_logged(error).kind))

    async def _waits(self, turn: Turn) -> None:
        """Other sessions take all the places: say so, as to those who wait for a turn."""
        asked = await self.transcript.get(turn.message_seq)
        self._tell(replace(turn, state="queued"), asked, FULL_HOUSE)
        if asked is not None:
            self.marks.waiting(
                turn.id, self.bots[turn.bot], self.destination_of(turn), asked.message_id
            )

    async def _ask_live(
        self, turn: Turn, persona: Persona, live: LiveSession, step: StepTimer
    ) -> _Outcome | None:
        room = replace(turn.room, project=turn.room.project or persona.front.project)
        asked = await self.visibility.asked(turn, room)
        if asked is None:
            return None
        live.may_read(asked.invocation)
        prompt = await self.prompts.make(turn, asked, live.context, step)
        if turn.id in self.withdrawn:
            return None
        with step("agent") as asking:
            record = turn.record | prompt.record()
            turn = self.ledger.running(turn, prompt.header.text, record, self.clock())
            self._tell(turn, asked.message)
            person = await self.books.began(turn, asked.message, live.program.name)
            began_at = time.perf_counter()
            reply = self._reply(turn, prompt.occasion, live.workspace)
            _log_asked(live, prompt.text)
            try:
                with live.working():
                    async with reply.showing():
                        answer, fault = await self._answer(live, prompt.text, reply)
            finally:
                live.was_given(prompt.first_seq, prompt.last_seq)
            seconds = time.perf_counter() - began_at
            self.books.took(turn, person, live.program.name, answer.usage, seconds)
            live.answered(
                taken=fault != "context",
                compacted=answer.compacted,
                summarised=bool(prompt.briefing.summary),
            )
            await self.sessions.keep(live)
            asking.made = AgentStep(turn, live, answer, fault)
        turn = replace(
            turn,
            answer=answer.text,
            answer_source=answer.source,
            ended_by=answer.ended_by,
            fault=fault,
            record={**record, "tools": list(answer.tools)},
        )
        return _Outcome(turn, None if fault else _lesson(turn, asked.message, live, answer))

    def _reply(self, turn: Turn, occasion: TurnContext, workspace: Path) -> LiveReply:
        return LiveReply(
            turn,
            self.bots[turn.bot],
            self.destination_of(turn),
            occasion=occasion,
            workspace=workspace,
            ledger=self.ledger,
            questions=self.questions,
            publish=self.publish,
            clock=self.clock,
            shown=lambda text: self.redactor.unfinished(untyped(text)),
            step=StepTimer(self.trails.of(turn.id)),
        )

    async def _answer(
        self, live: LiveSession, prompt: str, reply: LiveReply
    ) -> tuple[Answer, AgentFault | None]:
        """The agent's answer, or the line that says why there is none, and the fault."""
        try:
            async with asyncio.timeout(self.limits.timeout_s):
                answer = await live.agent.ask(prompt, reply)
        except AgentError as error:
            answer = Answer(_failure(error), usage=error.usage)
            return self.redactor.clean(answer), _logged(error).kind
        except TimeoutError:
            say = f"No end after {self.limits.timeout_s / 60:g} minutes. Try a smaller step."
            return Answer(_failure(AgentError("timeout", say))), "timeout"
        text = untyped(answer.text) or "(The agent ended its turn without a word.)"
        return self.redactor.clean(replace(answer, text=text)), None

    async def _post(
        self, turn: Turn, posts: list[Post], step: StepTimer, *, keeps_times: bool = False
    ) -> tuple[Turn, ...]:
        bot, place = self.bots[turn.bot], self.destination_of(turn)
        try:
            with step("post"):
                sent = await deliver(turn, posts, bot, place, self.ledger, step)
        except PlatformError as error:
            log.error("turn.undeliverable", turn=turn.id, reason=str(error))
            await self.presence.left(turn.room, turn.bot)
            dropped = await self.ledger.dropped(replace(turn, fault="crash"), self.clock())
            self._tell(dropped)
            self.marks.ended(turn.id, "failed")
            self.trails.ended(dropped, "undeliverable")
            return ()
        if keeps_times:
            turn.record["timings"] = step.ms
        by = persona_speaker(turn.persona) if turn.was_asked else MOOT
        peers = await self.books.hand_over(turn, await self.hand_over.peers(turn, bot))
        suggested = [] if any(not one.persona for one in peers) else await self._suggested(turn)
        wanted = [*peers, *suggested]
        done, seq, more = await self.ledger.posted(turn, sent, by, wanted, self.clock())
        if seq is not None:
            self.publish(MessagePosted(views.answer(done, sent[0], by)))
        self._tell(done)
        self.marks.ended(done.id, "failed" if done.fault else "done")
        self.measure(done)
        log.info("turn.posted", turn=turn.id, persona=turn.speaker_name, posts=len(sent))
        self.trails.ended(done)
        return more

    async def _suggested(self, turn: Turn) -> list[TurnRequest]:
        """What is to be said after an agent's answer, as a post of its own."""
        line = await self.suggest(turn) if turn.was_asked else None
        if line is None:
            return []
        line = self.redactor(line)
        return [TurnRequest(uuid4().hex, "", turn.bot, turn.thread_id, turn.hop, "notice", line)]

    def _tell(self, turn: Turn, asked: StoredMessage | None = None, status: str = "") -> None:
        message_id = asked.message_id if asked else None
        card = views.turn_view(turn, message_id=message_id)
        self.publish(TurnChanged(replace(card, status=status)))


def _lesson(turn: Turn, asked: StoredMessage, live: LiveSession, answer: Answer) -> AnsweredTurn:
    return AnsweredTurn(
        turn_id=turn.id,
        scope=turn.scope,
        room=turn.room,
        persona=turn.persona,
        sender=asked.by,
        text=asked.content,
        reply=answer.text,
        message_seq=asked.seq,
        at=asked.sent_at,
        session_id=live.agent.session_id or "",
        workspace=str(live.workspace),
        uses=answer.uses,
        compacted=answer.compacted,
    )


def _after_restart(post: Post) -> Post:
    return replace(post, uncertain=post.platform_id is None)


def _logged(error: AgentError) -> AgentError:
    log.warning("turn.failed", kind=error.kind, reason=str(error))
    return error


def _failure(error: AgentError) -> str:
    """What is posted when there is no answer: what it had said so far, and the one line."""
    line = f"{'⏹️' if error.kind == 'stopped' else '⚠️'} {error.say}"
    return f"{error.partial}\n\n{line}" if error.partial else line


def _log_asked(live: LiveSession, prompt: str) -> None:
    """The prompt is handed over: typed into a terminal, or sent."""
    if live.program.typed:
        log.info("prompt.typed", chars=len(prompt))
    log.info("agent.asked", agent=live.program.name, chars=len(prompt))
