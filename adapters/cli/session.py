"""The driver: a living session with a command-line agent in a pseudo-terminal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import structlog

from adapters.agent import Launch, Reply
from adapters.cli.command import CommandRun, NullReply
from adapters.cli.comparison import CrossCheck
from adapters.cli.hooks import HookListener
from adapters.cli.permission import refuse
from adapters.cli.process import CliProcess
from adapters.cli.run import PromptRun
from adapters.cli_profile import HookQuestion, Profile, SessionNamed, State
from adapters.screen.signals import Signal
from contract.agent import Answer
from contract.errors import AgentError

log = structlog.stdlib.get_logger("moot.adapters.cli")

T = TypeVar("T")

COMPACT_S = 180.0  # a model reads the whole conversation and writes its summary
PASTE_MODE = 2004
PARTIAL_S = 0.7  # `interrupt` has a second
PAST_TURNS = 16  # ids of turns whose late events are dropped


class CliAgent:
    """One session of one profile's program: an `Agent`.

    The program starts with the first `ask` (or `start`), is resumed after a crash, and lives
    until `close`. hooks: the shared listener, for profiles with hooks. on_disagreement: called
    when the screen showed another reply than the record's. Who makes it closes it.
    """

    def __init__(
        self,
        profile: Profile,
        launch: Launch,
        hooks: HookListener | None = None,
        on_disagreement: Callable[[], None] = lambda: None,
    ) -> None:
        self._profile = profile
        self._process = CliProcess(profile, launch, hooks, self._on_signal, self._on_hook)
        self._exchange: PromptRun | None = None
        self._comparison = CrossCheck(profile.name, on_disagreement)
        self._past: list[str] = []
        self._asking: asyncio.Task[Any] | None = None
        self._stopping = False
        self._asked = asyncio.Event()  # no ask runs
        self._asked.set()
        self._settling: asyncio.Task[None] | None = None

    # ── Asking ──────────────────────────────────────────────────────────────────────────

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        """See `Agent.ask`."""
        return await self._within(self._profile.turn_timeout_s, self._ask(prompt, reply))

    async def compact(self) -> None:
        """See `Compacting`."""
        if not self._profile.compact:
            say = f"{self._title} has no command for that. Say `!new` to begin a new conversation."
            raise AgentError("missing", f"{self._profile.name}: no compact command", say=say)
        await self._within(COMPACT_S, self._compact())

    async def _within(self, limit_s: float, work: Coroutine[Any, Any, T]) -> T:
        """Do it unless it is stopped or takes too long. Raises AgentError."""
        task = self._asking = asyncio.current_task()
        assert task
        self._stopping = False
        self._asked.clear()
        try:
            async with asyncio.timeout(limit_s):
                return await work
        except asyncio.CancelledError:
            if not self._stopping or task.uncancel() > 0:
                raise
            await self._break_off()
            raise self._fault("stopped", "stopped", f"{self._title} was stopped.") from None
        except TimeoutError:
            say = f"{self._title} did not finish within {limit_s / 60:.0f} minutes; I stopped it."
            raise self._fault("timeout", f"no end within {limit_s:.0f} s", say) from None
        finally:
            self._leave()

    async def _ask(self, prompt: str, reply: Reply) -> Answer:
        exchange = await self._begin(PromptRun, prompt, reply)
        try:
            answer = await exchange.run()
        except AgentError as error:
            if error.kind == "context":
                raise await self._condense(error) from error
            if error.kind in self._profile.ends_at:
                await self._process.end()
            explained = await self._process.explained(error)
            explained.usage = exchange.turn.spent()
            raise explained from error.__cause__
        exchange.compare(self._comparison, answer)
        return answer

    async def _compact(self) -> None:
        answer = await (await self._begin(CommandRun, self._profile.compact, NullReply())).run()
        if self._profile.tells_compacted and not answer.compacted:
            say = f"{self._title} found nothing to compact."
            raise AgentError("context", f"{self._profile.name}: not compacted", say=say)

    async def _begin(self, kind: type[PromptRun], text: str, reply: Reply) -> PromptRun:
        """Have the program ready to be typed to."""
        await self._settled()
        await self._comparison.stop()
        console = await self._process.start()
        self._exchange = kind(
            self._profile,
            console,
            self._process.follower,
            text,
            reply,
            past=self._past,
            on_named=partial(self._named, by_record=True),
        )
        return self._exchange

    async def _condense(self, error: AgentError) -> AgentError:
        """Its context is full: make it usable again, and tell how."""
        assert self._exchange
        self._past = [*self._past, self._exchange.turn.id]
        failed = self._exchange.turn.failed
        in_vain = failed is not None and failed.goes_on  # it compacts by itself, again and again
        if not in_vain and await self._condensed():
            done = "I had it compacted: ask again."
        else:
            await self._process.end()
            self.session_id = None
            done = "Its next turn begins a new one, with what the room remembers: ask again."
        say = f"The conversation with {self._title} is too long for its model now. {done}"
        return AgentError("context", str(error), say=say, partial=error.partial)

    async def _condensed(self) -> bool:
        """Let the program compact its conversation, if it can."""
        if not self._profile.compact:
            return False
        try:
            async with asyncio.timeout(COMPACT_S):
                await self._compact()
        except (AgentError, TimeoutError) as failure:
            log.warning("program.not_compacted", agent=self._profile.name, reason=failure)
            return False
        return True

    def _leave(self) -> None:
        """The ask is over: break off what it left unfinished."""
        self._asking = None
        if self._exchange:
            self._past = [*self._past, self._exchange.turn.id][-PAST_TURNS:]
            self._begin_settling()
            if not self._settling or self._settling.done():
                self._exchange = None
        self._asked.set()

    def _begin_settling(self) -> None:
        """Interrupt the program in the background, unless it has finished."""
        exchange = self._exchange
        if not self._settling and exchange and exchange.unfinished() and self.alive():
            self._settling = asyncio.create_task(
                self._settle(exchange), name=f"break-off-{self.session_id}"
            )

    async def _break_off(self) -> None:
        """Interrupt the program, and wait a little for its record of what it had said."""
        self._begin_settling()
        if self._settling:
            await asyncio.wait({self._settling}, timeout=PARTIAL_S)

    async def _settle(self, exchange: PromptRun) -> None:
        """Interrupt the program; end it when it does not become idle."""
        try:
            idle = await exchange.break_off()
        finally:
            if not self._asking:
                self._exchange = None
        if not idle:
            level = logging.DEBUG if self._profile.interrupt.ends else logging.WARNING
            log.log(level, "program.not_idle", agent=self._profile.name, after="interrupt")
            await self._process.end()

    async def _settled(self) -> None:
        if self._settling:
            await asyncio.wait({self._settling})
            self._settling = None

    async def interrupt(self) -> None:
        """See `Agent.interrupt`."""
        if self._asking and not self._stopping:
            self._stopping = True
            self._asking.cancel()
        await self._asked.wait()

    @property
    def session_id(self) -> str | None:
        """See `Agent`."""
        return self._process.session_id

    @session_id.setter
    def session_id(self, session_id: str | None) -> None:
        self._process.session_id = session_id

    @property
    def resumed(self) -> bool:
        """See `Agent`."""
        return self._process.resumed

    @resumed.setter
    def resumed(self, resumed: bool) -> None:
        self._process.resumed = resumed

    @property
    def _title(self) -> str:
        return self._profile.title

    def _fault(self, kind: Any, message: str, say: str) -> AgentError:
        partial = self._exchange.partial() if self._exchange else ""
        error = AgentError(kind, f"{self._profile.name}: {message}", say=say, partial=partial)
        error.usage = self._exchange.turn.spent() if self._exchange else None
        return error

    # ── The program ─────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Start the program unless it runs; return when it takes a prompt. Raises AgentError."""
        await self._process.start()

    def _named(self, session_id: str, *, by_record: bool = False) -> None:
        """The program told the id of its session. by_record: the running ask has its record."""
        follower = self._process.named(session_id)
        if follower and self._exchange and not by_record:
            self._exchange.follower = follower

    async def close(self) -> None:
        """See `Agent.close`."""
        await self.interrupt()
        await self._comparison.stop()
        if self._settling:
            self._settling.cancel()
            await asyncio.wait({self._settling})
        await self._process.end()
        self._process.release()

    def waiting_bytes(self) -> int:
        """How much of its output is kept without being drawn yet."""
        return self._process.console.waiting_bytes if self._process.console else 0

    @property
    def pid(self) -> int | None:
        """The program's process id, None before its start and after its end."""
        return self._process.console.pid if self._process.console else None

    def alive(self) -> bool:
        """See `Agent.alive`."""
        return self._process.alive()

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        """See `Agent.picture`."""
        return self._process.console.glance().picture() if self._process.console else []

    # ── What it tells ───────────────────────────────────────────────────────────────────

    def _on_signal(self, signal: Signal) -> None:
        signs = self._profile.signs
        if signal.kind == "title" and self._exchange:
            self._exchange.retitle(signal.text)
        elif signal.kind == "osc" and signs.states:
            self._tell(signs.states(f"{signal.number};{signal.text}"))
        elif signal.kind == "mode" and signal.number == PASTE_MODE and signs.paste_mode:
            self._tell("done" if signal.on else "working")

    def _tell(self, state: State | None) -> None:
        """The program told its state in-band."""
        console = self._process.console
        if state and console:
            console.state = state
            if self._exchange:
                self._exchange.tell(state)

    async def _on_hook(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        hooks = self._profile.signs.hooks
        for event in hooks.read(payload) if hooks else ():
            if isinstance(event, SessionNamed):
                self._named(event.session_id)
            elif isinstance(event, HookQuestion):
                if self._exchange:
                    return await self._exchange.decide(event)
                return refuse(event)
            elif self._exchange:
                self._exchange.note(event, "hook")
        return {}
