"""What the layers of the memory are asked before a turn, and told after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from contract.agent import ToolUse
from contract.briefing import Fact, Landmark, Note, Observation
from contract.chat import Room, Speaker
from memory.gate import Gate
from memory.scopes import Invocation

OWN_TOOLS = "mcp__moot__"  # how an agent's program calls those that read the memory


@dataclass(frozen=True, slots=True)
class BriefRequest:
    """What a briefing is wanted for.

    text: the message that triggered. recalls: whether recall may run for it. shown_from: seq of
    the oldest message that the prompt shows anyway; what was made from those need not be
    recalled. covered: seq of the last message that the wanted summary has to cover, because the
    prompt leaves it out; 0: no summary is wanted. peek: nobody is given it; nothing may change.
    """

    invocation: Invocation
    text: str
    at: datetime
    recalls: bool = True
    shown_from: int = 2**62
    covered: int = 0
    peek: bool = False

    @property
    def home(self) -> str:
        """The scope of what is said here."""
        return self.invocation.home

    def gate(self) -> Gate:
        """What may be read for it."""
        return Gate.of(self.invocation)


@dataclass(frozen=True, slots=True)
class LayerAnswers:
    """What the layers gave for a briefing.

    missing: layers that failed or took too long; late: those of them that took too long. ms: how
    long each layer took, in milliseconds.
    """

    recall: tuple[Fact, ...] = ()
    pins: tuple[Note, ...] = ()
    recommendations: tuple[Note, ...] = ()
    landmarks: tuple[Landmark, ...] = ()
    summary: str = ""
    observations: tuple[Observation, ...] = ()
    missing: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    ms: tuple[tuple[str, float], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn that was answered and posted.

    text, reply, uses: a learner gets them without private parts. message_seq: of the message that
    asked. session_id: of the agent's session, "" when it has none; workspace: its
    working directory. compacted: the agent's program compacted its context meanwhile.
    """

    turn_id: str
    scope: str
    room: Room
    persona: str
    sender: Speaker
    text: str
    reply: str
    message_seq: int
    at: datetime
    session_id: str
    workspace: str = ""
    uses: tuple[ToolUse, ...] = ()
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class EndedSession:
    """An agent's session that ended: idle for an hour, or by `!new`."""

    scope: str
    persona: str
    room: Room
    session_id: str


def ends_a_run(interaction: AnsweredTurn, *, last: bool) -> bool:
    """What a layer wants that reads the chat from where it stopped: of turns that wait together
    the last, and those in which the agent did something."""
    return last or bool(interaction.uses) or interaction.compacted


class Learner(Protocol):
    """A layer that learns in the background."""

    name: str

    def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
        """Whether a turn has anything for it; asked first, for its texts are read only then.

        last: no other turn of the scope waits. Its texts are as they were typed: keep nothing.
        """

    async def learn(self, interaction: AnsweredTurn) -> None:
        """Take in a turn. Never two calls at a time for one scope; may be cancelled at any
        moment, and is then asked again with the next turn."""

    async def end(self, session: EndedSession) -> None:
        """Take in that a session ended."""
