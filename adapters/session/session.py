"""The part of an agent's session that every driver shares: ask, time-out, interrupt, settle.

ask ──────── its work ends ───────────────────────────────▶ the answer, or an AgentError
 │                                                            ▲
 ├─ `interrupt`, the time-out or the caller cancels the work   │ with what was said so far
 └─ the run is not finished: it settles (is broken off) in the background, and the next
    ask waits for that; a program that does not become idle is ended
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Mapping
from dataclasses import field, replace
from typing import Any, Generic, Protocol, TypeVar

import structlog

from adapters.agent import Reply
from adapters.turn_events import HookQuestion
from contract.agent import Question, Usage
from contract.errors import AgentError, AgentFault
from contract.language import Phrase, later
from contract.values import dataclass

PARTIAL_S = 0.7  # for the last words of a program that is ended anyway
BREAK_OFF_S = 3.0  # for an interrupt to work
DRAFT_S = 0.1  # between drafts
EXIT_S = 2.0  # from the end of a program's output to its own


class Run(Protocol):
    """One prompt on its way to an answer."""

    def partial(self) -> str:
        """All that was said so far."""

    def usage(self) -> Usage | None:
        """The tokens that it took so far; None when nobody counts them."""

    def unfinished(self) -> bool:
        """True while the program may still work on it."""

    async def break_off(self) -> bool:
        """Have the program stop; True when it takes the next prompt.

        What it started for this one, and left running, has ended then.
        """


R = TypeVar("R", bound=Run)
T = TypeVar("T")


class AgentSession(Generic[R]):
    """One ask at a time, each of which ends: an `Agent` inherits it.

    A driver sets `_run` once its program has a prompt, and implements `alive` and `_end`. name:
    in logs; title: begins the sentences that people read.
    """

    def __init__(self, name: str, title: str) -> None:
        self._name = name
        self._title = title
        self._run: R | None = None
        self._work: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._failure: AgentError | None = None  # why it was interrupted, if nobody asked for it
        self._idle = asyncio.Event()  # no ask runs
        self._idle.set()
        self._settling: asyncio.Task[None] | None = None
        self._ends = False  # the program is ended, whether or not it stops
        self._half_started = False  # a start was broken off that can't be gone on with

    def alive(self) -> bool:
        """See `Agent.alive`."""
        raise NotImplementedError

    async def _end(self) -> None:
        """End the program if one runs."""
        raise NotImplementedError

    def _rest(self) -> None:
        """An ask has ended, however it did."""

    async def _within(self, limit_s: float | None, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, unless it is interrupted or takes too long. Raises AgentError."""
        self._interrupted, self._failure = False, None
        self._idle.clear()
        self._work = asyncio.create_task(work, name=f"ask-{self._name}")
        caller = asyncio.current_task()
        assert caller
        try:
            async with asyncio.timeout(limit_s):
                result: T = await self._work
                return result
        except asyncio.CancelledError:
            if not self._interrupted or caller.cancelling():
                raise
            if cause := self._failure:
                raise self._fault(cause.kind, str(cause), cause.phrase) from None
            await self._break_off()
            say = later("{title} was stopped.", title=self._title)
            raise self._fault("stopped", "stopped", say) from None
        except TimeoutError:
            assert limit_s is not None
            await self._break_off()
            say = later(
                "{title} did not finish within {minutes} minutes; I stopped it.",
                title=self._title,
                minutes=f"{limit_s / 60:.0f}",
            )
            raise self._fault("timeout", f"no end within {limit_s:.0f} s", say) from None
        finally:
            self._work = None
            self._rest()
            self._begin_settling()  # breaks off what the ask left unfinished
            if not self._settling or self._settling.done():
                self._run = None
            self._idle.set()

    async def interrupt(self) -> None:
        """See `Agent.interrupt`."""
        if self._work and not self._interrupted:
            self._interrupted = True
            self._work.cancel()
        await self._idle.wait()

    async def fail(self, error: AgentError) -> None:
        """See `Failable`."""
        if self._work and not self._interrupted:
            self._failure = error
        await self.interrupt()
        await self._end()

    async def close(self) -> None:
        """See `Agent.close`."""
        self._ends = True
        await self.interrupt()
        if self._settling:
            self._settling.cancel()
            await asyncio.wait({self._settling})
        await self._end()

    def _fault(self, kind: AgentFault, message: str, say: Phrase) -> AgentError:
        """An error of the run, with what was said and spent until then."""
        run = self._run
        partial = run.partial() if run else ""
        error = AgentError(kind, f"{self._name}: {message}", say=say, partial=partial)
        error.usage = run.usage() if run else None
        return error

    # ── What an ask leaves unfinished ───────────────────────────────────────────────────

    def _begin_settling(self) -> None:
        """Interrupt the program in the background, unless it has finished."""
        run = self._run if self._run and self._run.unfinished() and self.alive() else None
        if not self._settling and (run or self._half_started):
            name = f"break-off-{self._name}"
            self._settling = asyncio.create_task(self._settle(run), name=name)

    async def _break_off(self) -> None:
        """Interrupt the program, and wait until it is idle or was ended: only then it has stopped.

        A program that is ended anyway has a little time for what it still has to say.
        """
        self._begin_settling()
        if self._settling:
            await asyncio.wait({self._settling}, timeout=PARTIAL_S if self._ends else None)

    async def _settle(self, run: R | None) -> None:
        """Interrupt the program; end it when it does not become idle."""
        try:
            idle = run is not None and await run.break_off()
        finally:
            if not self._work:
                self._run = None
        if not idle:
            await self._end()

    async def _settled(self) -> None:
        """Wait until the program has done with the ask before."""
        if self._settling:
            await asyncio.wait({self._settling})
            self._settling = None


