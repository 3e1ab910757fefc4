"""The places where a Markdown text may be cut into posts, and how much a cut there hurts. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from bots.markdown.reader import read
from bots.markdown.tree import (
    Block,
    CodeBlock,
    FormulaBlock,
    Heading,
    List,
    ListItem,
    Quote,
    TableBlock,
)
from contract.values import dataclass

# What a cut before a line costs, against the share of the post that it leaves empty.
AFTER_BLANK, BLOCK, ITEM = 0.0, 0.1, 0.15
BLANK_IN_CODE, IN_CODE, LINE, ROW = 0.25, 0.3, 0.3, 0.3
INDENTED = 0.6  # the line would be read as a code block where it stands alone
TORN = 1.0  # a code block or table that fits a post of its own: any cut before it is better
FORBIDDEN = 2.0

_NEWLINE = re.compile(r"\r\n?|\n")
_LINK_OVER_LINES = re.compile(
    r"\[(?=[^\[\]\r\n]*+[\r\n])[^\[\]]*+\]\([^()\s]*+\)"
    r"|\]\([^()\s]*+\s++\"(?=[^\"\r\n]*+[\r\n])[^\"]*+\"\)"
)
_STARTS_ITSELF = re.compile(r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|>|`{3}|~{3})")

# An info string longer than this is no language; it isn't said again.
_LONGEST_INFO = 60


@dataclass(frozen=True, slots=True)
class Fence:
    """The inside of a fenced block, in offsets: from the first one at which a cut would tear it
    to the first at which it doesn't; `after` is behind its closing line. lead: what each of its
    lines begins with (quote, indent).
    """

    start: int
    end: int
    after: int
    opening: str
    closing: str
    lead: str


class Seams:
    """The lines of a text and what a cut before each of them costs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(newline.end() for newline in _NEWLINE.finditer(text))]
        ends = [*(newline.start() for newline in _NEWLINE.finditer(text)), len(text)]
        self.lines = [text[a:b] for a, b in zip(self.starts, ends, strict=True)]
        self.costs = [_alone(line) for line in self.lines]
        self.fences: list[Fence] = []
        self.wholes: list[tuple[int, int]] = []  # code blocks and tables, in offsets, in order
        self._survey(read(text).blocks, top=True)
        for link in _LINK_OVER_LINES.finditer(text):
            first = bisect_right(self.starts, link.start())
            self._forbid(first, bisect_right(self.starts, link.end() - 1))

    def offset(self, line: int) -> int:
        return self.starts[line] if line < len(self.starts) else len(self.text)

    def at_line_start(self, offset: int) -> bool:
        found = bisect_left(self.starts, offset)
        return found < len(self.starts) and self.starts[found] == offset

    def fence_at(self, offset: int) -> Fence | None:
        """The block that a cut at this offset would tear."""
        fence = self._fence_before(offset)
        return fence if fence and offset < fence.end else None

    def in_closing_fence(self, offset: int) -> bool:
        fence = self._fence_before(offset)
        return fence is not None and fence.end <= offset < fence.after

    def _fence_before(self, offset: int) -> Fence | None:
        found = bisect_right(self.fences, offset, key=lambda fence: fence.start) - 1
        return self.fences[found] if found >= 0 else None

    def whole_at(self, offset: int) -> tuple[int, int] | None:
        """The code block or table that a cut at this offset would tear."""
        found = bisect_right(self.wholes, (offset,)) - 1
        whole = self.wholes[found] if found >= 0 else None
        return whole if whole and whole[0] < offset < whole[1] else None

    def next_allowed(self, line: int) -> int:
        """The offset of the first line from this one on before which a cut is allowed at all."""
        while line < len(self.starts) and self.costs[line] >= FORBIDDEN:
            line += 1
        return self.offset(line)

    # ── The survey ──────────────────────────────────────────────────────────────────────

    def _survey(self, blocks: Sequence[Block], *, top: bool) -> None:
        for block in blocks:
            first, after = block.lines
            if top:
                self._cheapen(first, BLOCK)
                self._cheapen(after, BLOCK)
            match block:
                case CodeBlock():
                    self._survey_code(block)
                case TableBlock():
                    self._survey_table(block)
                case Heading() | FormulaBlock():
                    self._forbid(first + 1, after)
                case Quote():
                    self._survey(block.blocks, top=False)
                case List():
                    self._survey_items(block.items, top=top)
                case _:
                    pass

    def _survey_items(self, items: Sequence[ListItem], *, top: bool) -> None:
        for item in items:
            if top:
                self._cheapen(item.lines[0], ITEM)
            self._survey(item.blocks, top=False)

    def _survey_code(self, block: CodeBlock) -> None:
        first, after = block.lines
        for line in range(first + 1, after):
            self.costs[line] = IN_CODE if self.lines[line - 1].strip() else BLANK_IN_CODE
        self.wholes.append((self.offset(first), self.offset(after)))
        if not block.fence:
            return
        self._forbid(first + 1, first + 2)
        if block.closed:
            self._forbid(after - 1, after)
        self.fences.append(self._fence(block))

    def _fence(self, block: CodeBlock) -> Fence:
        first, after = block.lines
        lead = re.sub(r"[^\s>]", " ", self.lines[first].partition(block.fence)[0])
        info = block.info if len(block.info) <= _LONGEST_INFO else ""
        end = self.offset(after - 1) + 1 if block.closed else self.offset(after)
        return Fence(
            start=self.offset(first + 1),
            end=end,
            after=self.offset(after),
            opening=f"{lead}{block.fence}{info}\n",
            closing=f"{lead}{block.fence}\n",
            lead=lead,
        )

    def _survey_table(self, table: TableBlock) -> None:
        first, after = table.lines
        for line in range(first + 1, after):
            self.costs[line] = ROW
        if table.headed:
            self._forbid(first + 1, min(first + 3, after))
        self.wholes.append((self.offset(first), self.offset(after)))

    def _cheapen(self, line: int, cost: float) -> None:
        if line < len(self.lines):
            blank = line > 0 and not self.lines[line - 1].strip()
            self.costs[line] = min(self.costs[line], AFTER_BLANK if blank else cost)

    def _forbid(self, first: int, after: int) -> None:
        for line in range(first, min(after, len(self.lines))):
            self.costs[line] = FORBIDDEN


def _alone(line: str) -> float:
    deep = line.startswith(("    ", "\t")) and bool(line.strip())
    return INDENTED if deep and not _STARTS_ITSELF.match(line) else LINE
