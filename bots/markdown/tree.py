"""A Markdown text as a small tree of frozen values, the same for every platform."""

from __future__ import annotations

from typing import Literal

from contract.values import dataclass

# ── Inline ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Break:
    """The end of a line inside a paragraph, hard or soft: a chat shows both as one."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code span. ticks: the backticks around it in the source."""

    text: str
    ticks: str


@dataclass(frozen=True, slots=True)
class StyledSpan:
    kind: Literal["strong", "emphasis", "strike"]
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A link. form: "text" `[a](url)`, "angle" `<url>`, "bare" an URL in running text."""

    url: str
    children: tuple[Inline, ...]
    form: Literal["text", "angle", "bare"]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    url: str
    alt: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula of LaTeX's. source: with the signs around it, as it was typed."""

    formula: str
    source: str


Inline = Text | Break | Code | StyledSpan | Link | Image | Formula

# ── Blocks ──────────────────────────────────────────────────────────────────────────────

Lines = tuple[int, int]
"""A block's lines in the source: the first one, and the one after the last."""

Align = Literal["left", "right", "center"]


@dataclass(frozen=True, slots=True)
class SourceBlock:
    lines: Lines


@dataclass(frozen=True, slots=True)
class Paragraph(SourceBlock):
    content: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Heading(SourceBlock):
    level: int
    content: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock(SourceBlock):
    """fence: the characters that opened it, "" for an indented block. code: without the last LF.

    closed: a closing fence was there; a block may also end with its container or with the text.
    """

    code: tuple[str, ...]
    info: str = ""
    fence: str = ""
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Quote(SourceBlock):
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ListItem(SourceBlock):
    """number: as it was typed, None in a bulleted list. done: the state of a task, else None."""

    blocks: tuple[Block, ...]
    number: str | None = None
    done: bool | None = None


@dataclass(frozen=True, slots=True)
class List(SourceBlock):
    items: tuple[ListItem, ...]


@dataclass(frozen=True, slots=True)
class TableBlock(SourceBlock):
    """headed: the first row is a header. A continuation, split off from its header, has none."""

    rows: tuple[tuple[tuple[Inline, ...], ...], ...]
    aligns: tuple[Align, ...]
    headed: bool = True


@dataclass(frozen=True, slots=True)
class Rule(SourceBlock):
    """A line between two parts of a text."""


@dataclass(frozen=True, slots=True)
class FormulaBlock(SourceBlock):
    """A formula on lines of its own. source: these lines, with the signs around it."""

    formula: str
    source: tuple[str, ...]


Block = Paragraph | Heading | CodeBlock | Quote | List | TableBlock | Rule | FormulaBlock


@dataclass(frozen=True, slots=True)
class Document:
    """A whole text. source: its lines, without their ends."""

    source: tuple[str, ...]
    blocks: tuple[Block, ...]
