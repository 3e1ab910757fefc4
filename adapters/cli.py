"""The driver: a living session with a command-line agent in a pseudo-terminal."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.agent import Launch, Reply
from adapters.console import Console
from adapters.exchange import Exchange
from adapters.hooks import HookListener
from adapters.permission import refuse
from adapters.profiles.profile import Asked, Named, Profile, Setting, State
from adapters.record import Follower, follow
from adapters.signals import Signal
from adapters.startup import prepare, setting_of, wait_ready
from contract import AgentError, Answer

log = logging.getLogger("moot.adapters.cli")

PASTE_MODE = 2004
PARTIAL_S = 0.7  # `interrupt` has a second
SESSION_ID = re.compile(r"\w[\w.:-]{0,127}", re.ASCII)
PAST_TURNS = 16  # ids of turns whose late events are dropped


class CliAgent:
    """One session of one profile's program: an `Agent`.

    The program starts with the first `ask` (or `start`), is resumed after a crash, and lives
    until `close`. hooks: the shared listener, for profiles with hooks. Who makes it closes it.
    """

    def __init__(self, profile: Profile, launch: Launch, hooks: HookListener | None = None) -> None:
        self.session_id = launch.session_id
        self.resumed = False
        self._profile = profile
        self._launch = launch
        self._hooks = hooks
        self._hook_url = ""
        self._console: Console | None = None
        self._ready = False
        self._follower: Follower | None = None
        self._exchange: Exchange | None = None
        self._past: list[str] = []
        self._asking: asyncio.Task[Any] | None = None
        self._stopping = False
        self._asked = asyncio.Event()  # no ask runs
        self._asked.set()
        self._settling: asyncio.Task[None] | None = None

    # ── Asking ──────────────────────────────────────────────────────────────────────────

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        """See `Agent.ask`."""
        limit_s = self._profile.turn_timeout_s
        task = self._asking = asyncio.current_task()
        assert task
        self._stopping = False
        self._asked.clear()
        try:
            async with asyncio.timeout(limit_s):
                return await self._ask(prompt, reply)
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
        await self._settled()
        await self.start()
        assert self._console
        self._exchange = Exchange(
            self._profile,
            self._console,
            self._follower,
            prompt,
            reply,
            past=self._past,
            on_named=self._named,
        )
        try:
            return await self._exchange.run()
        except AgentError as error:
            if error.kind in self._profile.stale_after:
                await self._end()
            raise

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

    async def _settle(self, exchange: Exchange) -> None:
        """Interrupt the program; end it when it does not become idle."""
        try:
            idle = await exchange.break_off()
        finally:
            if not self._asking:
                self._exchange = None
        if not idle:
            level = logging.DEBUG if self._profile.interrupt.ends else logging.WARNING
            log.log(level, "%s: not idle after an interrupt; ending it", self._profile.name)
            await self._end()

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
    def _title(self) -> str:
        return self._profile.title

    def _fault(self, kind: Any, message: str, say: str) -> AgentError:
        partial = self._exchange.partial() if self._exchange else ""
        return AgentError(kind, f"{self._profile.name}: {message}", say=say, partial=partial)

    # ── The program ─────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Start the program unless it runs; return when it takes a prompt. Raises AgentError."""
        if self._console and self._console.alive():
            if not self._ready:
                await self._wait_ready()
            return
        await self._end()
        if self.session_id and self._profile.resume:
            try:
                await self._launch_program(self.session_id, resumes=True)
            except AgentError as error:
                if error.kind != "startup" or self.alive():
                    raise
                log.warning("%s: %s; beginning anew", self._profile.name, error)
                await self._end()
            else:
                self.resumed = True
                return
        self.resumed = False
        chosen = str(uuid.uuid4()) if self._profile.chooses_id else ""
        await self._launch_program(chosen, resumes=False)
        self.session_id = chosen or None

    async def _launch_program(self, session_id: str, *, resumes: bool) -> None:
        profile, launch = self._profile, self._launch
        if self._hooks and profile.signs.hooks and not self._hook_url:
            self._hook_url = self._hooks.register(self._on_hook)
        setting = setting_of(profile, launch, session_id, resumes=resumes, hook_url=self._hook_url)
        began = time.monotonic()
        console = Console(launch.cols, launch.rows, self._on_signal, shell=profile.shell_terminal)
        try:
            command = prepare(profile, launch, setting)
            console.start(command.argv, command.env, command.cwd)
        except OSError as error:
            say = f"{profile.title} could not be started: {error.strerror}."
            raise AgentError("startup", f"{profile.name}: {error}", say=say) from error
        self._console, self._ready = console, False
        self._follower = self._follow(setting)
        await self._wait_ready()
        log.info("%s: ready after %.2f s", profile.name, time.monotonic() - began)

    async def _wait_ready(self) -> None:
        assert self._console
        try:
            await wait_ready(self._profile, self._console)
        except AgentError:
            await self._end()
            raise
        self._ready = True

    def _follow(self, setting: Setting) -> Follower | None:
        record = self._profile.signs.record
        if record is None:
            return None
        known = replace(setting, session_id=setting.session_id or "*")
        return follow(record, self._launch.home, known.fill(record.glob))

    def _named(self, session_id: str) -> None:
        """The program told the id of its session."""
        if session_id == self.session_id:
            return
        if not SESSION_ID.fullmatch(session_id):  # it becomes part of a glob and of an argv
            log.warning("%s: not a session's id: %r", self._profile.name, session_id[:80])
            return
        self.session_id = session_id
        record = self._profile.signs.record
        if record and "{session_id}" in record.glob:
            setting = setting_of(
                self._profile, self._launch, session_id, resumes=False, hook_url=""
            )
            self._follower = self._follow(setting)
            if self._exchange:
                self._exchange.follower = self._follower

    async def _end(self) -> None:
        """End the program if one runs."""
        console, self._console, self._ready = self._console, None, False
        if console:
            await console.close()

    async def close(self) -> None:
        """See `Agent.close`."""
        await self.interrupt()
        if self._settling:
            self._settling.cancel()
            await asyncio.wait({self._settling})
        await self._end()
        if self._hooks and self._hook_url:
            self._hooks.release(self._hook_url)
            self._hook_url = ""

    def waiting_bytes(self) -> int:
        """How much of its output is kept without being drawn yet."""
        return self._console.waiting_bytes if self._console else 0

    @property
    def pid(self) -> int | None:
        """The program's process id, None before its start and after its end."""
        return self._console.pid if self._console else None

    def alive(self) -> bool:
        """See `Agent.alive`."""
        return self._console is not None and self._console.alive()

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        """See `Agent.picture`."""
        return self._console.glance().picture() if self._console else []

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
        if state and self._console:
            self._console.state = state
            if self._exchange:
                self._exchange.tell(state)

    async def _on_hook(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        hooks = self._profile.signs.hooks
        for event in hooks.read(payload) if hooks else ():
            if isinstance(event, Named):
                self._named(event.session_id)
            elif isinstance(event, Asked):
                if self._exchange:
                    return await self._exchange.decide(event)
                return refuse(event)
            elif self._exchange:
                self._exchange.note(event, "hook")
        return {}
