"""The record of every turn: queued, running, answered, posted. What makes a restart harmless.

A turn is queued in the same commit that stores its message; an answer and the posts that will
carry it are on disk before the first of them is sent; a post's row says whether it arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from contract.agent import Usage
from contract.chat import Room
from contract.language import ENGLISH, Language, current, known
from contract.values import dataclass
from memory.layers import EndedSession

OWN_NAME = "Moot"  # stands where a persona would, in what people see of Moot's own turns
PostKind = Literal["text", "file", "handed", "work", "question"]
PostState = Literal["draft", "planned", "sent", "closed"]
TurnKind = Literal["ask", "command", "notice"]
State = Literal["queued", "running", "answered", "posted", "dropped"]
TurnState = Literal["queued", "running", "answered", "posted", "failed", "stopped"]
"""In the words that people are shown."""


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose a session is: a persona's in a scope, or in one thread of it where a room has a session
    a thread. The queue, HOME and working directory go by it; what is remembered goes by the scope.

    thread_id: "": the scope's own.
    """

    persona: str
    scope: str
    thread_id: str = ""

    @property
    def id(self) -> str:
        """The id by which people and the API know the session."""
        thread = f"#{self.thread_id}" if self.thread_id else ""
        return f"{self.persona}@{self.scope}{thread}"


@dataclass(frozen=True, slots=True)
class Turn:
    """A question to a persona, a command to Moot or a notice of Moot's own, and what became of it.

    kind: "ask": the persona's agent is asked; "command": Moot carries out what the message says;
    "notice": Moot says a line that was known when the turn was made. persona: whom the message was
    for; "": no persona, only Moot, which pins and gives notice.
    seq: order of all turns. asked_at: when the question was sent, by the platform's clock, in
    microseconds. states: each state with the time it began. record: sections,
    scores, trims and timings, as JSON values. fault: an AgentFault, when there is no answer.
    again: the seq of the message that had it asked again, as a turn of its own; 0: it is the first.
    session_thread: the thread whose session it is a turn of; "": the scope's own.
    """

    id: str
    seq: int
    message_seq: int
    asked_at: int
    persona: str
    scope: str
    room: Room
    thread_id: str | None
    bot: str
    hop: int
    state: State
    kind: TurnKind = "ask"
    states: tuple[tuple[str, int], ...] = ()
    header: str | None = None
    record: dict[str, Any] = field(default_factory=dict)
    answer: str | None = None
    answer_source: str | None = None
    ended_by: str | None = None
    fault: str | None = None
    again: int = 0
    session_thread: str = ""

    @property
    def key(self) -> SessionKey:
        """The session that it is a turn of; turns of Moot's own go by its name."""
        return SessionKey(self.speaker_name, self.scope, self.session_thread)

    @property
    def language(self) -> Language:
        """The language in which people are told of it."""
        return known(self.record.get("language", "")) or ENGLISH

    @property
    def attempt(self) -> int:
        """How often its agent was asked: more than once where a machine went away meanwhile."""
        return int(self.record.get("attempt", 1))

    @property
    def was_asked(self) -> bool:
        """An agent was given a prompt for it."""
        return any(state == "running" for state, _ in self.states)

    @property
    def speaker_name(self) -> str:
        """The name of the one who answers, for people."""
        return self.persona or OWN_NAME

    def shown_state(self, name: State) -> TurnState:
        """One of its states as people see it: one that ended without an answer says how."""
        if name == "dropped" or (name == "posted" and self.fault == "stopped"):
            return "stopped"
        if name == "posted" and self.fault is not None:
            return "failed"
        return name


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A turn to be made; kind, persona, again: see Turn. answer: what a notice says. retries: the
    id of the turn that it repeats. language: in which people are told of it."""

    id: str
    persona: str
    bot: str
    thread_id: str | None
    hop: int = 0
    kind: TurnKind = "ask"
    answer: str | None = None
    again: int = 0
    retries: str = ""
    language: Language = field(default_factory=current)

    def record(self, only_for: str | None) -> dict[str, Any]:
        """The turn's record at its beginning. only_for: the id of a command whose sender alone is
        to see lines of Moot's own."""
        record: dict[str, Any] = {}
        if self.kind == "notice" and only_for:
            record["only_for"] = only_for
        elif self.retries:
            record["retry_of"] = self.retries
        if self.language != ENGLISH:
            record["language"] = self.language
        return record


@dataclass(frozen=True, slots=True)
class Further:
    """More that is wanted for a message that was just stored: turns; said: a word for why.

    only_for: id of the person who alone is to see its lines of Moot's own; None: whoever is there.
    """

    requests: Sequence[TurnRequest] = ()
    said: str = ""
    only_for: str | None = None


Also = Callable[[Connection, int], Further]
"""Given the seq of a message that was just stored."""


@dataclass(frozen=True, slots=True)
class Post:
    """One piece of an answer on its way to the platform.

    state: "draft" shown while the agent works, "planned" final text to be sent, "sent", "closed" a
    question that nobody can answer any more.
    platform_id: the platform's id once known. drafted: it was shown as a draft, so a message
    that is there already needs an edit. uncertain: it may have been sent by a process that
    died before it knew. created_at: microseconds.
    """

    key: str
    turn_id: str
    number: int
    kind: PostKind
    text: str
    state: PostState
    platform_id: str | None
    created_at: int
    drafted: bool = False
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result of `accept`: the message's seq, whether it was new, and the turns it made.

    said: see Further.
    """

    seq: int
    new: bool
    turns: tuple[Turn, ...]
    said: str = ""


@dataclass(frozen=True, slots=True)
class UnusedSession:
    """A session that ended. used_at: when its last turn had ended, in microseconds. thread_id: of
    its key."""

    session: EndedSession
    used_at: int
    thread_id: str = ""

    @property
    def key(self) -> SessionKey:
        """The session that it was."""
        return SessionKey(self.session.persona, self.session.scope, self.thread_id)


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """What a turn used, as limits and metrics count it. person_id: who began the chain that it is
    of. usage: None: not reported."""

    turn_id: str
    at: datetime
    person_id: str
    room_id: str
    persona: str
    agent: str
    seconds: float
    usage: Usage | None
