"""Takes one turn, from a stored question to a posted answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from composer.header import untyped
from contract.agent import Answer
from contract.errors import AgentError, AgentFault, MachineLost
from contract.language import later, phrase, say
from contract.turnstile import turnstile
from contract.values import dataclass
from gateway.access.visibility import Asked, Visibility
from gateway.core.ledger import Turn
from gateway.core.sql_ledger import SqlLedger
from gateway.limits.accounting import Accounting
from gateway.mcp.endpoint import FileBounds
from gateway.sessions.sessions import STOPPED, LiveSession, Sessions
from gateway.settings.personas.personas import Persona, Personas
from gateway.turns.commands import CommandRunner
from gateway.turns.delivery import Delivery, LiveReply
from gateway.turns.progress import TurnProgress, TurnRun, destination_of
from gateway.turns.prompt import MessageGone, Prompt, Prompts
from gateway.turns.steps import AgentStep
from memory.given import NOTHING
from memory.layers import AnsweredTurn
from store.patience import waiting

log = structlog.stdlib.get_logger("moot.turn")

FULL_HOUSE = phrase("waits for a free session")
AGAIN = phrase("I was cut off. I begin again.")
CUT_OFF = later("I was cut off twice while I worked on this: ask again if it is still wanted.")
WORDLESS = "(The agent ended its turn without a word.)"
MOST_ATTEMPTS = 2
CRASHED = phrase("⚠️ Something broke on my side. The administrator finds turn {turn} in the log.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answered turn, and what the memory may learn from it: nothing, when it failed. session:
    that answered."""

    turn: Turn
    lesson: AnsweredTurn | None = None
    session: LiveSession | None = None


class CutOff(Exception):
    """A machine went away with a turn, which may be asked once more. attempt: the one it was."""

    def __init__(self, attempt: int) -> None:
        super().__init__()
        self.attempt = attempt


class AgentCaller:
    """Asks an agent in its living session: the prompt, the answer, and what it took."""

    def __init__(
        self,
        *,
        visibility: Visibility,
        prompts: Prompts,
        ledger: SqlLedger,
        accounting: Accounting,
        delivery: Delivery,
        progress: TurnProgress,
        timeout_s: float,
        waits: Callable[[str], bool],
    ) -> None:
        """waits: whether a turn that an earlier process asked, by its id, needs no other prompt:
        its answer is there, or comes."""
        self._waits = waits
        self._visibility = visibility
        self._prompts = prompts
        self._ledger = ledger
        self._accounting = accounting
        self._delivery = delivery
        self._progress = progress
        self._timeout_s = timeout_s

    async def call(self, run: TurnRun, persona: Persona, session: LiveSession) -> Outcome:
        """The answer, or the line that says why there is none. Raises MessageGone where nobody
        wants it any more, CutOff."""
        turn = self._as_asked(run.turn)
        if turn.attempt > MOST_ATTEMPTS:
            raise AgentError("crash", "it was cut off as often as it may be", say=CUT_OFF)
        asked, prompt = await self._prepared(replace(run, turn=turn), persona, session)
        if turn is run.turn:
            turn = self._as_asked(turn)  # the answer may have come meanwhile
        if run.succession.withdrawn:
            raise MessageGone("the message that asked was deleted")
        with run.step("agent") as step:
            prompt, record, header = _given(turn, prompt, taken_up=turn is not run.turn)
            at = self._delivery.clock()
            later = not session.context.program.runs  # it does nothing but answer
            turn = await self._ledger.running(turn, header, record, at, later=later)
            self._progress.tell(turn, asked.message.message_id)
            reply = self._reply(replace(run, turn=turn), prompt, session)
            bounds = FileBounds(self._delivery.redactor, run.bot.capabilities.file_bytes)
            session.admission.bounds = bounds
            try:
                answer, fault = await self._asked(turn, asked, session, prompt, reply)
            finally:
                session.admission.bounds = None
            step.made = AgentStep(turn, session, answer, fault, asked.message.by.id)
        if bounds.desk is not None:
            record["files"] = [handed.as_json() for handed in bounds.desk.taken]
        record = {
            **record,
            "tools": list(answer.tools),
            "agent": session.context.program.name,
            "session": session.agent.session_id,
            **reply.recorded(),
        }
        outcome = _answered(replace(turn, record=record), answer, fault)
        lesson = None if fault else _lesson(turn, asked, session, answer)
        return Outcome(outcome, lesson, session)

    def _as_asked(self, turn: Turn) -> Turn:
        """The turn, without the attempt that isn't made: what an earlier process asked is answered
        already, or is worked on."""
        if turn.attempt == 1 or not self._waits(turn.id):
            return turn
        return replace(turn, record={**turn.record, "attempt": turn.attempt - 1})

    async def _prepared(
        self, run: TurnRun, persona: Persona, session: LiveSession
    ) -> tuple[Asked, Prompt]:
        """The question of a turn and its prompt. Raises MessageGone."""
        turn = run.turn
        room = replace(turn.room, project=turn.room.project or persona.front.project)
        if not self._prompts.goes_on(session.context):  # the answer before it is a part of it
            await run.succession.posts_before()
        window = await self._prompts.window(turn, session.context)
        asked = await self._visibility.asked(turn, room, window.lines)
        if asked is None:
            raise MessageGone("the message that asked was deleted")
        session.admission.invocation = asked.invocation  # as far as its agent may look
        make = self._prompts.make
        return asked, await make(turn, asked, session.context, window, run.step, run.reading)

    def _reply(self, run: TurnRun, prompt: Prompt, session: LiveSession) -> LiveReply:
        turn = run.turn
        reply = self._delivery.reply(
            run, lambda: replace(prompt.context, turn=turn.id), session.workspace
        )
        if turn.attempt > 1:
            reply.draft(say(AGAIN))
        return reply

    async def _asked(
        self, turn: Turn, asked: Asked, session: LiveSession, prompt: Prompt, reply: LiveReply
    ) -> tuple[Answer, AgentFault | None]:
        """The same, and what it took is on record. Raises CutOff."""
        program = session.context.program
        person = await self._accounting.began(turn, asked.message, program.name)
        began_at = time.perf_counter()
        if program.typed:
            log.info("prompt.typed", chars=len(prompt.text))
        log.info("agent.asked", agent=program.name, chars=len(prompt.text))
        fault: AgentFault | None = None
        working = session.working(prompt.last_seq, prompt.shown)
        with working, self._progress.asking(turn):
            async with reply.showing():
                try:
                    async with asyncio.timeout(self._timeout_s):
                        if session.stopped:
                            await self._stop(turn, session)
                        answer = await session.agent.ask(prompt.text, reply)
                    answer = replace(answer, text=untyped(answer.text) or WORDLESS)
                except AgentError as error:
                    if isinstance(error, MachineLost) and turn.attempt < MOST_ATTEMPTS:
                        raise CutOff(turn.attempt) from _logged(error)
                    answer, fault = Answer(_failure(error), usage=error.usage), _logged(error).kind
                except TimeoutError:
                    line = say(
                        "No end after {minutes} minutes. Try a smaller step.",
                        minutes=f"{self._timeout_s / 60:g}",
                    )
                    answer, fault = Answer(_failure(AgentError("timeout", line))), "timeout"
                await turnstile("turns").through()
                answer = self._delivery.redactor.clean(answer)
        seconds = time.perf_counter() - began_at
        self._accounting.took(turn, person, program.name, answer.usage, seconds)
        session.answered(
            taken=fault != "context",
            compacted=answer.compacted,
            summarised=bool(prompt.briefing.summary),
        )
        return answer, fault

    async def _stop(self, turn: Turn, session: LiveSession) -> None:
        """Somebody said !stop before the agent was asked: it isn't, and what an earlier process
        asked of it ends. Raises AgentError."""
        if not self._waits(turn.id):
            raise AgentError("stopped", "stopped before it was asked", say=STOPPED)
        await session.agent.interrupt()


