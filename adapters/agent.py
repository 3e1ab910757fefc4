"""The border between the gateway and an agent: each says what it asks of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from contract.agent import Answer, Question
from contract.chat import Attachment
from contract.errors import AgentError
from contract.language import phrase
from contract.values import dataclass
from contract.work import Work

Network = Literal["host", "none"]


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file that is shown at its own path."""

    path: Path
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A session's share of the machine beside the system, its HOME, its workspace and its program.

    bwrap: where bubblewrap is. forbidden: nothing of these is shown, whoever asks for it. fixed:
    may be shown, but not written to: what Moot itself runs. scratch_bytes: the most that its
    folders of memory hold, /tmp and /dev/shm; 0: as much as the kernel lets them. relay: the socket
    behind which a sandbox without a network reaches some hosts; ports: those of them on loopback.
    """

    bwrap: Path
    mounts: tuple[Mount, ...] = ()
    network: Network = "host"
    forbidden: tuple[Path, ...] = ()
    fixed: tuple[Path, ...] = ()
    scratch_bytes: int = 0
    relay: Path | None = None
    ports: tuple[int, ...] = ()


Driver = Literal["terminal", "acp"]
Mode = Literal["plan", "ask", "auto"]
"""How much an agent may do: look and say what it would do; ask before it does more; do it."""
ACP_SESSION = "acp:"  # begins the ids of such sessions: a terminal may know nothing of them


@dataclass(frozen=True, slots=True)
class TurnContext:
    """A turn's circumstances beside its prompt; the first two are for an agent called by API.

    context: one line on where and to whom it speaks, "" for none; it differs from turn to turn, so
    it stands behind what a cache may keep. small_talk: the message needs no thinking. pictures:
    those of the messages that are new to it, oldest first; the prompt names them too. turn: its id.
    """

    context: str = ""
    small_talk: bool = False
    pictures: tuple[Attachment, ...] = ()
    turn: str = ""


class Reply(Protocol):
    """The room's side of one turn, as the agent's driver sees it."""

    @property
    def occasion(self) -> TurnContext:
        """The turn's circumstances beside the prompt."""

    def draft(self, text: str) -> None:
        """Show the agent's words so far: a snapshot that replaces the one before. Cheap."""

    def work(self, work: Work) -> None:
        """Show its work so far, in the same way."""

    async def choose(self, question: Question) -> int:
        """Ask the room; return the index of the chosen option. Never hangs: refuses in time."""


@dataclass(frozen=True, slots=True)
class MemoryServer:
    """An MCP server on stdio through which the program can look into the memory of its session.

    command: argv. env: what the server needs on top of the program's own environment; the
    program gets it too. Whoever knows it may read what the session may. reads: files that it
    needs beside its program, where it runs in a sandbox.
    """

    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    reads: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolReply:
    """A tool's answer. failed: it was called wrongly, and the text says how."""

    text: str
    failed: bool = False


class Tools(Protocol):
    """The tools of a session, for an agent that runs in this process."""

    def offered(self) -> Sequence[Mapping[str, Any]]:
        """The `name`, `description` and `input_schema` (a JSON Schema) of each."""

    async def call(self, name: str, given: Mapping[str, Any]) -> ToolReply:
        """Use one of them."""


def _nobody(_secrets: Sequence[str]) -> None:
    """For a program whose login is nobody's to know."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The folders and settings of one session's program.

    home, workspace: directories of this scope alone. session_id: of the program's session to
    resume, or None to begin one. persona: Markdown for the system prompt. env: variables on
    top of the scrubbed environment. command: replaces the profile's argv[0] when not empty.
    memory: None when the session's program has no look into the memory. tools: the same for an
    agent that runs no program. login: a HOME whose login
    and settings the program is given; None: it has its own. driver: None: the agent's own.
    mode: "": as the program begins by itself.
    sandbox: the program's; account: the number of the account that it runs under; neither: it may
    do what Moot's own account may. files: what one of these lets it see of attachments, read-only.
    file_bytes: the most of a file that its account writes; 0: no limit.
    learn: told of what is secret in the login, before the program has it.
    """

    home: Path
    workspace: Path
    persona: str = ""
    model: str | None = None
    session_id: str | None = None
    command: Sequence[str] = ()
    env: tuple[tuple[str, str], ...] = ()
    cols: int = 120
    rows: int = 40
    memory: MemoryServer | None = None
    tools: Tools | None = None
    login: Path | None = None
    driver: Driver | None = None
    mode: Mode | Literal[""] = ""
    sandbox: Sandbox | None = None
    account: int | None = None
    files: Path | None = None
    file_bytes: int = 0
    learn: Callable[[Sequence[str]], None] = _nobody


@runtime_checkable
class Failable(Protocol):
    """An agent whose program can be ended for a reason that its turn then tells."""

    async def fail(self, error: AgentError) -> None:
        """End the program; what it works on fails with this error."""


@runtime_checkable
class Compacting(Protocol):
    """An agent that can make its own context smaller, and still knows what it was about."""

    async def compact(self) -> None:
        """Return when it is done. Raises AgentError. Never overlaps with `Agent.ask`."""


NO_UNDO = phrase(
    "{title} can't take back an answer. Ask for what it changed to be undone, or say `!new`."
)


@runtime_checkable
class Undoing(Protocol):
    """An agent that can take back its last exchange, and perhaps what it changed in files."""

    async def undo(self) -> str:
        """Return when it is done: the files that came back as well, "" when none do. Raises
        AgentError. Never overlaps with `Agent.ask`."""


class Agent(Protocol):
    """One living session with an agent. Calls of `ask` never overlap."""

    session_id: str | None  # what resumes it; known at the latest when the first ask returns
    resumed: bool  # it began from an earlier session's record

    @property
    def pid(self) -> int | None:
        """The program's process id; None for an agent without a process, or while none runs."""

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        """Type the prompt and return the exact answer. AgentError is the only failure.

        Cancelling it interrupts the program; the session can be asked again.
        """

    async def interrupt(self) -> None:
        """Make the running `ask` end with AgentError("stopped").

        The agent is interrupted at once. It ends when the agent is idle by its own signs, or was
        ended since it was not idle 3 s later.
        """

    async def close(self) -> None:
        """End the program: SIGTERM, then SIGKILL. Never blocks the loop."""

    def alive(self) -> bool:
        """True while the program still runs."""

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        """The terminal now: rows of (text, CSS classes) runs. Empty for agents without one."""
