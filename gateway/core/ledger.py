"""The record of every turn: queued, running, answered, posted. What makes a restart harmless.

A turn is queued in the same commit that stores its message; an answer and the posts that will
carry it are on disk before the first of them is sent; a post's row says whether it arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Protocol

from sqlalchemy import Connection

from contract.chat import Inbound, Room, Speaker
from memory.layers import EndedSession

OWN_NAME = "Moot"  # stands where a persona would, in what people see of Moot's own turns
PostKind = Literal["text", "file", "question"]
TurnKind = Literal["ask", "command", "notice"]
State = Literal["queued", "running", "answered", "posted", "dropped"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question to a persona, a command to Moot or a notice of Moot's own, and what became of it.

    kind: "ask": the persona's agent is asked; "command": Moot carries out what the message says;
    "notice": Moot says a line that was known when the turn was made. persona: whom the message was
    for; "": no persona, only Moot, which pins and gives notice.
    seq: order of all turns. asked_at: when the question was sent, by the platform's clock, in
    microseconds. states: each state with the time it began. record: sections,
    scores, trims and timings, as JSON values. fault: an AgentFault, when there is no answer.
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

    @property
    def was_asked(self) -> bool:
        """An agent was given a prompt for it."""
        return any(state == "running" for state, _ in self.states)

    @property
    def speaker_name(self) -> str:
        """The name of the one who answers, for people."""
        return self.persona or OWN_NAME


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A turn to be made; kind, persona: see Turn. answer: what a notice says."""

    id: str
    persona: str
    bot: str
    thread_id: str | None
    hop: int = 0
    kind: TurnKind = "ask"
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Further:
    """More that is wanted for a message that was just stored: turns; said: a word for why."""

    requests: Sequence[TurnRequest] = ()
    said: str = ""


Also = Callable[[Connection, int], Further]
"""Given the seq of a message that was just stored."""


@dataclass(frozen=True, slots=True)
class Post:
    """One piece of an answer on its way to the platform.

    state: "draft" shown while the agent works, "planned" final text to be sent, "sent".
    platform_id: the platform's id once known. drafted: it was shown as a draft, so a message
    that is there already needs an edit. uncertain: it may have been sent by a process that
    died before it knew. created_at: microseconds.
    """

    key: str
    turn_id: str
    number: int
    kind: PostKind
    text: str
    state: Literal["draft", "planned", "sent"]
    platform_id: str | None
    created_at: int
    drafted: bool = False
    uncertain: bool = False

    def as_sent(self, platform_id: str) -> Post:
        """The post, arrived."""
        return replace(self, state="sent", platform_id=platform_id)


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
    """A session that ended. used_at: when its last turn had ended, in microseconds."""

    session: EndedSession
    used_at: int


class Ledger(Protocol):
    """The record of turns and posts, as the rest of the gateway asks it."""

    async def accept(
        self,
        inbound: Inbound,
        scope: str,
        wanted: Sequence[TurnRequest],
        hop: int,
        now: datetime,
        also: Also | None = None,
    ) -> Accepted:
        """Store a message and queue its turns, once, in one commit. also: runs in it, too."""

    def running(self, turn: Turn, header: str, record: dict[str, Any], now: datetime) -> Turn:
        """The agent is about to be asked: on disk soon, and before anything else of the turn."""

    async def answered(
        self, outcome: Turn, plan: Sequence[tuple[str, str]], now: datetime
    ) -> tuple[Turn, list[Post]]:
        """Record the answer, and as (kind, text) the posts that will carry it."""

    async def draft(self, turn: Turn, text: str, now: datetime) -> Post:
        """A draft is about to be posted."""

    async def sent(self, post: Post, platform_id: str) -> Post:
        """The platform has the post."""

    async def note_question(
        self, turn: Turn, question_id: str, platform_id: str, title: str = ""
    ) -> None:
        """A permission question was posted: an own message that carries no answer."""

    def close_question(self, key: str) -> None:
        """Nobody can answer this post's question any more: on disk soon."""

    async def left_questions(self, turn_id: str) -> list[tuple[str, str, str]]:
        """Key, platform id and title of a turn's questions that were posted and not closed."""

    async def known_posts(self, room_id: str) -> frozenset[str]:
        """The platform's ids of all own posts of a room."""

    async def answer_with(self, room_id: str, post_id: str) -> str | None:
        """The message id of the stored answer that one of its posts is a piece of, or None."""

    async def posted(
        self,
        turn: Turn,
        posts: Sequence[Post],
        by: Speaker,
        wanted: Sequence[TurnRequest],
        now: datetime,
    ) -> tuple[Turn, int | None, tuple[Turn, ...]]:
        """All posts arrived: store the answer as a message, queue the turns it hands over to.

        Returns the turn, the answer's seq (None when there is none), and the new turns.
        """

    async def dropped(self, turn: Turn, now: datetime) -> Turn:
        """Its message was deleted while it waited."""

    async def open_turns(self) -> list[Turn]:
        """Turns that are not posted or dropped, in their order."""

    async def posts(self, turn_id: str) -> list[Post]:
        """The posts of a turn in their order."""

    async def turn(self, turn_id: str) -> Turn | None:
        """One turn."""

    async def beginner(self, turn: Turn) -> Speaker | None:
        """The one who began a turn's chain: what an agent says to another is on their behalf.

        None: their message is not on record any more.
        """

    async def agent_session(self, persona: str, scope: str, agent: str) -> str | None:
        """The agent's own session id to resume, or None."""

    async def keep_session(
        self, persona: str, scope: str, agent: str, session_id: str | None, now: datetime
    ) -> None:
        """Remember the agent's session id, where it has one, and that it was used now."""

    def use_session(
        self, persona: str, scope: str, agent: str, session_id: str | None, now: datetime
    ) -> None:
        """The same of a session that is known: on disk soon."""

    async def retire_session(self, persona: str, scope: str) -> UnusedSession | None:
        """Resume it no more. None when there is none, or its end is known already."""

    async def idle_sessions(self, since: datetime) -> list[UnusedSession]:
        """Sessions not used after `since` of which the memory knows no end, longest idle first."""

    async def used_first(self) -> datetime | None:
        """The time of the last use of the longest idle session that did not end yet."""

    async def ended_session(self, ended: UnusedSession, now: datetime) -> None:
        """The memory knows of the end; nothing changes when the session was used again."""

    async def last_turn(self, scope: str) -> Turn | None:
        """The newest finished turn of a scope that an agent answered."""

    async def decide(
        self, turn_id: str, question: str, chosen: str, by: str, now: datetime
    ) -> None:
        """Record who answered a permission question, and how."""