class TurnRunner:
    """Takes turns: a command is carried out, a question goes to an agent, and what was answered
    before is posted. version: of a persona's file; remember: learns from a turn."""

    def __init__(
        self,
        *,
        personas: Personas,
        version: Callable[[Persona], Awaitable[int]],
        sessions: Sessions,
        caller: AgentCaller,
        commands: CommandRunner,
        delivery: Delivery,
        progress: TurnProgress,
        remember: Callable[[AnsweredTurn], object],
    ) -> None:
        self._personas = personas
        self._version = version
        self._sessions = sessions
        self._caller = caller
        self._commands = commands
        self._delivery = delivery
        self._progress = progress
        self._remember = remember

    async def run(self, run: TurnRun) -> Sequence[Turn]:
        """Take one; return the turns that its answer hands over to.

        Its persona is the one that it begins with, whatever becomes of the file meanwhile.
        """
        if run.command is not None:
            answered = await self._commands.run(run)
            if answered is not None:
                with waiting("all"):
                    await self._delivery.answer(answered)
            else:
                self._progress.reactions.ended(run.turn.id, "failed")
            return ()
        self._personas.refresh()
        persona = self._personas.good.get(run.turn.persona)
        turn = run.turn
        run = replace(run, destination=destination_of(turn, run.bot, persona))
        if turn.state == "answered":
            return await self._delivery.go_on(run)
        if turn.state == "running":  # whoever asked did not live to store an answer
            run = _attempt(run, run.turn.attempt + 1)
        outcome = await self._ask(run, persona)
        if outcome is None or run.succession.withdrawn:
            await self._delivery.drop(replace(run, turn=outcome.turn) if outcome else run)
            return ()
        with waiting("all"):  # an answer that is there is not thrown away
            more = await self._delivery.answer(replace(run, turn=outcome.turn), keeps_times=True)
        if outcome.session is not None:
            self._sessions.posted(outcome.session)
        if outcome.lesson is not None and not run.succession.withdrawn:
            self._remember(outcome.lesson)
        return more

    async def _ask(self, run: TurnRun, persona: Persona | None) -> Outcome | None:
        """Get the agent's answer; None: the message that asked is not there any more.

        Where a machine goes away with it, the agent is asked once more, wherever it is then.
        """
        try:
            return await self._ask_once(run, persona)
        except CutOff as cut:
            return await self._ask_once(_attempt(run, cut.attempt + 1), persona)

    async def _ask_once(self, run: TurnRun, persona: Persona | None) -> Outcome | None:
        """Raises CutOff, the first time."""
        turn = run.turn
        try:
            async with AsyncExitStack() as stack:
                with run.step("agent ready") as ready:
                    if persona is None:
                        line = say("there is no persona {persona} any more", persona=turn.persona)
                        raise AgentError("missing", line)
                    made_by = {"persona_version": await self._version(persona)}
                    turn = replace(turn, record=turn.record | made_by)
                    self._progress.tell(replace(turn, state="running"))  # it may have to start
                    run = replace(run, turn=turn)
                    waits = partial(self._waits, run)
                    session = ready.made = await stack.enter_async_context(
                        self._sessions.use(persona, turn.key, turn.room, waits)
                    )
                self._progress.reactions.goes_on(turn.id)
                await stack.enter_async_context(session.asking)
                with session.of_turn():
                    outcome = await self._caller.call(run, persona, session)
                with waiting("all"):
                    await self._sessions.keep(session)
                return outcome
        except MessageGone:
            return None
        except AgentError as error:
            if isinstance(error, MachineLost) and turn.attempt < MOST_ATTEMPTS:
                raise CutOff(turn.attempt) from _logged(error)
            return Outcome(replace(turn, answer=_failure(error), fault=_logged(error).kind))

    async def _waits(self, run: TurnRun) -> None:
        """Other sessions take all the places: say so, as to those who wait for a turn."""
        self._progress.tell(
            replace(run.turn, state="queued"), run.message_id, status=say(FULL_HOUSE)
        )
        self._progress.waits(run)

    # ── What becomes of others ──────────────────────────────────────────────────────────

    async def apologise(self, run: TurnRun) -> None:
        """Taking a turn raised: people are told where the administrator finds why."""
        turn = replace(run.turn, answer=say(CRASHED, turn=run.turn.id), fault="crash")
        persona = self._personas.good.get(turn.persona)
        destination = destination_of(turn, run.bot, persona)
        await self._delivery.answer(replace(run, turn=turn, destination=destination))

    async def withdraw(self, run: TurnRun) -> None:
        """The message of a turn that runs was deleted: nobody wants its answer any more."""
        run.succession.withdrawn = True
        await self._sessions.interrupt(run.turn.key)

    async def drop(self, run: TurnRun) -> None:
        """The message of a turn that waits was deleted."""
        await self._delivery.drop(run)

    async def close_questions(self, run: TurnRun) -> None:
        """Close the questions of a turn that an earlier process took."""
        await self._delivery.close_questions(run)


