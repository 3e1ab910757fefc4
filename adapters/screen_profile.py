"""A program's screen as data: where its replies, questions and errors stand.

Each agent's own stands in its file of `adapters.profiles`.
"""

from __future__ import annotations

import re
from dataclasses import field, replace

from contract.values import dataclass

NEVER = re.compile(r"(?!)")
RULE = r"[─━═╌▀▄]{10,}"


@dataclass(frozen=True, slots=True)
class PromptRows:
    """The look of a prompt: typed, and in the input box."""

    echo: re.Pattern[str]
    """A row of a prompt as the program shows it after Enter; group 1 is its text."""
    input: re.Pattern[str]
    """The row of the input box."""
    echo_coloured: bool = False
    """Only rows whose mark is coloured are echoes."""
    echo_end: re.Pattern[str] = NEVER
    """The row that ends the echo, where the prompt's further rows look like a reply's."""
    echo_blank: bool = False
    """Below a row of an echo one that only lacks its text is a blank row of the prompt."""
    echo_once: bool = False
    """No prompt is typed while a turn goes on: what looks like an echo further down is the
    reply's."""
    input_muted: bool = False
    """A row is the input box only when what it holds is blank or grey."""
    above: re.Pattern[str] = re.compile(RULE)
    """Rows that may stand between a reply and its box."""


@dataclass(frozen=True, slots=True)
class ReplyRows:
    """The look of a message of the agent."""

    bullet: re.Pattern[str] | None = None
    """How its first row begins; None when messages have no mark, and every row indented by `margin`
    belongs to one."""
    margin: int = 0
    """Columns before its text."""
    spare: int = 0
    """Columns left empty at the right margin."""
    tail: re.Pattern[str] = NEVER
    """Rows that are no part of it when nothing but such rows follows."""
    last_block: bool = False
    """Only the last message is the reply."""
    numbered: bool = False
    """Code has line numbers."""
    fence_names: bool = False
    """The language's name stands above code."""


@dataclass(frozen=True, slots=True)
class ToolRows:
    """The look of the use of a tool."""

    tool: re.Pattern[str] = NEVER
    """The first row of a call; messages before it are not the last reply."""
    tool_bold: bool = False
    """Only when the first word is bold."""
    muted_tool: re.Pattern[str] = NEVER
    """The same for rows that begin in grey, with or without a mark."""
    result: re.Pattern[str] = NEVER
    """A row of a tool's output below a bullet; directly behind the echo, group 1 is an error in the
    reply's place."""


@dataclass(frozen=True, slots=True)
class AsideRows:
    """Rows that belong to no message, with what is indented under them."""

    aside: re.Pattern[str] = NEVER
    muted_aside: re.Pattern[str] = NEVER
    """Only if they begin in grey."""
    coloured_aside: re.Pattern[str] = NEVER
    """Only if they begin in a colour."""
    fault: re.Pattern[str] = NEVER
    """An error of the program; group 1 is its text."""
    report: re.Pattern[str] = NEVER
    """How its own report of a failure begins, e.g. a traceback: that and all behind it is none of
    the agent's words. Searched in the rows joined by "\\n"."""
    broken_off: re.Pattern[str] = NEVER
    """Shows that the turn was broken off: then what was said before its last tool is no reply."""


@dataclass(frozen=True, slots=True)
class ScreenFrame:
    """The surroundings of the conversation."""

    panel: int = 0
    """Columns of a panel at the right."""
    panel_from: int = 0
    """It is shown when the screen has more columns than this."""
    scrollbar: str = ""
    """Characters of a scroll bar in the last column."""


@dataclass(frozen=True, slots=True)
class ScreenProfile:
    """The signs of a reply on a program's screen. Patterns match at a row's beginning."""

    name: str
    prompt: PromptRows
    reply: ReplyRows = field(default_factory=ReplyRows)
    tools: ToolRows = field(default_factory=ToolRows)
    asides: AsideRows = field(default_factory=AsideRows)
    frame: ScreenFrame = field(default_factory=ScreenFrame)
    choices: re.Pattern[str] = NEVER
    """Labels of a question whose choices stand in one row."""
    unknown: bool = False
    """Nothing is known of how a reply looks."""
    older: tuple[ScreenProfile, ...] = ()
    """How the program's older versions looked."""

    def unstyled(self) -> ScreenProfile:
        """The same on a screen without colours and bold: what depends on them is left out."""
        aside = re.compile(f"{self.asides.aside.pattern}|{self.asides.coloured_aside.pattern}")
        return replace(
            self,
            prompt=replace(self.prompt, echo_coloured=False, input_muted=False),
            asides=replace(self.asides, aside=aside),
            older=tuple(look.unstyled() for look in self.older),
        )

    def text_cols(self, cols: int) -> int:
        """The columns that are left for the conversation on a screen of `cols`."""
        return cols - self.frame.panel if cols > self.frame.panel_from else cols
