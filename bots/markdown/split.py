"""Cuts a long Markdown text into pieces that each fit one post. Pure.

The pieces' bodies put together are the text, byte for byte. Where a cut falls into a fenced code
block, the piece before it gets a closing fence and the piece after it the opening one again: the
same characters, indent and language. Cuts are taken where they hurt least: between blocks, after
a blank line, between items, lines, rows of a table (whose header isn't repeated). Only a single
line that is longer than a post is cut within: after a sentence, a word, or, in code, a grapheme.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import regex

from bots.markdown.parser import IN_BRACKETS
from bots.markdown.seams import FORBIDDEN, TORN, Seams
from contract.values import dataclass

# Links, formulas, code spans and platform tokens: a line is not cut inside one.
_ATOM = re.compile(
    r"!?\[[^\[\]\n]*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)"
    rf"|\\\({IN_BRACKETS}\\\)"
    r"|<[^<>\s]+>|(?P<ticks>`+)[^`\n]*(?P=ticks)|https?://\S+"
)
_SENTENCE_END = re.compile(r"[.!?…]['\")\]]*\s+|[。！？]")
_WORD_END = re.compile(r"\s+")

# Guesses by proportion before a search by halves: the size of a piece is nearly linear. A piece
# as full as this is full enough: each further guess costs a rendering.
_GUESSES = 4
_FULL = 0.93
LONGEST = 4  # times the limit: what is longer as Markdown fits no post


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text, and the fence lines that let it stand alone."""

    body: str
    opening: str = ""
    closing: str = ""

    @property
    def text(self) -> str:
        return self.opening + self.body + self.closing


def split(text: str, limit: int, size: Callable[[str], int] = len) -> list[str]:
    """The text in pieces of at most `limit`, as `size` measures a piece of Markdown.

    limit: some hundreds at least. A piece exceeds it only where one grapheme and its fence do.
    A stretch of blanks alone is no piece: it can't be posted.
    """
    return [piece.text for piece in pieces(text, limit, size) if piece.text.strip()]


def with_a_file(split: Sequence[str], most: int, lines: int) -> list[str]:
    """The posts of a text that is too long for `most` of them, where a file follows with all of it:
    its beginning, and a line on the file. A person reads the beginning first, on a phone, too.
    """
    told = f"(It goes on in the attached file, which holds the whole answer of {lines:,} lines.)"
    return [*split[: max(most - 1, 1)], told]


def pieces(text: str, limit: int, size: Callable[[str], int] = len) -> list[Piece]:
    """The same pieces, with the added fence lines told apart from the text."""
    return list(_Cutter(text, limit, size).pieces())


