"""The driver without a terminal: a session with an agent that speaks the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import structlog
from acp.exceptions import RequestError
from acp.schema import RequestPermissionRequest, SessionNotification
from pydantic import ValidationError

from adapters.acp.fault import fault_of, login_of, text_of
from adapters.acp.peer import AUTH_REQUIRED, AcpPeer, AcpPlace, Json, ProtocolMismatch
from adapters.acp.profile_over_acp import acp_command, acp_profile, settings_differ
from adapters.acp.question import CANCELLED
from adapters.acp.run import AcpRun
from adapters.acp.turn import lines_of
from adapters.agent import ACP_SESSION, Launch, MemoryServer, Reply
from adapters.cli.run import EXIT_S
from adapters.cli.session import PARTIAL_S
from adapters.cli_profile import Profile, Setting
from adapters.sandbox.enclosure import enclose
from adapters.session.startup import prepare, setting_of
from contract.agent import Answer
from contract.errors import AgentError

log = structlog.stdlib.get_logger("moot.adapters.acp")

TOLD = "Your instructions, from the administrator of this room:\n\n"


class AcpAgent:
    """One session of one profile's program: an `Agent`.

    Like `CliAgent` it starts its program with the first `ask` (or `start`), starts it again after
    a crash, and goes on in the session where the program can. An id of `launch.session_id` that
    is of another driver begins a session anew.
    """

    def __init__(self, profile: Profile, launch: Launch) -> None:
        known = launch.session_id or ""
        self.session_id: str | None = known if known.startswith(ACP_SESSION) else None
        self.resumed = False
        self._profile = acp_profile(profile)
        self._launch = replace(launch, command=acp_command(profile, launch.command))
        self._session = self.session_id.removeprefix(ACP_SESSION) if self.session_id else ""
        self._peer: AcpPeer | None = None
        self._ready = False
        self._untold = ""  # of the persona: the program has no other way to be given it
        self._exchange: AcpRun | None = None
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
        self._exchange = None
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
        assert self._peer
        texts = [self._untold, prompt] if self._untold else [prompt]
        self._untold = ""
        self._exchange = AcpRun(self._profile, self._peer, self._session, texts, reply)
        try:
            return await self._exchange.run()
        except AgentError as error:
            if error.kind in self._profile.ends_at:
                await self._end()
            if self._exchange.turn.circles():  # told to stop, it would go on with the next prompt
                await self._end()
                self._session, self.session_id = "", None
            raise

    def _leave(self) -> None:
        """The ask is over: break off what it left unfinished."""
        self._asking = None
        self._begin_settling()
        self._asked.set()

    def _begin_settling(self) -> None:
        """Have the program stop in the background, or end what never became ready."""
        exchange = self._exchange if self._exchange and self._exchange.unfinished() else None
        half_started = self._peer is not None and not self._ready
        if not self._settling and (exchange or half_started):
            name = f"break-off-{self._session}"
            self._settling = asyncio.create_task(self._settle(exchange), name=name)

    async def _break_off(self) -> None:
        """Have it stop, and wait a little for what it still had to say."""
        self._begin_settling()
        if self._settling:
            await asyncio.wait({self._settling}, timeout=PARTIAL_S)

    async def _settle(self, exchange: AcpRun | None) -> None:
        """Have the program stop; end it when it does not."""
        if exchange:
            if await exchange.break_off():
                return
            log.warning("program.not_idle", agent=self._profile.name, after="cancel")
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
        if self.alive() and self._ready:
            return
        await self._end()
        if self._session:
            try:
                await self._launch_program(self._session)
            except AgentError as error:
                if error.kind != "startup":
                    raise
                log.warning("session.anew", agent=self._profile.name, reason=error)
            else:
                return
        await self._launch_program("")

    async def _launch_program(self, session_id: str) -> None:
        profile, launch = self._profile, self._launch
        setting = setting_of(profile, launch, session_id, resumes=False, hook_url="")
        began = time.monotonic()
        try:
            self._peer = await AcpPeer.start(
                enclose(profile, launch, prepare(profile, launch, setting)),
                AcpPlace(launch.workspace, self._untold_memory(setting)),
                on_update=self._on_update,
                on_permission=self._on_permission,
            )
        except OSError as error:
            say = f"{profile.title} could not be started: {error.strerror}."
            raise AgentError("startup", f"{profile.name}: {error}", say=say) from error
        try:
            await self._open(self._peer, session_id)
        except AgentError:
            await self._end()
            raise
        self._ready = True
        told = not launch.persona or settings_differ(profile, setting, replace(setting, persona=""))
        self._untold = "" if told else f"{TOLD}{launch.persona}"
        log.info("program.ready", agent=profile.name, in_s=round(time.monotonic() - began, 2))

    def _untold_memory(self, setting: Setting) -> MemoryServer | None:
        """The memory's server, unless files tell of it: these may say that nobody is asked."""
        profile = self._profile
        told = profile.memory or settings_differ(profile, setting, replace(setting, memory=None))
        return None if told else setting.memory

    async def _open(self, peer: AcpPeer, session_id: str) -> None:
        """Greet the program and enter a session. Raises AgentError."""
        profile, limit_s = self._profile, self._profile.ready.timeout_s
        try:
            async with asyncio.timeout(limit_s):
                await self._enter(peer, session_id)
        except TimeoutError:
            raise self._unready(f"did not become ready within {limit_s:.0f} s", peer) from None
        except ConnectionError:
            await asyncio.wait({peer.talk.ended}, timeout=EXIT_S)
            how = f"ended while it was starting (code {peer.talk.code})"
            raise self._unready(how, peer) from None
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                raise login_of(profile) from None
            fault = fault_of(error, profile)
            kind = fault.kind if fault.kind == "login" else "startup"
            raise AgentError(kind, str(fault), say=fault.say) from None
        except (ProtocolMismatch, ValidationError):
            raise self._unready("speaks another version of the protocol", peer) from None

    async def _enter(self, peer: AcpPeer, session_id: str) -> None:
        await peer.greet()
        session = await self._resumed(peer, session_id) if session_id else None
        self.resumed = session is not None
        if session is None:
            session = await peer.begin()
            self._session = str(session.get("sessionId") or "")
            self.session_id = f"{ACP_SESSION}{self._session}"
        model = self._launch.model
        if model and not await self._chose(peer, session, model):
            log.info("model.not_offered", agent=self._title, model=model)

    async def _resumed(self, peer: AcpPeer, session_id: str) -> Json | None:
        try:
            return await peer.resume(session_id)
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                raise
            log.warning("session.not_resumed", agent=self._profile.name, code=error.code)
            log.debug("session.refused", agent=self._profile.name, reason=text_of(error))
            return None

    async def _chose(self, peer: AcpPeer, session: Json, model: str) -> bool:
        try:
            return await peer.choose_model(self._session, session, model)
        except RequestError as error:
            log.warning("model.not_chosen", agent=self._profile.name, code=error.code)
            return True

    def _unready(self, how: str, peer: AcpPeer) -> AgentError:
        shown = peer.talk.complaint()
        say = f"{self._title} {how}" + (f": {shown}" if shown else ".")
        return AgentError("startup", f"{self._profile.name}: {how}", say=say)

    async def _end(self) -> None:
        """End the program if one runs."""
        peer, self._peer, self._ready = self._peer, None, False
        if peer:
            await peer.close()

    async def close(self) -> None:
        """See `Agent.close`."""
        await self.interrupt()
        if self._settling:
            self._settling.cancel()
            await asyncio.wait({self._settling})
        await self._end()

    @property
    def pid(self) -> int | None:
        """The program's process id, None before its start and after its end."""
        return self._peer.talk.pid if self._peer else None

    def alive(self) -> bool:
        """See `Agent.alive`."""
        return self._peer is not None and self._peer.alive()

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        """What it did and said in this turn or the one before, as far as it fits."""
        if self._exchange is None:
            return []
        cols, rows = self._launch.cols, self._launch.rows
        lines = lines_of(self._exchange.turn)
        cut = [line[at : at + cols] for line in lines for at in range(0, len(line) or 1, cols)]
        return [[(row, "")] for row in cut[-rows:]]

    # ── What it tells ───────────────────────────────────────────────────────────────────

    def _on_update(self, told: SessionNotification) -> None:
        if self._exchange and self._exchange.unfinished():
            self._exchange.note(told)

    async def _on_permission(self, request: RequestPermissionRequest) -> Json:
        if self._exchange and self._exchange.unfinished():
            return await self._exchange.decide(request)
        return CANCELLED