def _attempt(run: TurnRun, number: int) -> TurnRun:
    turn = run.turn
    record = {**turn.record, "attempt": number}
    return replace(run, turn=replace(turn, record=record))


def _given(turn: Turn, prompt: Prompt, *, taken_up: bool) -> tuple[Prompt, dict[str, Any], str]:
    """The prompt of a turn, its record and its header. taken_up: these are what its agent was given
    by an earlier process, and no more was shown for sure than the question."""
    if not taken_up:
        return prompt, turn.record | prompt.record(), prompt.header.text
    shows = replace(prompt, last_seq=turn.message_seq, shown=NOTHING)
    return shows, turn.record, turn.header or prompt.header.text


def _answered(turn: Turn, answer: Answer, fault: AgentFault | None) -> Turn:
    return replace(
        turn,
        answer=answer.text,
        answer_source=answer.source,
        ended_by=answer.ended_by,
        fault=fault,
    )


def _lesson(turn: Turn, asked: Asked, session: LiveSession, answer: Answer) -> AnsweredTurn:
    message = asked.message
    return AnsweredTurn(
        turn_id=turn.id,
        scope=turn.scope,
        room=turn.room,
        persona=turn.persona,
        sender=message.by,
        text=message.content,
        reply=answer.text,
        message_seq=message.seq,
        at=message.sent_at,
        session_id=session.agent.session_id or "",
        workspace=str(session.workspace),
        uses=answer.uses,
        compacted=answer.compacted,
    )


def _logged(error: AgentError) -> AgentError:
    log.warning("turn.failed", kind=error.kind, reason=str(error))
    return error


def _failure(error: AgentError) -> str:
    """The post when there is no answer: what the agent had said so far, and the one line."""
    line = f"{'⏹️' if error.kind == 'stopped' else '⚠️'} {error.say}"
    return f"{error.partial}\n\n{line}" if error.partial else line
