"""The agents' living sessions: one a persona and scope, each with its own HOME and workspace; and
the model that people chose for one."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from sqlalchemy import Connection, delete, select

from adapters.agent import Agent, Compacting, Launch
from adapters.sandbox.relay import Allowed, Relay
from contract.chat import Room, Speaker
from contract.errors import AgentError
from gateway.core.ledger import UnusedSession
from gateway.mcp.endpoint import McpGrant
from gateway.sessions.bounds import Bounds
from gateway.settings.personas.personas import Persona
from store.database import Store
from store.gateway_schema import room_settings, schedules
from store.timestamps import micros


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """A program that a persona's `agent` stands for.

    title: for people; agent: for the header, e.g. "Claude Code CLI agent". hint: how to get it
    when it is not available. open: starts a session. resumes: a session that was ended can be
    gone on with. typed: its prompts are typed, into a terminal that may take an `@` for a file;
    else they go as they are. takes_model: it can be told a model's name. runs: it is a program on
    this machine, not an API. own_model: its word for the model that it works with when it is told
    none, where a conversation that goes on keeps the last one else. hosts: those that it needs in a
    sandbox without a network. upstream: the proxy behind which they are, if they are behind one.
    prepare: loads what its first session would have to wait for; None: nothing.
    """

    name: str
    title: str
    agent: str
    available: bool
    hint: str
    open: Callable[[Launch], Awaitable[Agent]]
    workspace: Path | None = None
    context_tokens: int | None = None
    resumes: bool = True
    typed: bool = True
    takes_model: bool = True
    runs: bool = True
    own_model: str = ""
    hosts: frozenset[Allowed] = frozenset()
    upstream: str = ""
    prepare: Callable[[], Coroutine[Any, Any, None]] | None = None


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The facts that decide which part of a conversation an agent's next prompt has to hold.

    given_from, given: seqs of the oldest and the newest message that the agent was given; 0: none
    yet. compacted: its program has condensed what it knew, and was given no summary since. files:
    the folder in which its program finds what it is to open; None: it opens no files. confined: it
    sees attachments only as copies in that folder.
    rehearses: the question is stored nowhere and nobody learns of it: a preview or a dry run.
    """

    program: AgentProgram
    given_from: int = 0
    given: int = 0
    compacted: bool = False
    files: Path | None = None
    confined: bool = False
    rehearses: bool = False


Waits = Callable[[], Awaitable[None]]
"""Told once when a session has to wait until another one may be put to sleep."""


@dataclass(slots=True)
class LiveSession:
    """A living session.

    folder: of its HOME and all that is its own. enclosed: it runs in a sandbox; relay: its way out,
    where that has no network. account: the one that it runs under,
    of its own. bounds: what it may take of the machine. turns: taken since it began.
    users: how many use it now; used_at: when the last of them left.
    """

    persona: str
    scope: str
    room: Room
    agent: Agent
    context: SessionContext
    started_at: datetime
    used_at: datetime
    workspace: Path = Path()
    folder: Path = Path()
    enclosed: bool = False
    account: int | None = None
    relay: Relay | None = None
    bounds: Bounds = field(default_factory=Bounds)
    turns: int = 0
    state: Literal["idle", "working"] = "idle"
    retire: bool = False  # somebody said !new: its next turn begins a session of its own
    kept: str | None = None  # the agent's session id as the ledger has it
    admission: McpGrant = field(default_factory=McpGrant)
    began_as: tuple[object, ...] = ()  # see Persona.start
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0

    @contextmanager
    def working(self, oldest: int = 0, newest: int = 0) -> Iterator[None]:
        """The agent works within the block, on a prompt that holds the messages from one seq to
        another; 0: none."""
        self.state = "working"
        try:
            yield
        finally:
            self.state = "idle"
            held = self.context
            self.context = replace(
                held, given_from=held.given_from or oldest, given=max(held.given, newest)
            )

    def answered(self, *, taken: bool, compacted: bool, summarised: bool) -> None:
        """A prompt was answered. taken: it was not refused as too long, after which the agent knows
        nothing for sure. summarised: the prompt held a summary."""
        held = self.context
        if not taken:
            held = replace(held, given_from=0, given=0)
        self.context = replace(held, compacted=compacted or (held.compacted and not summarised))

    def usable_by(self, persona: Persona) -> bool:
        """True if the persona's next turn can go on in this session."""
        same = self.began_as == persona.start
        return same and self.agent.alive() and not self.retire

    def keeps(self) -> bool:
        """True if nothing of it is lost when its program is ended: it can be resumed."""
        if self.retire or not self.context.given or not self.agent.alive():
            return True
        session_id = self.agent.session_id
        return self.context.program.resumes and session_id is not None and session_id == self.kept


