"""The driver: a living session with a command-line agent in a pseudo-terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from adapters.agent import NO_UNDO, Launch, Reply
from adapters.cli.command import CommandRun, NullReply
from adapters.cli.hooks import HookListener
from adapters.cli.process import CliProcess
from adapters.cli.run import PromptRun
from adapters.cli.turn import TurnState
from adapters.cli.undoing import take_back
from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.screen.screen import Screen
from adapters.screen.signals import Signal
from adapters.session.login import give_back
from adapters.session.session import AgentSession, refuse
from adapters.turn_events import HookQuestion, SessionNamed, State
from contract.agent import Answer
from contract.errors import AgentError
from contract.language import later

log = structlog.stdlib.get_logger("moot.adapters.cli")

COMPACT_S = 180.0  # a model reads the whole conversation and writes its summary
UNDO_S = 60.0  # five steps of ten seconds, each of which takes one as a rule
PAST_TURNS = 16  # ids of turns whose late events are dropped


class CliAgent(AgentSession[PromptRun]):
    """One session of one profile's program: an `Agent`.

    The program starts with the first `ask` (or `start`), is resumed after a crash, and lives
    until `close`. hooks: the shared listener, for profiles with hooks. Who makes it closes it.
    """

    def __init__(self, profile: Profile, launch: Launch, hooks: HookListener | None = None) -> None:
        super().__init__(profile.name, profile.title)
        self._profile = profile
        self._launch = launch
        self._process = CliProcess(profile, launch, hooks, self._on_signal, self._on_hook)
        self._turn: TurnState | None = None  # the last one, whose late events are dropped
        self._past: list[str] = []  # ids of those before

    # ── Asking ──────────────────────────────────────────────────────────────────────────

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        """See `Agent.ask`."""
        return await self._within(self._profile.signs.timeout_s, self._ask(prompt, reply))

    async def compact(self) -> None:
        """See `Compacting`."""
        if not self._profile.controls.compact:
            say = later(
                "{title} has no command for that. Say `!new` to begin a new conversation.",
                title=self._title,
            )
            raise AgentError("missing", f"{self._profile.name}: no compact command", say=say)
        await self._within(COMPACT_S, self._compact())

    async def undo(self) -> str:
        """See `Undoing`."""
        if self._profile.controls.undo is None:
            say = later(NO_UNDO, title=self._title)
            raise AgentError("missing", f"{self._profile.name}: no undo", say=say)
        await self._within(UNDO_S, self._undo())
        return self._profile.controls.undo.takes_files

    async def _ask(self, prompt: str, reply: Reply) -> Answer:
        run = await self._begin(PromptRun, prompt, reply)
        try:
            return await run.run()
        except AgentError as error:
            if error.kind == "context":
                raise await self._condense(error) from error
            if error.kind in self._profile.signs.ends_at:
                await self._process.end()
            explained = await self._process.explained(error)
            explained.usage = run.usage()
            raise explained from error.__cause__

    async def _compact(self) -> None:
        answer = await (
            await self._begin(CommandRun, self._profile.controls.compact, NullReply())
        ).run()
        if self._profile.controls.tells_compacted and not answer.compacted:
            say = later("{title} found nothing to compact.", title=self._title)
            raise AgentError("context", f"{self._profile.name}: not compacted", say=say)

    async def _undo(self) -> None:
        console = await self._ready()
        try:
            await take_back(self._profile, console)
        except BaseException:
            await self._process.end()  # in a dialog of it; the next prompt resumes the session
            raise

    async def _ready(self) -> Console:
        """The program, ready to be typed to."""
        if self._settling:
            await self._settled()
        console = self._process.console
        return console if console and console.ready else await self._process.start()

    async def _begin(self, kind: type[PromptRun], text: str, reply: Reply) -> PromptRun:
        """Have the program ready to be typed to."""
        console = await self._ready()
        if self._turn:
            self._past = [*self._past, self._turn.id][-PAST_TURNS:]
        run = kind(
            self._profile,
            console,
            self._process.follower,
            text,
            reply,
            settled=self._process.settled,
            past=self._past,
            on_named=partial(self._named, by_record=True),
        )
        run.turn.patient = self._turn is None or self._turn.complete()
        self._run, self._turn = run, run.turn
        return run

    async def _condense(self, error: AgentError) -> AgentError:
        """Make a session usable again whose context is full; returns how."""
        failed = self._turn.failed if self._turn else None
        in_vain = failed is not None and failed.goes_on  # it compacts by itself, again and again
        if not in_vain and await self._condensed():
            done = later("I had it compacted: ask again.")
        else:
            await self._process.end()
            self.session_id = None
            done = later("Its next turn begins a new one, with what the room remembers: ask again.")
        say = later(
            "The conversation with {title} is too long for its model now. {done}",
            title=self._title,
            done=done,
        )
        return AgentError("context", str(error), say=say, partial=error.partial)

    async def _condensed(self) -> bool:
        """Let the program compact its conversation, if it can."""
        if not self._profile.controls.compact:
            return False
        try:
            async with asyncio.timeout(COMPACT_S):
                await self._compact()
        except (AgentError, TimeoutError) as failure:
            log.warning("program.not_compacted", agent=self._profile.name, reason=failure)
            return False
        return True

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

    def _rest(self) -> None:
        if self._launch.login is not None:
            give_back(self._profile, self._launch)

    # ── The program ─────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Start the program unless it runs; return when it takes a prompt. Raises AgentError."""
        await self._process.start()

    def _named(self, session_id: str, *, by_record: bool = False) -> None:
        """The program told the id of its session. by_record: the running ask has its record."""
        follower = self._process.named(session_id)
        if follower and self._run and not by_record:
            self._run.follower = follower

    async def close(self) -> None:
        """See `Agent.close`."""
        await super().close()
        self._process.release()

    async def _end(self) -> None:
        await self._process.end()

    def waiting_bytes(self) -> int:
        """The part of its output that is kept without being drawn yet."""
        return self._process.console.waiting_bytes if self._process.console else 0

    @property
    def pid(self) -> int | None:
        """The program's process id, None before its start and after its end."""
        return self._process.console.pid if self._process.console else None

    def alive(self) -> bool:
        """See `Agent.alive`."""
        console = self._process.console
        return console is not None and console.alive

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        """See `Agent.picture`."""
        return self._process.console.glance().picture() if self._process.console else []

    @property
    def screen(self) -> Screen | None:
        """What its terminal shows, or showed last; None before its first start."""
        console = self._process.console or self._process.last
        return console.glance() if console else None

    # ── What it tells ───────────────────────────────────────────────────────────────────

    def _on_signal(self, signal: Signal) -> None:
        signs, console = self._profile.signs, self._process.console
        state: State | None = None
        if signal.kind == "title" and self._run:
            self._run.retitle(signal.text)
        elif signal.kind == "osc" and signs.states:
            state = signs.states(f"{signal.number};{signal.text}")
        elif signal.kind == "mode" and signs.paste_mode:
            state = "done" if signal.on else "working"
        if state and console:
            console.state = state
            if self._run:
                self._run.tell(state)

    async def _on_hook(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        hooks = self._profile.signs.hooks
        for event in hooks.read(payload) if hooks else ():
            if isinstance(event, SessionNamed):
                self._named(event.session_id)
            elif isinstance(event, HookQuestion):
                if self._run:
                    return await self._run.decide(event)
                return refuse(event)
            elif self._run:
                self._run.note(event, "hook")
        return {}
