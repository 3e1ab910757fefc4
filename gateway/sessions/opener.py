"""Opens one session: its folders, its door to the memory, and its agent's program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import structlog

from adapters.agent import Agent, Launch, MemoryServer, Tools
from adapters.sandbox.account import reachable
from adapters.sandbox.relay import Allowed, Relay
from adapters.session.causes import told_when_full
from contract.chat import Room
from contract.errors import AgentError
from contract.language import later
from gateway.core.ledger import SessionKey
from gateway.core.private_folders import LENT, SCOPES, make_private
from gateway.mcp.endpoint import McpGrant
from gateway.mcp.file_desk import SessionFiles
from gateway.sessions.bounds import Bounds
from gateway.sessions.lent_files import LentFolder
from gateway.sessions.machine_erasures import MachineErasures
from gateway.sessions.sandbox import Confinement, Sandboxing
from gateway.sessions.scope_folders import delete, delete_homes
from gateway.sessions.sessions import (
    AgentProgram,
    LiveSession,
    SessionContext,
    scope_folder,
    session_folder,
)
from gateway.settings.personas.personas import Persona

if TYPE_CHECKING:  # only who has a store of files that machines share needs it
    from gateway.sessions.homes.keeper import HomeKeeper

log = structlog.stdlib.get_logger("moot.sessions")

OPEN_AT_ONCE = 4  # programs that start at the same time; more only slow one another down


class KnownSessions(Protocol):
    """The sessions of an agent that can be resumed."""

    async def agent_session(self, key: SessionKey, agent: str) -> str | None:
        """See SqlLedger."""


class MemoryDoor(Protocol):
    """Lets a session's agent look into the memory."""

    def open(self, admission: McpGrant) -> MemoryServer:
        """Serve a session until it is closed."""

    def tools(self, admission: McpGrant) -> Tools | None:
        """The same for an agent in this process; None: it has none."""

    def close(self, admission: McpGrant) -> None:
        """Forget a session: its address answers no more."""


class SessionOpener(Protocol):
    """Opens sessions wherever their programs run, and closes them."""

    programs: Callable[[str], AgentProgram]

    def apart(self, data_dir: Path) -> SessionOpener:
        """One whose sessions begin again in another folder, work there, and are shown no memory."""

    async def open(self, persona: Persona, key: SessionKey, room: Room) -> LiveSession:
        """Start or resume it. Raises AgentError."""

    async def close(self, live: LiveSession) -> None:
        """End its program; its door answers no more."""

    async def forget(self, scope: str, but: Collection[Path] = ()) -> tuple[str, ...]:
        """Delete what programs recorded of a scope's conversations; returns where it could not be
        done yet: workers, "" for their broker, or a bucket. but: folders of its sessions that live.
        """

    def keep_record(self, live: LiveSession) -> None:
        """An answer of its was posted: its record is kept where other machines find it."""

    def drop_record(self, key: SessionKey) -> None:
        """Nobody goes on with a session: nothing of it is kept there any more."""


class NoSessions:
    """Nothing can be resumed."""

    async def agent_session(self, key: SessionKey, agent: str) -> str | None:
        return None