async def compact(live: LiveSession) -> None:
    """Let its agent condense what it holds of the conversation. Raises AgentError."""
    if not isinstance(live.agent, Compacting):
        say = f"{live.context.program.title} can't do that. Say `!new` to begin a new conversation."
        raise AgentError("missing", f"{live.context.program.name} can't compact", say=say)
    async with live.asking:
        with live.working():
            await live.agent.compact()
        live.answered(taken=True, compacted=True, summarised=False)


class Sessions(Protocol):
    """The agents' sessions, as turns and commands ask for them."""

    def use(
        self, persona: Persona, scope: str, room: Room, waits: Waits
    ) -> AbstractAsyncContextManager[LiveSession]:
        """The session, started or resumed if it doesn't run; it lives on until this is left.

        Raises AgentError, also when it is stopped while it waits or starts.
        """

    async def keep(self, live: LiveSession) -> None:
        """Remember that it was used, and the agent's session id, to resume it after a restart."""

    async def known(self, persona: Persona, scope: str) -> bool:
        """True if there is a session to go on with, living or suspended."""

    async def interrupt(self, persona: str, scope: str) -> bool:
        """Break off what it does or waits for; False when it does nothing."""

    async def renew(self, persona: str, scope: str) -> UnusedSession | None:
        """Let the next turn begin a new session; the one that ends by this, if there was one."""


class RoomSettings:
    """Choices made in a room by command, for one persona there: its model. Kept on disk; each is
    read once."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._models: dict[tuple[str, str], str | None] = {}

    async def model(self, persona: str, scope: str) -> str | None:
        """The model that was chosen; None: the persona's own."""
        key = (persona, scope)
        if key not in self._models:
            of = select(room_settings.c.model).where(
                room_settings.c.persona == persona, room_settings.c.scope == scope
            )

            def work(connection: Connection) -> str | None:
                return connection.execute(of).scalar()

            self._models.setdefault(key, await self._store.read(work, small=True))
        return self._models[key]

    async def choose_model(self, persona: str, scope: str, model: str | None, by: Speaker) -> None:
        """Choose it, from the next turn on; None: the persona's own again."""
        row = {"scope": scope, "persona": persona}
        gone = delete(room_settings).where(
            room_settings.c.persona == persona, room_settings.c.scope == scope
        )
        new = room_settings.insert().values(
            **row, model=model, by_id=by.id, at=micros(self._clock())
        )

        def work(connection: Connection) -> None:
            connection.execute(gone)
            if model is not None:
                connection.execute(new)

        await self._store.write(work)
        self._models[persona, scope] = model

    async def applied(self, persona: Persona, scope: str) -> Persona:
        """The persona as it was set in a scope."""
        key = (persona.name, scope)
        model = self._models[key] if key in self._models else await self.model(*key)
        if model is None:
            return persona
        return replace(persona, front=persona.front.model_copy(update={"model": model}))


def forget_choices(connection: Connection, ids: frozenset[str]) -> None:
    """Delete what somebody chose in rooms, and what they scheduled."""
    for table in (room_settings, schedules):
        connection.execute(delete(table).where(table.c.by_id.in_(ids)))


def scope_folder(scope: str) -> str:
    """A folder's name for a scope: readable, and unlike that of any other scope."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", scope).strip("-")[:40]
    return f"{readable}-{hashlib.sha256(scope.encode()).hexdigest()[:16]}"
