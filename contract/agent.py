"""Questions and answers of an agent, and calls of the model behind the memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from contract.values import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a question. refuses: choosing it means no."""

    label: str
    refuses: bool = False


GONE = "gone"
"""The message with which a question's asking is cancelled when its program asks no more."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that the agent's program asks in mid-turn: its title, details and real choices.

    title, detail: plain text, shown as it is: what is asked must not be able to dress itself up.
    code: proves behind a choice which question was seen; "": it has none. crowded: another waits in
    its place, so that a choice is typed with the code. note: Moot's own
    words below it, in Markdown.
    """

    id: str
    title: str
    detail: str
    options: tuple[Option, ...]
    code: str = ""
    crowded: bool = False
    note: str = ""

    @property
    def digest(self) -> str:
        """A hash of the detail and the options: a button carries it, to prove what it stood under.

        Not of the title, which says meanwhile who agreed already.
        """
        shown = "\0".join((self.detail, *(option.label for option in self.options)))
        return hashlib.sha256(shown.encode(errors="replace")).hexdigest()[:16]

    def typed(self, number: int) -> str:
        """The words that choose an option, counted from 0, e.g. `!1` or `!1 k7`."""
        return self.sent(number) if self.crowded else f"!{number + 1}"

    def sent(self, number: int) -> str:
        """The words that a button sends: always with the code, for buttons may be pressed late."""
        return f"!{number + 1} {self.code}".rstrip()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One use of a tool by an agent, as its hooks or its record tell.

    given, result: text, cut to TOOL_TEXT characters each; the result is empty when it is not
    known. failed: the tool reported an error.
    """

    tool: str
    given: str
    result: str = ""
    failed: bool = False


TOOL_TEXT = 8_000  # enough for a diff or a test run's end; an observer reads it, not a person


@dataclass(frozen=True, slots=True)
class Answer:
    """An agent's answer in Markdown, and how the driver knows it.

    source: "record" the program's own record of it, "screen" read from the terminal.
    ended_by: the sign that ended the turn, e.g. "hook", "record", "title", "api". tools: one line a
    use, for people; uses: the same for the memory. compacted: the program compacted its context.
    usage: what its calls of the model took; None: it doesn't tell.
    """

    text: str
    source: Literal["record", "screen"] = "record"
    ended_by: str = ""
    tools: tuple[str, ...] = ()
    uses: tuple[ToolUse, ...] = ()
    compacted: bool = False
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model must call once. schema: JSON Schema of its input, an object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it, not yet checked against the schema."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens and the cost of one call. cost_usd: None when the price is unknown.

    input_tokens: all that was read; cached_tokens: those of them that came from a cache.
    """

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer: text, the calls of tools in their order, and what it took."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