class _Cutter:
    def __init__(self, text: str, limit: int, size: Callable[[str], int]) -> None:
        self.text, self.limit, self.size = text, limit, size
        self.seams = Seams(text)
        self._kept: set[tuple[int, int]] = set()  # blocks found to fit a post of their own

    def pieces(self) -> Iterator[Piece]:
        at, words_end = 0, len(self.text.rstrip())
        while at < len(self.text):
            cut = self._next_cut(at) if at < words_end else len(self.text)
            if words_end <= cut < len(self.text):
                cut = self._with_the_tail(at, cut)
            yield self._piece(at, cut)
            at = cut

    def _with_the_tail(self, at: int, cut: int) -> int:
        """A cut that leaves no post of blanks alone: they stay with some of the words."""
        if self._measure(at, len(self.text)) <= self.limit:
            return len(self.text)
        last_word = len(self.text.rstrip()) - 1
        return self._cut_in_line(at, last_word) if last_word > at else cut

    def _piece(self, at: int, cut: int) -> Piece:
        opening = closing = ""
        if fence := self.seams.fence_at(at):
            opening = fence.opening + ("" if self.seams.at_line_start(at) else fence.lead)
        if cut < len(self.text) and (fence := self.seams.fence_at(cut)):
            closing = fence.closing if self.seams.at_line_start(cut) else "\n" + fence.closing
        return Piece(self.text[at:cut], opening, closing)

    def _measure(self, at: int, cut: int) -> int:
        return self.size(self._piece(at, cut).text)

    def _next_cut(self, at: int) -> int:
        """The offset at which the piece that begins at `at` ends."""
        rest = len(self.text) - at
        if rest <= LONGEST * self.limit and self._measure(at, len(self.text)) <= self.limit:
            return len(self.text)
        starts = self.seams.starts
        first = bisect_right(starts, at)
        last = first + self._furthest(at, starts[first:])
        while last >= first:
            cut = max(range(first, last + 1), key=lambda line: self._worth(at, line, last))
            if self.seams.costs[cut] >= FORBIDDEN:
                break
            if self._tears(at, starts[cut]):
                continue
            if self._measure(at, starts[cut]) <= self.limit:
                return starts[cut]
            last = cut - 1
        return self._cut_in_line(at, self.seams.next_allowed(first))

    def _furthest(self, at: int, offsets: Sequence[int]) -> int:
        """The place of an offset up to which the piece fits, and is nearly full unless the next
        one would be too much; -1 if it fits up to none of them.
        """
        low, high, tries = -1, bisect_right(offsets, at + LONGEST * self.limit) - 1, 0
        reach = at + self.limit
        while low < high:
            near = bisect_right(offsets, reach) - 1
            middle = near if tries < _GUESSES else (low + high + 1) // 2
            middle = min(max(middle, low + 1), high)
            measured = self._measure(at, offsets[middle])
            if _FULL * self.limit <= measured <= self.limit:
                return middle
            low, high = (middle, high) if measured <= self.limit else (low, middle - 1)
            reach = at + (offsets[middle] - at) * self.limit // max(measured, 1)
            tries += 1
        return low

    def _worth(self, at: int, line: int, last: int) -> float:
        """The worth of a cut before this line: how full the post is, less what the cut costs."""
        offset, furthest = self.seams.starts[line], self.seams.starts[last]
        cost = self.seams.costs[line]
        whole = self.seams.whole_at(offset)
        if whole and at < whole[0] and whole in self._kept:
            cost = max(cost, TORN)
        return (offset - at) / max(furthest - at, 1) - cost

    def _tears(self, at: int, cut: int) -> bool:
        """True if the cut goes through a block that could go whole into the next post."""
        whole = self.seams.whole_at(cut)
        if not whole or whole in self._kept or at >= whole[0]:
            return False
        if self._measure(*whole) > self.limit:
            return False
        self._kept.add(whole)
        return True

    def _cut_in_line(self, at: int, end: int) -> int:
        """A cut before `end`, where no cut at a line's start will do."""
        line = self.text[at : min(end, at + LONGEST * self.limit)]
        ends = [grapheme.end() for grapheme in regex.finditer(r"\X", line)]
        ends = [end for end in ends if not self.seams.in_closing_fence(at + end)]
        most = max(self._furthest(at, [at + end for end in ends]), 0)
        if self.seams.fence_at(at + ends[most]):
            return at + ends[most]
        soft = _softened(line, ends[: most + 1])
        return at + (soft if self._measure(at, at + soft) <= self.limit else ends[most])


def _softened(line: str, ends: list[int]) -> int:
    """The best of the cuts in a line, not far before the last: no link, no word is torn."""
    atoms = [atom.span() for atom in _ATOM.finditer(line)]
    torn = {end for a, b in atoms for end in range(a + 1, b)}
    whole = [end for end in ends if end not in torn] or ends
    most, allowed = whole[-1], set(whole)
    for pattern in (_SENTENCE_END, _WORD_END):
        cuts = [found.end() for found in pattern.finditer(line, 0, most)]
        if cuts := [cut for cut in cuts if cut > most // 2 and cut in allowed]:
            return cuts[-1]
    return most
