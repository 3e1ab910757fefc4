"""Writes a tree of Markdown as text for people; a platform's dialect overrides what differs.

As it stands it writes plain text. Lines and blank lines come out where the source has them, code
comes out as it is, and a line of the source that belongs to no block (a link's definition) is
written as text: nothing is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from bots.markdown.reader import read
from bots.markdown.split import LONGEST, split
from bots.markdown.tree import (
    Align,
    Block,
    Break,
    Code,
    CodeBlock,
    Document,
    Formula,
    FormulaBlock,
    Heading,
    Image,
    Inline,
    Link,
    List,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    StyledSpan,
    TableBlock,
    Text,
)
from contract.values import dataclass

ZERO_WIDTH = "\u200b"

Style = Literal["strong", "emphasis", "strike"]

# What notifies a whole room on one platform or another; `@` inside a mail address is none.
_BROADCAST = re.compile(
    r"(?<![A-Za-z0-9._%+-])@(?=(?:here|channel|everyone|all|group|room)\b)", re.IGNORECASE
)

# A column is padded up to this many cells of the terminal's grid; a longer cell sticks out.
_WIDEST_COLUMN = 60


quiet: Callable[[str], str] = partial(_BROADCAST.sub, "@" + ZERO_WIDTH)
"""The text with `@here`, `@all` and their like made harmless, invisibly."""

_CODE = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<fence>`{3,}+(?=[^`\n]*$)|~{3,}+)[^\n]*+"
    r"(?s:.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|(?P<unclosed>\Z))"
    r"|(?<![`\\])(?P<ticks>`++)",
    re.MULTILINE,
)
_TICKS = re.compile(r"`+|\n")


def outside_code(
    text: str, change: Callable[[str], str], inside: Callable[[str], str] = str
) -> str:
    """The Markdown text with what isn't code changed in one way, and code, marks and all, in
    another: by default not at all. A block that nothing closes is no code, to be safe.
    """
    parts, end = [], 0
    for start, after, known in _codes(text):
        parts += [change(text[end:start]), (inside if known else change)(text[start:after])]
        end = after
    return "".join([*parts, change(text[end:])])


def _codes(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where code stands: start, end, and False for a block that nothing closes."""
    closers = _closers(text)
    found = _CODE.search(text)
    while found:
        end = found.end() if found["fence"] else closers.get(found.start())
        if end is not None:
            yield found.start(), end, found["unclosed"] is None
        found = _CODE.search(text, end or found.end())


def _closers(text: str) -> dict[int, int]:
    """The end of the code span that backticks would begin, by their place: as many in its line."""
    ends: dict[int, int] = {}
    before: dict[int, int] = {}  # backticks of this line that nothing closes yet, by their number
    for found in _TICKS.finditer(text):
        if found[0] == "\n":
            before.clear()
        else:
            count = len(found[0])
            if count in before:
                ends[before[count]] = found.end()
            before[count] = found.start()
    return ends


# One line that begins with a letter, and holds nothing that Markdown or its reader looks at.
_PROSE = re.compile(r"[^\W\d_](?:(?!://)[^\n\r\t\0\\`*_~\[\]<>$])*(?<!\s)")


@dataclass(frozen=True, slots=True)
class WrittenRow:
    """A line of output. fixed: its place is the first column, whatever it stands in (code);
    quoted: it has the sign of a quote.
    """

    text: str
    fixed: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Bit:
    """A stretch of a line. role: "text" the author's own characters, "open" and "close" marks of
    the dialect, "code", "link", "image" and "formula" whole ones, marks and all, "token" and
    "escaped" what stands as it is, "break" a line's end. styles: the spans around it, the
    outermost first. spare: another way to write it.
    """

    text: str
    role: Literal[
        "text", "open", "close", "code", "link", "image", "formula", "token", "escaped", "break"
    ] = "text"
    styles: tuple[Style, ...] = ()
    spare: str = ""