class Opener:
    """Opens sessions on this machine, and closes them."""

    def __init__(
        self,
        *,
        programs: Callable[[str], AgentProgram],
        ledger: KnownSessions,
        data_dir: Path,
        clock: Callable[[], datetime],
        memory_door: MemoryDoor | None = None,
        sandboxing: Sandboxing | None = None,
        learn: Callable[[Sequence[str]], None] = lambda secrets: None,
        bounds: Callable[[Persona], Bounds] = lambda _: Bounds(),
    ) -> None:
        self.programs = programs
        self._ledger = ledger
        self._data_dir = data_dir
        self._apart = False
        self._clock = clock
        self._memory_door = memory_door
        self._sandboxing = sandboxing
        self._learn = learn
        self._bounds = bounds
        self.elsewhere: MachineErasures | None = None  # machines on which sessions were, too
        self.homes: HomeKeeper | None = None  # None: no other machine goes on with a session
        self._starting = asyncio.Semaphore(OPEN_AT_ONCE)

    def apart(self, data_dir: Path) -> Opener:
        other = copy(self)
        other._data_dir = data_dir
        other._apart = True
        other._ledger = NoSessions()
        other._memory_door = other.homes = None
        return other

    def lending(self, ledger: KnownSessions, memory_door: MemoryDoor | None) -> Opener:
        """One whose sessions are known elsewhere, and so is what they look into."""
        other = copy(self)
        other._ledger, other._memory_door = ledger, memory_door
        return other

    async def open(self, persona: Persona, key: SessionKey, room: Room) -> LiveSession:
        program = self.programs(persona.front.agent)
        admission = McpGrant(key.persona, key.scope)
        launch = await self._launch(persona, key, program, admission)
        bounds, relay = self._bounds(persona), None
        try:
            relay = await _relay(launch, program, bounds)
            sandbox = bounds.around(launch.sandbox, relay)
            launch = replace(launch, sandbox=sandbox, file_bytes=bounds.disk_bytes)
            agent = await self._start(program, launch)
        except BaseException:
            await self._shut(admission, relay)
            raise
        resumed = agent.resumed
        log.info("session.opened", persona=persona.name, agent=program.name, resumed=resumed)
        now = self._clock()
        folder = launch.home.parent
        lent = folder / LENT if program.runs else admission.messages
        files = LentFolder(lent) if lent is not None else None
        return LiveSession(
            key,
            room,
            agent,
            SessionContext(program, files=files, confined=launch.files is not None),
            started_at=now,
            used_at=now,
            workspace=launch.workspace,
            folder=folder,
            enclosed=launch.sandbox is not None,
            account=launch.account,
            relay=relay,
            bounds=bounds,
            kept=launch.session_id,
            admission=admission,
            began_as=persona.start,
        )

    async def _launch(
        self, persona: Persona, key: SessionKey, program: AgentProgram, grant: McpGrant
    ) -> Launch:
        """The start of a session's program: its folders are there, and its endpoint is open."""
        folder = self._data_dir / SCOPES / session_folder(key)
        home = folder / "home"
        with told_when_full(folder):
            make_private(home, below=self._data_dir / SCOPES)
            chosen = None if self._apart else persona.front.workspace or program.workspace
            workspace = _workspace(chosen, folder / "work")
        grant.files = SessionFiles(workspace, home)
        if self._memory_door and not program.runs:
            grant.messages = folder / LENT
        session_id = await self._ledger.agent_session(key, program.name)
        if self.homes is not None:
            await self.homes.bring(key, folder, program, resumes=session_id is not None)
        with told_when_full(folder):
            confined = await self._confinement(persona, program, folder, workspace)
        return Launch(
            home=home,
            workspace=workspace,
            persona=persona.body,
            model=persona.front.model,
            session_id=session_id,
            login=persona.front.login and persona.front.login.expanduser(),
            driver=persona.front.driver,
            mode=persona.mode,
            memory=self._memory(grant, confined) if program.runs else None,
            tools=self._memory_door.tools(grant)
            if self._memory_door and not program.runs
            else None,
            sandbox=confined.sandbox,
            account=confined.account,
            files=folder / LENT if confined else None,
            learn=self._learn,
        )

    async def _confinement(
        self, persona: Persona, program: AgentProgram, folder: Path, workspace: Path
    ) -> Confinement:
        """The session's sandbox or account; neither for an agent that runs no program."""
        if self._sandboxing is None or not program.runs:
            return Confinement()
        return await self._sandboxing.of(persona, folder, workspace)

    def _memory(self, grant: McpGrant, confined: Confinement) -> MemoryServer | None:
        """The session's look into the memory, unless its account can't run the server."""
        if self._memory_door is None:
            return None
        server = self._memory_door.open(grant)
        needs = (Path(server.command[0]), *server.reads)
        if confined.account is None or reachable(needs):
            return server
        self._memory_door.close(grant)
        log.warning("memory.not_reached", persona=grant.persona)
        return None

    async def _start(self, program: AgentProgram, launch: Launch) -> Agent:
        """The program, resumed if it can be."""
        async with self._starting if program.runs else nullcontext():
            try:
                return await program.open(launch)
            except AgentError as error:
                if launch.session_id is None or error.kind != "startup":
                    raise
                log.warning("session.not_resumed", agent=program.name, reason=str(error))
                return await program.open(replace(launch, session_id=None))

    async def close(self, live: LiveSession) -> None:
        await self._shut(live.admission, live.relay)
        await live.agent.close()
        if live.forgotten:
            await asyncio.to_thread(delete, live.folder / "home")

    async def forget(self, scope: str, but: Collection[Path] = ()) -> tuple[str, ...]:
        folder = self._data_dir / SCOPES / scope_folder(scope)
        elsewhere = self.elsewhere
        async with elsewhere.forgetting(scope, self._clock()) if elsewhere else nullcontext():
            await asyncio.to_thread(delete_homes, folder, but)
            return await self.homes.forget(scope) if self.homes is not None else ()

    def keep_record(self, live: LiveSession) -> None:
        if self.homes is not None:
            self.homes.keep(live)

    def drop_record(self, key: SessionKey) -> None:
        if self.homes is not None:
            self.homes.drop(key)

    async def _shut(self, admission: McpGrant, relay: Relay | None) -> None:
        if self._memory_door:
            self._memory_door.close(admission)
        if relay:
            await relay.close()


async def _relay(launch: Launch, program: AgentProgram, bounds: Bounds) -> Relay | None:
    """The way out of a sandbox without a network."""
    if launch.sandbox is None or launch.sandbox.network != "none":
        return None
    hosts = program.hosts | {Allowed.parse(host) for host in bounds.hosts}
    return await Relay.open(hosts, program.upstream)


def _workspace(configured: Path | None, own: Path) -> Path:
    """The configured working directory, which must be there, or the scope's own."""
    if configured is None:
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        return own
    workspace = configured.expanduser().absolute()
    if not workspace.is_dir():
        line = later(
            "My working directory {workspace} is not there; `workspace` names it.",
            workspace=workspace,
        )
        raise AgentError("startup", f"no workspace {workspace}", say=line)
    return workspace
