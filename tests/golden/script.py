"""The words that a golden case is written in: who says what, and how the agents answer.

A case is data. `stage.py` plays it on a whole gateway, `account.py` writes down what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bots.bot import PlatformCapabilities
from contract.agent import Question, ToolUse, Usage
from contract.chat import Attachment, Room
from contract.errors import AgentFault, PlatformError

GENERAL = Room("fake:general", "general")
AUTH = Room("fake:auth", "auth-team", "room", "saga-ai")
DM = Room("fake:d1", "Ash", "dm")
BUDIS_DM = Room("fake:d2", "Budi", "dm")
GROUP = Room("fake:g1", "Ash, Budi, demo", "gdm")


# ── What happens on the platform ────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Say:
    """A message; `<code>` in its text is the newest code of a pairing.

    id: default m1, m2, ... in the order of the case. times: how often it is delivered. to: the bots
    that hear it, one after the other. meta: more of the ingest metadata. settles: the next step
    waits until nothing is left to do.
    """

    text: str
    by: str = "ash"
    id: str = ""
    room: Room = GENERAL
    thread: str | None = None
    reply_to: str | None = None
    kind: Literal["human", "bot"] = "human"
    mentioned: bool = False
    files: tuple[Attachment, ...] = ()
    times: int = 1
    to: tuple[str, ...] = ("fake",)
    meta: Mapping[str, Any] = field(default_factory=dict)
    settles: bool = True


@dataclass(frozen=True)
class Edit:
    """A message is edited."""

    id: str
    text: str
    room: Room = GENERAL
    settles: bool = True


@dataclass(frozen=True)
class Delete:
    """A message is deleted."""

    id: str
    room: Room = GENERAL
    settles: bool = True


@dataclass(frozen=True)
class Pin:
    """A message is pinned by the platform's own means or with a 📌, or the pin is taken back."""

    id: str
    by: str = "ash"
    room: Room = GENERAL
    pinned: bool = True
    settles: bool = True


@dataclass(frozen=True)
class Press:
    """A button of a question is pressed. option: from 0."""

    question: str
    option: int
    by: str = "ash"
    settles: bool = True


# ── What else happens ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Reach:
    """Wait until at least so many prompts were given, questions asked, posts stand on the platform,
    turns are posted, messages are marked or posts failed; of the whole case."""

    prompts: int = 0
    questions: int = 0
    posts: int = 0
    posted: int = 0
    marks: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Release:
    """Let go the answers that are held by this word."""

    word: str
    settles: bool = True


@dataclass(frozen=True)
class Die:
    """The program of every living session ends by itself."""


@dataclass(frozen=True)
class Restart:
    """The gateway is killed and started again."""


@dataclass(frozen=True)
class Write:
    """A persona's file is written. text: the whole file; None: it is removed."""

    persona: str
    text: str | None


@dataclass(frozen=True)
class Break:
    """The next posts fail so, one after the other. lost: so many arrive, but nobody is told."""

    faults: tuple[PlatformError | None, ...] = ()
    lost: int = 0


@dataclass(frozen=True)
class Call:
    """A request to the HTTP API, whose answer is written down. only: keys of it; none: all."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    only: tuple[str, ...] = ()
    settles: bool = True


Step = Say | Edit | Delete | Pin | Press | Reach | Release | Die | Restart | Write | Break | Call


# ── How an agent answers ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Act:
    """One answer of an agent. All that is given happens in this order: it waits for so many prompts
    and posted turns of the whole case, drafts, is held until a word is released, asks (and its
    text's `{}` is the option chosen), fails or answers."""

    text: str = ""
    prompts: int = 0
    posted: int = 0
    draft: str = ""
    held: str = ""
    asks: Question | None = None
    fault: AgentFault | None = None
    say: str = ""
    crash: bool = False
    source: Literal["record", "screen"] = "record"
    ended_by: str = "script"
    tools: tuple[str, ...] = ()
    uses: tuple[ToolUse, ...] = ()
    compacted: bool = False
    usage: Usage | None = None


@dataclass(frozen=True)
class Case:
    """name: of its golden file. about: its first line. answers: of each persona, in order; an
    agent without one repeats the line that asks it. starts: faults of the next programs that start.
    options: tables of moot.toml as pydantic reads them, by name. siblings: further accounts on the
    platform, with their personas. secrets: the redactor knows them. marks: so many messages bear a
    mark at the end; 0: it is not looked at. late: posts, by their text, that wait until so many
    prompts of the whole case were given. The model answers what `model` says; remembers: people's
    messages are found again by their words."""

    name: str
    about: str
    steps: Sequence[Step]
    answers: Mapping[str, Sequence[Act | str]] = field(default_factory=dict)
    personas: tuple[str, ...] = ("demo",)
    files: Mapping[str, str] = field(default_factory=dict)
    starts: tuple[tuple[AgentFault, str], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own_ids: frozenset[str] = frozenset()
    capabilities: PlatformCapabilities | None = None
    limit: int = 4000
    roster: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    marks: int = 0
    late: Mapping[str, int] = field(default_factory=dict)
    model: Sequence[Any] | None = None
    remembers: bool = False
    timezone: str = "UTC"
