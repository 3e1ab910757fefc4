"""Writes marks around styled text for dialects whose marks may stand within one another.

The spans of the tree are flattened: each bit of a line knows its styles, and marks are set where
the styles change. So a style may be left out around what can't bear it (an escaped sign), none
stands within itself, and none reaches over a line's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from bots.tree import Span
from bots.writer import Bit, Style, Writer


class StyledWriter(Writer):
    """marks: what a style is written with, the same before and after."""

    marks: ClassVar[Mapping[Style, str]]

    def span(self, span: Span) -> Iterator[Bit]:
        for bit in self.bits(span.children):
            if span.kind in bit.styles:
                yield bit
            else:
                yield replace(bit, styles=(span.kind, *bit.styles))

    def join(self, bits: Iterable[Bit]) -> str:
        return "\n".join(self._line(line) for line in _lines(bits))

    def _line(self, bits: list[Bit]) -> str:
        return self.marked([bit for bit in self.escaped(bits) if bit.text])

    def escaped(self, bits: list[Bit]) -> Iterable[Bit]:
        """The bits of a line with the author's own characters made safe."""
        return bits

    def gap(self, before: str, mark: str, after: str, *, opens: bool) -> str:
        """What must stand outside a mark that stands between these two texts."""
        return ""

    def marked(self, bits: Sequence[Bit]) -> str:
        """The line. Blanks at either end of a styled stretch stay outside its marks."""
        out = held = ""
        stack: list[Style] = []
        for bit in [*bits, Bit("")]:
            words = bit.text.lstrip(" \t")
            blanks, styles = bit.text[: len(bit.text) - len(words)], bit.styles
            if not words and bit.text:
                held += bit.text
                continue
            kept = _kept(stack, styles)
            out = self._closed(out, stack[kept:], held + blanks + words)
            opening = [style for style in styles if style not in stack[:kept]]
            stack = [*stack[:kept], *opening]
            out = self._opened(out + held + blanks, opening, words)
            text = words.rstrip(" \t") if bit.role == "text" else words
            out, held = out + text, words[len(text) :]
        return out + held

    def _closed(self, out: str, styles: Sequence[Style], after: str) -> str:
        for style in reversed(styles):
            out += self.marks[style]
        last = self.marks[styles[0]] if styles else ""
        return out + self.gap(out[: -len(last)], last, after, opens=False) if styles else out

    def _opened(self, out: str, styles: Sequence[Style], after: str) -> str:
        if styles:
            out += self.gap(out, self.marks[styles[0]], after, opens=True)
        return out + "".join(self.marks[style] for style in styles)


def _kept(stack: Sequence[Style], styles: Sequence[Style]) -> int:
    for place, style in enumerate(stack):
        if style not in styles:
            return place
    return len(stack)


def _lines(bits: Iterable[Bit]) -> Iterator[list[Bit]]:
    line: list[Bit] = []
    for bit in bits:
        if bit.role == "break":
            yield line
            line = []
        else:
            line.append(bit)
    yield line
