"""The agents' living sessions: one a persona and scope, each with its own HOME and workspace."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from adapters.agent import Agent, Driver, Launch
from contract import AgentError, Room
from gateway.ledger import Ended, Ledger
from gateway.memory_door import Admission, MemoryDoor
from gateway.personas import Persona

log = logging.getLogger("moot.sessions")

OPEN_AT_ONCE = 4  # programs that start at the same time; more only slow one another down


@dataclass(frozen=True, slots=True)
class Program:
    """What a persona's `agent` stands for.

    title: for people; agent: for the header, e.g. "Claude Code CLI agent". hint: how to get it
    when it is not available. open: starts a session. typed: its prompts are typed, into a terminal
    that may take an `@` for a file; else they go as they are.
    """

    name: str
    title: str
    agent: str
    available: bool
    hint: str
    open: Callable[[Launch], Awaitable[Agent]]
    workspace: Path | None = None
    context_tokens: int | None = None
    typed: bool = True


@dataclass(slots=True)
class Live:
    """A living session.

    given: seq of the newest message that the agent was told of; given_from: of the oldest.
    """

    persona: str
    scope: str
    room: Room
    program: Program
    agent: Agent
    started_at: datetime
    workspace: Path = Path()
    given: int = 0
    given_from: int = 0
    state: Literal["idle", "working"] = "idle"
    retire: bool = False  # somebody said !new: its next turn begins a session of its own
    kept: str | None = None  # the agent's session id as the ledger has it
    admission: Admission = field(default_factory=Admission)
    driver: Driver | None = None  # the persona's, when it began
    compacted: bool = False  # its program has forgotten some of it, and got no summary since
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def usable_by(self, persona: Persona) -> bool:
        """Whether the persona's next turn can go on in this session."""
        front = persona.front
        same = (self.program.name, self.driver) == (front.agent, front.driver)
        return same and self.agent.alive() and not self.retire


class Sessions(Protocol):
    """What the middle asks for agents; workers on other machines could serve it."""

    async def live(self, persona: Persona, scope: str, room: Room) -> Live:
        """The session, started or resumed if it doesn't run. Raises AgentError."""

    async def keep(self, live: Live) -> None:
        """Remember that it was used, and the agent's session id, to resume it after a restart."""

    async def interrupt(self, persona: str, scope: str) -> bool:
        """Break off what it does; False when it does nothing."""

    async def renew(self, persona: str, scope: str) -> Ended | None:
        """Let the next turn begin a new session; the one that ends by this, if there was one."""


class LocalSessions:
    """Sessions that run on this machine."""

    def __init__(
        self,
        *,
        programs: Callable[[str], Program],
        ledger: Ledger,
        data_dir: Path,
        clock: Callable[[], datetime],
        memory_door: MemoryDoor | None = None,
    ) -> None:
        self._memory_door = memory_door
        self._programs = programs
        self._ledger = ledger
        self._data_dir = data_dir
        self._clock = clock
        self._live: dict[tuple[str, str], Live] = {}
        self._opening: dict[tuple[str, str], asyncio.Future[Live]] = {}
        self._starting = asyncio.Semaphore(OPEN_AT_ONCE)

    def program(self, persona: Persona) -> Program:
        """What the persona's `agent` stands for now."""
        return self._programs(persona.front.agent)

    def all(self) -> list[Live]:
        """The sessions that live now."""
        return [live for live in self._live.values() if live.agent.alive()]

    async def live(self, persona: Persona, scope: str, room: Room) -> Live:
        key = (persona.name, scope)
        live = self._live.get(key)
        if live is not None and live.usable_by(persona):
            return live
        if live is not None:
            del self._live[key]
            await self._close(live)
        self._live[key] = live = await self._open_unless_stopped(key, persona, room)
        return live

    async def _open_unless_stopped(
        self, key: tuple[str, str], persona: Persona, room: Room
    ) -> Live:
        opening = self._opening[key] = asyncio.ensure_future(self._open(persona, key[1], room))
        try:
            return await opening
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise AgentError("stopped", "stopped while it started", say="Stopped.") from None
        finally:
            del self._opening[key]

    async def _open(self, persona: Persona, scope: str, room: Room) -> Live:
        program = self._programs(persona.front.agent)
        folder = self._data_dir / "scopes" / scope_folder(scope) / persona.name
        home = folder / "home"
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        workspace = _workspace(persona.front.workspace or program.workspace, folder / "work")
        session_id = await self._ledger.agent_session(persona.name, scope, program.name)
        admission = Admission(persona.name, scope)
        launch = Launch(
            home=home,
            workspace=workspace,
            persona=persona.body,
            model=persona.front.model,
            session_id=session_id,
            login=persona.front.login and persona.front.login.expanduser(),
            driver=persona.front.driver,
            memory=self._memory_door.open(admission) if self._memory_door else None,
        )
        try:
            agent = await self._start(program, launch)
        except BaseException:
            self._shut(admission)
            raise
        log.info(
            "session.opened persona=%s agent=%s resumed=%s",
            persona.name,
            program.name,
            agent.resumed,
        )
        return Live(
            persona.name,
            scope,
            room,
            program,
            agent,
            self._clock(),
            workspace,
            kept=session_id,
            admission=admission,
            driver=persona.front.driver,
        )

    async def _start(self, program: Program, launch: Launch) -> Agent:
        """The program, resumed if it can be."""
        async with self._starting:
            try:
                return await program.open(launch)
            except AgentError as error:
                if launch.session_id is None or error.kind != "startup":
                    raise
                log.warning("session.not_resumed agent=%s reason=%r", program.name, str(error))
                return await program.open(replace(launch, session_id=None))

    async def _close(self, live: Live) -> None:
        self._shut(live.admission)
        await live.agent.close()

    def _shut(self, admission: Admission) -> None:
        if self._memory_door:
            self._memory_door.close(admission)

    async def keep(self, live: Live) -> None:
        if live.retire:
            return
        session_id = live.agent.session_id
        used = (live.persona, live.scope, live.program.name, session_id, self._clock())
        if session_id in (None, live.kept):
            self._ledger.use_session(*used)
        else:
            live.kept = session_id
            await self._ledger.keep_session(*used)

    async def interrupt(self, persona: str, scope: str) -> bool:
        if (opening := self._opening.get((persona, scope))) is not None:
            return opening.cancel()
        live = self._live.get((persona, scope))
        if live is None or live.state != "working":
            return False
        await live.agent.interrupt()
        return True

    async def renew(self, persona: str, scope: str) -> Ended | None:
        live = self._live.get((persona, scope))
        if live is not None:
            live.retire = True
        return await self._ledger.retire_session(persona, scope)

    async def close(self) -> None:
        """End every program."""
        lives = [self._live.pop(key) for key in list(self._live)]
        await asyncio.gather(*(self._close(live) for live in lives))


def _workspace(configured: Path | None, own: Path) -> Path:
    """The configured working directory, which must be there, or the scope's own."""
    if configured is None:
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        return own
    workspace = configured.expanduser().absolute()
    if not workspace.is_dir():
        say = f"My working directory {workspace} is not there; `workspace` names it."
        raise AgentError("startup", f"no workspace {workspace}", say=say)
    return workspace


def scope_folder(scope: str) -> str:
    """A folder's name for a scope: readable, and unlike that of any other scope."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", scope).strip("-")[:40]
    return f"{readable}-{hashlib.sha256(scope.encode()).hexdigest()[:16]}"
