"""The agents' living sessions, each with its own HOME and workspace."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from adapters.agent import NO_UNDO, Agent, Compacting, Launch, Undoing
from contract.chat import Room
from contract.errors import AgentError
from contract.language import Phrase, later
from contract.values import dataclass
from gateway.core.ledger import SessionKey, UnusedSession
from gateway.mcp.endpoint import McpGrant
from gateway.sessions.bounds import Bounds
from gateway.sessions.lent_files import LentFiles
from gateway.settings.personas.personas import Persona
from memory.given import NOTHING, GivenText

if TYPE_CHECKING:
    from adapters.sandbox.relay import Allowed, Relay


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
    modes: of `adapters.agent.Mode`, those that it has. keeps: globs below HOME of the files with
    which a session can be gone on with elsewhere, {session_id} in them for its id; (): it can't.
    """

    name: str
    title: str
    agent: str
    available: bool
    hint: str | Phrase
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
    modes: frozenset[str] = frozenset()
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The facts that decide which part of a conversation an agent's next prompt has to hold.

    given: seq of the newest message that the agent was given; 0: none yet. knows: all of that which
    it still holds word for word. edited: seqs of those of it whose text was changed since, and that
    it was not told of. compacted: its program has condensed what it knew, and was given
    no summary since. files: where it finds what it is to open, without a program by a tool; None:
    it opens no files. confined: it sees attachments only as copies there.
    rehearses: the question is stored nowhere and nobody learns of it: a preview or a dry run.
    """

    program: AgentProgram
    given: int = 0
    knows: GivenText = NOTHING
    edited: frozenset[int] = frozenset()
    compacted: bool = False
    files: LentFiles | None = None
    confined: bool = False
    rehearses: bool = False


@dataclass(frozen=True, slots=True)
class KeptRecords:
    """The records of sessions that go later. working: of programs that work still. places: on
    workers that are away, "" for their broker."""

    working: bool
    places: tuple[str, ...]


Waits = Callable[[], Awaitable[None]]
"""Told once when a session has to wait until another one may be put to sleep."""

STOPPED = later("Stopped.")  # before its agent was asked


@dataclass(slots=True)
class LiveSession:
    """A living session.

    key: whose it is; room: where it is talked to.
    folder: of its HOME and all that is its own. enclosed: it runs in a sandbox; relay: its way out,
    where that has no network. account: the one that it runs under,
    of its own. bounds: what it may take of the machine. turns: taken since it began.
    users: how many use it now; used_at: when the last of them left.
    """

    key: SessionKey
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
    taken: bool = False  # by a turn, from before its prompt is made
    stopped: bool = False  # somebody said !stop to that turn
    retire: bool = False  # somebody said !new: its next turn begins a session of its own
    forgotten: bool = False  # what its program recorded goes when that has ended
    kept: str | None = None  # the agent's session id as the ledger has it
    admission: McpGrant = field(default_factory=McpGrant)
    began_as: tuple[object, ...] = ()  # see Persona.start
    worker: str = ""  # the machine that it lives on; "": the gateway's own
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0

    @property
    def persona(self) -> str:
        """The name of its persona."""
        return self.key.persona

    def edited(self, seq: int) -> None:
        """A message has another text: the agent is told with its next prompt, if it knows it."""
        held = self.context
        if held.knows.holds_lines(seq, seq):
            self.context = replace(held, edited=held.edited | {seq})

    @contextmanager
    def of_turn(self) -> Iterator[None]:
        """A turn has it within the block."""
        self.taken, self.stopped = True, False
        try:
            yield
        finally:
            self.taken = False

    @contextmanager
    def working(self, newest: int = 0, shown: GivenText = NOTHING) -> Iterator[None]:
        """The agent works within the block, on a prompt that shows so much. newest: seq of its last
        message; 0: none."""
        self.state = "working"
        if untold := self.context.edited:
            untold = frozenset(seq for seq in untold if not shown.holds_lines(seq, seq))
            self.context = replace(self.context, edited=untold)
        try:
            yield
        finally:
            self.state = "idle"
            held = self.context
            self.context = replace(held, given=max(held.given, newest), knows=held.knows | shown)

    def answered(self, *, taken: bool, compacted: bool, summarised: bool) -> None:
        """A prompt was answered. taken: it was not refused as too long, after which the agent knows
        nothing for sure. summarised: the prompt held a summary."""
        held = self.context
        if not taken:
            held = replace(held, given=0)
        if compacted or not taken:
            held = replace(held, knows=NOTHING, edited=frozenset())
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
        line = later(
            "{program} can't do that. Say `!new` to begin a new conversation.",
            program=live.context.program.title,
        )
        raise AgentError("missing", f"{live.context.program.name} can't compact", say=line)
    async with live.asking:
        with live.working():
            await live.agent.compact()
        live.answered(taken=True, compacted=True, summarised=False)


async def undo(live: LiveSession) -> str:
    """Let its agent take back its last exchange, within `asking`; returns the files that came back
    as well. Raises AgentError."""
    if not isinstance(live.agent, Undoing):
        line = later(NO_UNDO, title=live.context.program.title)
        raise AgentError("missing", f"{live.context.program.name} can't undo", say=line)
    with live.working():
        files = await live.agent.undo()
    live.answered(taken=False, compacted=False, summarised=False)  # it knows less than it was given
    return files


class Sessions(Protocol):
    """The agents' sessions, as turns and commands ask for them."""

    def use(
        self, persona: Persona, key: SessionKey, room: Room, waits: Waits
    ) -> AbstractAsyncContextManager[LiveSession]:
        """The session, started or resumed if it doesn't run; it lives on until this is left.

        Raises AgentError, also when it is stopped while it waits or starts.
        """

    async def keep(self, live: LiveSession) -> None:
        """Remember that it was used, and the agent's session id, to resume it after a restart."""

    def posted(self, live: LiveSession) -> None:
        """An answer of its was posted, since when it may have ended: whoever goes on with it
        elsewhere is to know of it."""

    async def known(self, persona: Persona, key: SessionKey, room: Room) -> bool:
        """True if there is a session to go on with, living or suspended."""

    async def interrupt(self, key: SessionKey) -> bool:
        """Break off what it does or waits for; False when it does nothing."""

    async def renew(self, key: SessionKey) -> UnusedSession | None:
        """Let the next turn begin a new session; the one that ends by this, if there was one."""

    async def forget(self, scope: str) -> KeptRecords:
        """Let all next turns of a scope begin new sessions, and delete what programs recorded of
        those there were; what of it is not done yet."""


def scope_folder(scope: str) -> str:
    """A folder's name for a scope: readable, and unlike that of any other scope."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", scope).strip("-")[:40]
    return f"{readable}-{digest(scope)}"


def digest(text: str) -> str:
    """A short word that stands for a text in names of folders and in figures."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def session_folder(key: SessionKey) -> Path:
    """The folder of a session, below that of all sessions: with its scope's others, so that they go
    when the scope does. No persona's name has a `~`."""
    thread = f"~{digest(key.thread_id)}" if key.thread_id else ""
    return Path(scope_folder(key.scope), f"{key.persona}{thread}")