def readable(text: str) -> str:
    """The text without U+2060, which keeps an `@` from being taken for a file."""
    return text.replace("\u2060", "")


SHOWN = 200  # characters of the screen in an error


def last_words(text: str) -> str:
    """The last lines of a screen on one line, without rules and boxes."""
    lines = [" ".join(line.strip("─━═│┃╭╮╰╯┌┐└┘ ").split()) for line in text.split("\n")]
    shown = " / ".join(line for line in lines if line)
    return shown if len(shown) <= SHOWN else f"…{shown[1 - SHOWN :]}"


log = structlog.stdlib.get_logger("moot.adapters.permission")


@dataclass(slots=True)
class RoomQuestions:
    """The questions of one turn that the room has not answered yet. responding: hooks that wait."""

    reply: Reply
    responding: int = 0
    _open: set[asyncio.Task[int]] = field(default_factory=set)

    def ask(self, question: Question) -> asyncio.Task[int]:
        """Put it to the room; the task's result is the index of the chosen option."""
        asked = replace(question, id=question.id or secrets.token_hex(8))
        task = asyncio.create_task(self.reply.choose(asked), name=f"question-{asked.id}")
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task

    async def respond(self, asked: HookQuestion) -> Mapping[str, Any]:
        """The response to a hook's questions; a refusal when nobody decided."""
        self.responding += 1
        try:
            while True:
                task = self.ask(asked.question)
                await _finished(task)
                response = asked.responses[chosen(task, asked.question)]
                if not isinstance(response, HookQuestion):
                    return response
                asked = response
        finally:
            self.responding -= 1

    async def close(self) -> None:
        """Withdraw what is open; what was withdrawn already is left to write its record."""
        for task in self._open:
            if not task.cancelling():
                task.cancel()
        if self._open:
            await asyncio.wait(self._open)


async def _finished(task: asyncio.Task[int]) -> None:
    """Wait for a task; cancelled, cancel it."""
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()


def chosen(task: asyncio.Task[int], question: Question) -> int:
    """The option that a finished task chose; the refusal when it was withdrawn or failed."""
    if not task.cancelled():
        error = task.exception()
        if error is None and 0 <= task.result() < len(question.options):
            return task.result()
        log.warning("question.not_answered", question=question.id, reason=error)
    return refusal(question)


def refuse(asked: HookQuestion) -> Mapping[str, Any]:
    """The response of the option that says no."""
    response = asked.responses[refusal(asked.question)]
    assert not isinstance(response, HookQuestion)
    return response


def refusal(question: Question) -> int:
    """The option that says no; the last one when none is marked."""
    for index, option in enumerate(question.options):
        if option.refuses:
            return index
    return len(question.options) - 1