class MarkdownWriter:
    """Plain text. One instance may write any number of texts."""

    bullet = "•"
    done, undone = "☑", "☐"
    rule = "─" * 10
    indent = "    "

    @property
    def inside(self) -> MarkdownWriter:
        """The writer of the blocks in a quote or an item, where a dialect knows fewer of them."""
        return self

    def write(self, text: str) -> str:
        """The Markdown text in this dialect, without blank lines around it."""
        if _PROSE.fullmatch(text):
            return self.join([Bit(self.text(text))])
        document = read(text)
        lines = (0, len(document.source))
        rows = self._stack(document.blocks, lines, document) or self._gap(*lines, document)
        return "\n".join(row.text for row in rows).strip("\n")

    # ── Blocks ──────────────────────────────────────────────────────────────────────────

    def _stack(
        self, blocks: Sequence[Block | ListItem], lines: tuple[int, int], document: Document
    ) -> list[WrittenRow]:
        rows: list[WrittenRow] = []
        line = lines[0] if blocks else lines[1]
        for block in blocks:
            rows += self._gap(line, block.lines[0], document)
            rows += self._block(block, document)
            line = block.lines[1]
        rows += self._gap(line, lines[1], document)
        return rows

    def _gap(self, start: int, end: int, document: Document) -> Iterator[WrittenRow]:
        for line in document.source[start:end]:
            text = line.lstrip(" \t>")
            yield WrittenRow(self.join([Bit(self.text(text))])) if text else WrittenRow("")

    def _block(self, block: Block | ListItem, document: Document) -> list[WrittenRow]:
        match block:
            case Paragraph():
                return self._rows(block.content)
            case Heading():
                return [WrittenRow(self.heading(block.content, block.level))]
            case CodeBlock():
                return [WrittenRow(line, fixed=True) for line in self.code_block(block)]
            case Quote():
                return self.quote(self.inside._stack(block.blocks, block.lines, document))
            case List():
                return self.listed(block, self._stack(block.items, block.lines, document))
            case ListItem():
                return self._item(block, document)
            case TableBlock():
                return [WrittenRow(line, fixed=True) for line in self.table(block)]
            case Rule():
                return [WrittenRow(self.rule)]
            case FormulaBlock():
                return self.formula_block(block)

    def _rows(self, content: Iterable[Inline]) -> list[WrittenRow]:
        return [WrittenRow(line) for line in self.join(self.bits(content)).split("\n")]

    def _item(self, item: ListItem, document: Document) -> list[WrittenRow]:
        sign = self.sign(item)
        rows = self.inside._stack(item.blocks, item.lines, document)
        if not rows or rows[0].fixed:
            return [WrittenRow(sign), *rows]
        first = WrittenRow(f"{sign} {rows[0].text}".rstrip())
        return [first, *(self._inset(row, sign) for row in rows[1:])]

    def _inset(self, row: WrittenRow, sign: str) -> WrittenRow:
        return row if row.fixed or not row.text else WrittenRow(self.indent_under(sign) + row.text)

    def indent_under(self, sign: str) -> str:
        return self.indent

    def sign(self, item: ListItem) -> str:
        """The sign at the beginning of an item."""
        if item.done is None:
            return item.number or self.bullet
        state = self.done if item.done else self.undone
        return f"{item.number} {state}" if item.number else state

    def listed(self, block: List, rows: list[WrittenRow]) -> list[WrittenRow]:
        return rows

    def quote(self, rows: list[WrittenRow]) -> list[WrittenRow]:
        return [row if row.fixed else WrittenRow(f"> {row.text}".rstrip()) for row in rows]

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        return self.join(self.bits(content))

    def code_block(self, block: CodeBlock) -> Iterable[str]:
        return block.code

    def formula_block(self, block: FormulaBlock) -> list[WrittenRow]:
        """As code, where a platform draws no formulas: the source, as it is."""
        return [
            WrittenRow(line, fixed=True)
            for line in self.code_block(CodeBlock(block.lines, block.source))
        ]

    def table(self, table: TableBlock) -> Iterable[str]:
        cells = [[self.plain(cell) for cell in row] for row in table.rows]
        return aligned(cells, table.aligns, headed=table.headed)

    # ── Inline ──────────────────────────────────────────────────────────────────────────

    def bits(self, content: Iterable[Inline]) -> Iterator[Bit]:
        for node in content:
            match node:
                case Text():
                    yield Bit(self.text(node.text))
                case Break():
                    yield Bit("\n", "break")
                case Code():
                    yield Bit(self.code(node), "code")
                case StyledSpan():
                    yield from self.span(node)
                case Link():
                    yield from self.link(node)
                case Image():
                    yield from self.link(Link(node.url, (Text(node.alt),), "text", node.title))
                case Formula():
                    yield from self.bits((Code(node.source, "`"),))

    def join(self, bits: Iterable[Bit]) -> str:
        return "".join(bit.text for bit in bits)

    def text(self, text: str) -> str:
        return quiet(text)

    def code(self, code: Code) -> str:
        return code.text

    def span(self, span: StyledSpan) -> Iterator[Bit]:
        return self.bits(span.children)

    def link(self, link: Link) -> Iterator[Bit]:
        yield Bit(self.text(spelled_out(link, self.plain(link.children))))

    def plain(self, content: Iterable[Inline]) -> str:
        """The words alone, on one line, not yet in the dialect."""
        return " ".join(PLAIN.join(PLAIN.bits(content)).split())


def spelled_out(link: Link, label: str) -> str:
    """A link for readers who see no links: `label (url)`."""
    title = f" ({link.title})" if link.title else ""
    if not label or label == link.url or link.form != "text":
        return (label or link.url) + title
    return f"{label} ({link.url}){title}"


def aligned(rows: list[list[str]], aligns: Sequence[Align], *, headed: bool) -> list[str]:
    """The rows of a table under one another in a fixed pitch, wide characters counted as two."""
    columns = max(map(len, rows), default=0)
    full = [[*row, *[""] * (columns - len(row))] for row in rows]
    sides = [*aligns, *["left"] * (columns - len(aligns))]
    widths = [
        max(3, *(_width(row[n]) for row in full if _width(row[n]) <= _WIDEST_COLUMN), 0)
        for n in range(columns)
    ]
    lines = ["| " + " | ".join(map(_padded, row, widths, sides)) + " |" for row in full]
    if headed:
        dashes = [_dashes(width, side) for width, side in zip(widths, sides, strict=True)]
        lines.insert(1, "|" + "|".join(dashes) + "|")
    return lines


def _width(text: str) -> int:
    from wcwidth import wcswidth  # no first reply needs it: it has no table

    width = wcswidth(text)  # -1 with a control character in it
    return width if width >= 0 else len(text)


def _padded(text: str, width: int, side: str) -> str:
    room = max(width - _width(text), 0)
    left = {"left": 0, "right": room, "center": room // 2}[side]
    return " " * left + text + " " * (room - left)


def _dashes(width: int, side: str) -> str:
    start, end = ":" if side == "center" else "-", "-" if side == "left" else ":"
    return start + "-" * width + end


PLAIN = MarkdownWriter()


@dataclass(frozen=True, slots=True)
class Dialect:
    """A platform's way with Markdown: how it is written, its size there, and the room of a post."""

    write: Callable[[str], str]
    size: Callable[[str], int]
    limit: int

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post. Blanks alone are none: they can't be posted."""
        if len(text) <= LONGEST * self.limit and self.size(text) <= self.limit:
            return [text] if text.strip() else []
        return split(text, self.limit, self.size)
