"""A program's report of its turn: the values that the readers of records and hooks make.

`turn` is the program's own id of the turn, or "" when it has none; the driver drops events of other
turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from contract.agent import TOOL_TEXT, Question, Usage
from contract.errors import AgentFault
from contract.language import Phrase
from contract.values import dataclass


@dataclass(frozen=True, slots=True)
class SessionNamed:
    """The id that resumes this session later."""

    session_id: str


@dataclass(frozen=True, slots=True)
class PromptTaken:
    """The prompt was taken: the confirmation that Enter was heard."""

    turn: str = ""


@dataclass(frozen=True, slots=True)
class ReplyBlock:
    """A finished block of the reply, exact. Blocks are joined by the later one's `sep`.

    What was said before a tool was used shows in drafts; the answer is what was said since.
    """

    text: str
    sep: str = "\n\n"
    turn: str = ""


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """Some more of the reply while it is written: for drafts alone, never for the answer."""

    delta: str
    turn: str = ""


@dataclass(frozen=True, slots=True)
class ReplyRetracted:
    """Every ReplyBlock since the turn began is void, and so is an end without a word: the program
    asks its model once more."""

    turn: str = ""


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """A tool was used, e.g. "Bash". detail: one line, e.g. the command."""

    tool: str
    detail: str = ""
    turn: str = ""


@dataclass(frozen=True, slots=True)
class ToolReport:
    """A report on one use of a tool: its beginning, its end, or both; several on the same `id`.

    given, result: see `contract.ToolUse`, whole; result None: not known yet. exit_code: of a
    command, where the program tells it beside its output.
    """

    id: str
    tool: str = ""
    given: str = ""
    result: str | None = None
    failed: bool = False
    turn: str = ""
    exit_code: int | None = None


def cut_tool_text(text: str) -> str:
    """A tool's input or result as the memory keeps it: its beginning and its end."""
    if len(text) <= TOOL_TEXT:
        return text
    head = TOOL_TEXT // 2
    return f"{text[:head]}{_LEFT_OUT}{text[len(_LEFT_OUT) + head - TOOL_TEXT :]}"


_LEFT_OUT = "\n[...]\n"


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """The program compacts its context."""

    turn: str = ""


@dataclass(frozen=True, slots=True)
class TokensSpent:
    """The tokens of one call of the model. key: of several with the same one the last counts."""

    key: str
    usage: Usage
    turn: str = ""


@dataclass(frozen=True, slots=True)
class HookQuestion:
    """A hook asks and waits for its HTTP response.

    responses: for each option of the question, in the same order, the JSON body, or what is
    asked next. An option that refuses has a body.
    """

    question: Question
    responses: tuple[Mapping[str, Any] | HookQuestion, ...]
    turn: str = ""


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The turn is over."""

    text: str | None = None
    """The exact reply if this sign carries it; None: it is the blocks that came before."""
    whole: bool = True
    """False when `text` is the session's last block only: the driver then waits up to
    `RecordFormat.grace_s` for a ReplyBlock of that text (or the record's own end) and joins all
    blocks. From a hook it may be an earlier turn's, if nothing was said in this one."""
    interrupted: bool = False
    """It was broken off by Esc or the like."""
    recorded: bool = False
    """The record has all of it by now: one more look at it is enough; errors are on the screen."""
    well: bool = False
    """With `recorded`: it comes after no error, so none is waited for."""
    restore: Callable[[str], str] = str
    """Puts back what the record leaves out of the text that it holds; pure."""
    turn: str = ""


@dataclass(frozen=True, slots=True)
class ReplyFailed:
    """The turn is over without an answer. message: what the program reports. say: see MootError.

    goes_on: the program would try on in vain: it is interrupted.
    """

    kind: AgentFault
    message: str
    say: str | Phrase | None = None
    turn: str = ""
    goes_on: bool = False


TurnEvent = (
    SessionNamed
    | PromptTaken
    | ReplyBlock
    | ReplyDelta
    | ReplyRetracted
    | ToolUsed
    | ToolReport
    | TokensSpent
    | ContextCompacted
    | HookQuestion
    | ReplyEnded
    | ReplyFailed
)

Reader = Callable[[Mapping[str, Any]], Sequence[TurnEvent]]
"""Pure. Takes one JSON object; returns () for what does not concern it. Never raises."""

State = Literal["working", "blocked", "done", "idle", "error"]


MOST_USES = 300  # of tools in a turn; of more the newest stay
