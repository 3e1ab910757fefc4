"""The messages between the gateway and a worker: what is on the wire, checked at both ends.

Keys that are not known are passed over, so that a gateway and a worker may be one version apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from contract.agent import Answer, Question, Usage
from contract.chat import Room
from contract.errors import AgentError, AgentFault
from contract.language import Phrase
from contract.work import Work
from gateway.core.ledger import SessionKey
from gateway.settings.personas.personas import FrontMatter, Persona

VERSION = 1  # of these messages: a worker of another one is given no work


class Message(BaseModel):
    """Anything that is said."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def encoded(self) -> bytes:
        """As JSON."""
        return self.model_dump_json(exclude_defaults=True).encode()


class OfSession(Message):
    """Said of one session: the digest of its scope, a dot, and its own. epoch: the number of its
    lease: what has an old one is void."""

    session: str
    epoch: int

    @property
    def scope_digest(self) -> str:
        """See `scope_of`."""
        return scope_of(self.session)


def scope_of(session: str) -> str:
    """The digest of a session's scope."""
    return session.partition(".")[0]


# ── A worker's sign of life ─────────────────────────────────────────────────────────────


class Beat(Message):
    """at: when, by the worker's clock. life: another word after each time that a worker lost its
    programs. sessions: the epochs of those that live; turns: of those that work, the turn whose
    answer is still to come. release: of Moot. clock: seconds since 1970.
    """

    at: float
    life: str
    version: int
    seats: int
    sessions: dict[str, int] = {}
    turns: dict[str, str] = {}
    release: str = ""
    clock: float = 0.0


class BeatReply(Message):
    """at: of the beat. gone: sessions that the worker does not have any more, by what the gateway
    knows, with their epochs. term: the gateway's; each that begins has a greater one, and one with
    a smaller one is heard no more. version: of the gateway's messages; 0: it doesn't tell."""

    at: float
    term: int
    gone: dict[str, int] = {}
    version: int = 0


# ── What a worker is to do ──────────────────────────────────────────────────────────────


class Open(OfSession):
    """Start or resume a session. resumes: its program's own id. home: what that knew last, as a
    packed folder in Base64. memory: it may ask for it. apart: a rehearsal in a folder that goes
    with it. adopts: it lives already, an earlier gateway opened it under this epoch. term: see
    BeatReply."""

    term: int
    persona: str
    front: dict[str, Any]
    body: str
    mode: Literal["plan", "ask", "auto", ""] = ""
    scope: str
    thread_id: str = ""
    room: Room
    resumes: str | None = None
    home: str = ""
    memory: bool = False
    apart: bool = False
    adopts: bool = False

    def whose(self) -> Persona:
        """The persona."""
        front = FrontMatter.model_validate(self.front)
        return Persona(self.persona, front, self.body, mode=self.mode)

    def key(self) -> SessionKey:
        """Whose it is."""
        return SessionKey(self.persona, self.scope, self.thread_id)


class FileGiven(Message):
    """A file that a prompt names. name: below the folder of such files. content_hash: SHA-256."""

    name: str
    content_hash: str
    bytes: int


class Ask(OfSession):
    """Give a session's program a prompt, once it has the files: unless it works on that turn
    already. term: see BeatReply; 0: it isn't told."""

    turn: str
    term: int = 0
    prompt: str
    context: str = ""
    small_talk: bool = False
    files: tuple[FileGiven, ...] = ()


Act = Literal["interrupt", "cancel", "compact", "undo", "close", "watch"]


class Do(OfSession):
    """Do something else with it. number: of the call, which may come twice. turn: the one that it
    is about; "": none. term: as in Ask."""

    act: Act
    term: int = 0
    number: int
    turn: str = ""


class Forget(Message):
    """Delete what there is of a scope that was erased at a time, in microseconds: its programs'
    HOMEs or, whole, their working directories, too. No session of it lives there."""

    term: int
    scope: str
    whole: bool = False
    at: int


class ScopeGone(Message):
    """gone: there is nothing of it any more."""

    gone: bool = False


class FailureTold(Message):
    """An AgentError."""

    kind: AgentFault
    reason: str
    english: str
    values: dict[str, str] = {}
    partial: str = ""
    usage: Usage | None = None

    @classmethod
    def of(cls, error: AgentError, clean: Callable[[str], str]) -> FailureTold:
        """The error as it is said. clean: takes the secrets out."""
        said = error.phrase
        values = {name: clean(str(value)) for name, value in said.values.items()}
        return cls(
            kind=error.kind,
            reason=clean(str(error)),
            english=clean(said.english),
            values=values,
            partial=clean(error.partial),
            usage=error.usage,
        )

    def error(self) -> AgentError:
        """The error."""
        say = Phrase(self.english, self.values)
        error = AgentError(self.kind, self.reason, say=say, partial=self.partial)
        error.usage = self.usage
        return error


class Done(OfSession):
    """What became of a call. word: "fenced": the worker has a newer lease, or none; "full": it has
    no seat. text: of what was undone. agent: the program's own id of the session. files: the folder
    of those that prompts name; workspace: where it works; both are the worker's. otherwise: it
    began with other settings of its persona."""

    word: Literal["done", "fenced", "full"] = "done"
    fault: FailureTold | None = None
    text: str = ""
    agent: str | None = None
    resumed: bool = False
    files: str = ""
    workspace: str = ""
    otherwise: bool = False

    @classmethod
    def fenced(cls, said: OfSession) -> Done:
        """The answer to what is said under a lease that doesn't hold."""
        return cls(session=said.session, epoch=said.epoch, word="fenced")


# ── What comes of a turn ────────────────────────────────────────────────────────────────


class DraftShown(OfSession):
    """A draft, or the work so far. number: a later one replaces it."""

    turn: str
    number: int
    text: str | None = None
    work: Work | None = None


class QuestionPut(OfSession):
    """The program asks the room. gone: it asks no more."""

    turn: str
    question: Question
    gone: bool = False


class ChoiceMade(Message):
    """The room's choice."""

    option: int


class Memory(OfSession):
    """The program asks for its memory. number: of the call, which may come twice."""

    number: int
    payload: dict[str, Any]


class Remembered(Message):
    """What it is told."""

    payload: Mapping[str, Any]


# ── Files ───────────────────────────────────────────────────────────────────────────────


class FileWanted(OfSession):
    """The worker asks for a piece of a file that a prompt names."""

    content_hash: str
    offset: int


class FilePiece(Message):
    """The piece, in Base64; "": there is no more, or no such file."""

    content: str = ""


class WantedOfAgent(OfSession):
    """The gateway asks for a piece of a file that the agent hands over. number: of the file, which
    stays as it was when its first piece was asked for."""

    number: str
    path: str
    most_bytes: int
    offset: int


class FileHanded(Message):
    """The piece, in Base64, with the size of the whole; or why there is none."""

    name: str = ""
    bytes: int = 0
    content: str = ""
    refused: str = ""


class TerminalShown(OfSession):
    """A session's terminal, while somebody watches."""

    rows: tuple[tuple[tuple[str, str], ...], ...]


class Answered(OfSession):
    """The end of a turn. home: what the program knows now, see Open. alive: it still runs."""

    turn: str
    answer: Answer | None = None
    fault: FailureTold | None = None
    agent: str | None = None
    alive: bool = True
    home: str = ""
