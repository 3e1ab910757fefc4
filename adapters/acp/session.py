"""The driver without a terminal: a session with an agent that speaks the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import structlog
from acp.exceptions import RequestError
from acp.schema import RequestPermissionRequest, SessionNotification
from pydantic import ValidationError

from adapters.acp.fault import fault_of, login_of, text_of
from adapters.acp.peer import AUTH_REQUIRED, AcpPeer, AcpPlace, Json, ProtocolMismatch
from adapters.acp.question import CANCELLED
from adapters.acp.run import AcpRun
from adapters.acp.turn import AcpTurn, lines_of
from adapters.agent import ACP_SESSION, Launch, MemoryServer, Reply
from adapters.cli_profile import Profile, Setting
from adapters.images import Picture, pictures_of
from adapters.sandbox.enclosure import enclose
from adapters.session.causes import exit_of, not_started, with_its_words
from adapters.session.login import give_back
from adapters.session.session import EXIT_S, AgentSession
from adapters.session.startup import prepare, setting_of
from adapters.session.version import complains_of_option
from contract.agent import Answer
from contract.errors import AgentError
from contract.language import later, phrase

log = structlog.stdlib.get_logger("moot.adapters.acp")

TOLD = "Your instructions, from the administrator of this room:\n\n"


class AcpAgent(AgentSession[AcpRun]):
    """One session of one profile's program: an `Agent`.

    Like `CliAgent` it starts its program with the first `ask` (or `start`), starts it again after
    a crash, and goes on in the session where the program can. An id of `launch.session_id` that
    is of another driver begins a new session.
    """

    def __init__(self, profile: Profile, launch: Launch) -> None:
        super().__init__(profile.name, profile.title)
        known = launch.session_id or ""
        self.session_id: str | None = known if known.startswith(ACP_SESSION) else None
        self.resumed = False
        self._profile = acp_profile(profile)
        self._launch = replace(launch, command=acp_command(profile, launch.command))
        self._session = self.session_id.removeprefix(ACP_SESSION) if self.session_id else ""
        self._peer: AcpPeer | None = None
        self._untold = ""  # of the persona: the program has no other way to be given it
        self._turn: AcpTurn | None = None  # of the newest run, for `picture`

    # ── Asking ──────────────────────────────────────────────────────────────────────────

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        """See `Agent.ask`."""
        self._turn = None
        return await self._within(self._profile.signs.timeout_s, self._ask(prompt, reply))

    async def _ask(self, prompt: str, reply: Reply) -> Answer:
        await self._settled()
        await self.start()
        assert self._peer
        parts: list[str | Picture] = [self._untold, prompt] if self._untold else [prompt]
        if self.looks:
            parts += await pictures_of(reply.occasion.pictures)
        self._untold = ""
        run = AcpRun(self._profile, self._peer, self._session, parts, reply)
        self._run, self._turn = run, run.turn
        try:
            return await run.run()
        except AgentError as error:
            if error.kind in self._profile.signs.ends_at:
                await self._end()
            if run.turn.circles():  # told to stop, it would go on with the next prompt
                await self._end()
                self._session, self.session_id = "", None
            raise

    def _rest(self) -> None:
        give_back(self._profile, self._launch)

    # ── The program ─────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Start the program unless it runs; return when it takes a prompt. Raises AgentError."""
        if self.alive() and not self._half_started:
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
            command = enclose(profile, launch, prepare(profile, launch, setting))
            self._peer = await AcpPeer.start(
                command,
                AcpPlace(launch.workspace, self._untold_memory(setting)),
                on_update=self._on_update,
                on_permission=self._on_permission,
            )
        except OSError as error:
            say = not_started(profile, error)
            raise AgentError("startup", f"{profile.name}: {error}", say=say) from error
        self._half_started = True
        try:
            await self._open(self._peer, session_id)
        except AgentError as error:
            await self._end()
            if complains_of_option(profile, command.argv, error.say):
                await self._launch_program(session_id)
                return
            raise
        self._half_started = False
        told = not launch.persona or settings_differ(profile, setting, replace(setting, persona=""))
        self._untold = "" if told else f"{TOLD}{launch.persona}"
        log.info("program.ready", agent=profile.name, in_s=round(time.monotonic() - began, 2))

    def _untold_memory(self, setting: Setting) -> MemoryServer | None:
        """The memory's server, unless files tell of it: these may say that nobody is asked."""
        profile = self._profile
        told = profile.environment.memory or settings_differ(
            profile, setting, replace(setting, memory=None)
        )
        return None if told else setting.memory

    async def _open(self, peer: AcpPeer, session_id: str) -> None:
        """Greet the program and enter a session. Raises AgentError."""
        profile, limit_s = self._profile, self._profile.program.ready.timeout_s
        try:
            async with asyncio.timeout(limit_s):
                await self._enter(peer, session_id)
        except TimeoutError:
            message = f"did not become ready within {limit_s:.0f} s"
            english = phrase("{title} did not become ready within {seconds} s")
            raise self._unready(message, peer, english, seconds=f"{limit_s:.0f}") from None
        except ConnectionError:
            await asyncio.wait({peer.talk.ended}, timeout=EXIT_S)
            message = f"ended while it was starting (code {peer.talk.code})"
            english = phrase("{title} ended while it was starting ({code})")
            code = exit_of(peer.talk.code)
            raise self._unready(message, peer, english, code=code) from None
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                raise login_of(profile) from None
            fault = fault_of(error, profile)
            kind = fault.kind if fault.kind == "login" else "startup"
            raise AgentError(kind, str(fault), say=fault.phrase) from None
        except (ProtocolMismatch, ValidationError):
            message = "speaks another version of the protocol"
            english = phrase("{title} speaks another version of the protocol")
            raise self._unready(message, peer, english) from None

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

    def _unready(self, message: str, peer: AcpPeer, english: str, **values: object) -> AgentError:
        what = later(english, title=self._title, **values)
        say = with_its_words(what, peer.talk.complaint())
        return AgentError("startup", f"{self._profile.name}: {message}", say=say)

    async def _end(self) -> None:
        peer, self._peer, self._half_started = self._peer, None, False
        if peer:
            await peer.close()

    @property
    def pid(self) -> int | None:
        """The program's process id, None before its start and after its end."""
        return self._peer.talk.pid if self._peer else None

    def alive(self) -> bool:
        """See `Agent.alive`."""
        return self._peer is not None and self._peer.alive()

    @property
    def looks(self) -> bool:
        """True when the program that runs takes pictures beside a prompt."""
        return self._peer is not None and self._peer.looks

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        """Its words and deeds in this turn or the one before, as far as they fit."""
        if self._turn is None:
            return []
        cols, rows = self._launch.cols, self._launch.rows
        lines = lines_of(self._turn)
        cut = [line[at : at + cols] for line in lines for at in range(0, len(line) or 1, cols)]
        return [[(row, "")] for row in cut[-rows:]]

    # ── What it tells ───────────────────────────────────────────────────────────────────

    def _on_update(self, told: SessionNotification) -> None:
        if self._run and self._run.unfinished():
            self._run.note(told)

    async def _on_permission(self, request: RequestPermissionRequest) -> Json:
        if self._run and self._run.unfinished():
            return await self._run.decide(request)
        return CANCELLED


def acp_profile(profile: Profile) -> Profile:
    """The profile whose program is the one that speaks the protocol, without the other's argv."""
    acp, environment = profile.acp, profile.environment
    program = replace(
        profile.program, begin=acp.command, resume=(), options=acp.options, chooses_id=False
    )
    if environment.memory and environment.memory.options:
        environment = replace(environment, memory=None)
    return replace(profile, program=program, environment=environment)


def acp_command(profile: Profile, command: Sequence[str]) -> Sequence[str]:
    """An administrator's command for the profile, over this protocol.

    Where another program of the same folder speaks it (`vibe-acp` beside `vibe`), that is meant.
    """
    own, spoken = profile.program.begin[0], profile.acp.command[0]
    if len(command) == 1 and Path(command[0]).name == own != spoken:
        return (str(Path(command[0]).with_name(spoken)),)
    return command


def settings_differ(profile: Profile, one: Setting, other: Setting) -> bool:
    """True when the program's files or variables tell it the difference."""
    files, env = profile.environment.files, profile.environment.env
    return any(file.text(one, "") != file.text(other, "") for file in files) or any(
        one.fill(value) != other.fill(value) for _, value in env
    )
