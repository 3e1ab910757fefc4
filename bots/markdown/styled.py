"""Writes marks around styled text for dialects whose marks may stand within one another.

The spans of the tree are flattened: each bit of a line knows its styles, and marks are set where
the styles change. So a style may be left out around what can't bear it (an escaped sign), none
stands within itself, and none reaches over a line's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from bots.markdown.tree import Inline, Link, StyledSpan
from bots.markdown.writer import Bit, MarkdownWriter, Style

_TAIL = 80  # characters before a mark that may tell how it is read: a name's length


class StyledWriter(MarkdownWriter):
    """marks: what a style is written with, the same before and after."""

    marks: ClassVar[Mapping[Style, str]]

    def span(self, span: StyledSpan) -> Iterator[Bit]:
        for bit in self.bits(_without(span.kind, span.children)):
            yield replace(bit, styles=(span.kind, *bit.styles))

    def mark(self, style: Style, words: str) -> str:
        """The sign of a style around these words, the first ones of a stretch."""
        return self.marks[style]

    def join(self, bits: Iterable[Bit]) -> str:
        return "\n".join(self._line(line) for line in _lines(bits))

    def _line(self, bits: list[Bit]) -> str:
        return self.marked([bit for bit in self.escaped(bits) if bit.text])

    def escaped(self, bits: list[Bit]) -> Iterable[Bit]:
        """The bits of a line with the author's own characters made safe."""
        return bits

    def gap(self, before: str, mark: str, after: str, *, opens: bool) -> str:
        """The text that must stand outside a mark between these two texts."""
        return ""

    def seal(self, before: str, mark: str) -> str:
        """The text that must stand between a text and the mark that closes it."""
        return ""

    def breaks(self, before: str, bit: Bit) -> bool:
        """True if a bit would be misread behind a text of the same styles."""
        return False

    def marked(self, bits: Sequence[Bit]) -> str:
        """The line. Blanks at either end of a styled stretch stay outside its marks."""
        line = _StyledLine(self)
        held = ""
        for place, bit in enumerate(bits):
            words = bit.text.lstrip(" \t")
            held += bit.text[: len(bit.text) - len(words)]
            if words:
                ahead = words + "".join(later.text[:80] for later in bits[place + 1 : place + 4])
                text = words.rstrip(" \t") if bit.role == "text" else words
                line.add(held, replace(bit, text=text), ahead)
                held = words[len(text) :]
        line.close(0, held)
        return "".join([*line.parts, held])


class _StyledLine:
    """A line in the making: the marks that stand open, and the last characters written."""

    def __init__(self, writer: StyledWriter) -> None:
        self.writer = writer
        self.parts: list[str] = []
        self.open: list[tuple[Style, str]] = []
        self.tail = ""

    def add(self, blanks: str, bit: Bit, ahead: str) -> None:
        """Write a bit behind these blanks. ahead: the bit and what follows."""
        breaks = not blanks and self.open and self.writer.breaks(self.tail, bit)
        self.close(0 if breaks else self._kept(bit.styles), blanks + ahead)
        self._write(blanks)
        known = [style for style, _ in self.open]
        opening = [style for style in bit.styles if style not in known]
        marks = [(style, self.writer.mark(style, ahead)) for style in opening]
        if marks:
            self._write(self.writer.gap(self.tail, marks[0][1], ahead, opens=True))
        self._write("".join(mark for _, mark in marks) + bit.text)
        self.open += marks

    def close(self, kept: int, after: str) -> None:
        """Write the closing marks of all but the outermost ones. after: what follows them."""
        marks = [mark for _, mark in self.open[kept:]]
        before = self.tail
        for mark in reversed(marks):
            self._write(self.writer.seal(self.tail, mark))
            before = self.tail
            self._write(mark)
        if marks:
            self._write(self.writer.gap(before, marks[0], after, opens=False))
        del self.open[kept:]

    def _kept(self, styles: Sequence[Style]) -> int:
        stays = [style in styles for style, _ in self.open]
        return stays.index(False) if False in stays else len(stays)

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self.tail = (self.tail + text)[-_TAIL:]


def _without(style: Style, content: Iterable[Inline]) -> Iterator[Inline]:
    """The content without a style that stands around it already: no bold in bold."""
    for node in content:
        if isinstance(node, StyledSpan) and node.kind == style:
            yield from _without(style, node.children)
        elif isinstance(node, StyledSpan | Link):
            yield replace(node, children=tuple(_without(style, node.children)))
        else:
            yield node


def _lines(bits: Iterable[Bit]) -> Iterator[list[Bit]]:
    line: list[Bit] = []
    for bit in bits:
        if bit.role == "break":
            yield line
            line = []
        else:
            line.append(bit)
    yield line
