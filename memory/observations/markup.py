"""Records in the markup that a model writes: XML as it is meant, not as it is spelled.

A model writes `n < 5`, `a && b` and `List<String>` into its fields, and quotes what it has seen,
closing tags included. So only the tags of a known shape count, where the shape allows them, and
no tag counts inside quotation marks or backticks that are closed again, in CDATA, or in a
comment. Nothing is ever resolved or expanded but the five entities and numbers. Pure; the time
is linear in the text, and every text gives a result.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import field

from contract.values import dataclass
from memory.observations.markup_tokens import MarkupTokens, covered, decoded, quotations


@dataclass(frozen=True, slots=True)
class Shape:
    """The content of an element. fields: hold text. lists: hold fields of the given names."""

    fields: frozenset[str]
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Element:
    """A whole element. fields: names and texts in their order, also of those in lists."""

    name: str
    fields: tuple[tuple[str, str], ...]

    def first(self, name: str) -> str:
        """The first text that a field has, "" when it has none."""
        return next((text for key, text in self.fields if key == name and text), "")

    def all(self, *names: str) -> list[str]:
        """Every text of these fields, each once."""
        return list(dict.fromkeys(text for key, text in self.fields if key in names and text))


@dataclass(frozen=True, slots=True)
class Parsed:
    """The elements that are whole, and why others are not there."""

    elements: tuple[Element, ...]
    rejected: tuple[str, ...]


def parse(text: str, shapes: Mapping[str, Shape]) -> Parsed:
    """The elements of these names, wherever they stand in a text."""
    return _Parser(text, shapes).parse()


# ── Reading ─────────────────────────────────────────────────────────────────────────────

STEPS_A_TAG = 16  # more looks than this at one tag: the text is a tangle, made to be one


class _Tangled(Exception):
    pass


class _Parser:
    def __init__(self, text: str, shapes: Mapping[str, Shape]) -> None:
        signs = MarkupTokens(text)
        self._text = text
        self._shapes = shapes
        self._known = frozenset(shapes).union(*({*s.fields, *s.lists} for s in shapes.values()))
        opened = frozenset(t.end for t in signs.tags if t.kind == "open" and t.name in self._known)
        starts = frozenset(tag.start for tag in signs.tags if tag.name in self._known)
        quoting = quotations(text, signs.marks, opened, starts)
        quoted = covered([tag.start for tag in signs.tags], quoting)
        self._tags = [t for t, inside in zip(signs.tags, quoted, strict=True) if not inside]
        commented = covered([item.start for item in signs.hidden], quoting)
        self._hidden = [h for h, inside in zip(signs.hidden, commented, strict=True) if not inside]
        self._hidden_starts = [item.start for item in self._hidden]
        self._fences = signs.fences
        self._closes: dict[str, list[int]] = {}
        for index, tag in enumerate(self._tags):
            if tag.kind == "close":
                self._closes.setdefault(tag.name, []).append(index)
        self._steps = STEPS_A_TAG * len(self._tags) + 1000

    def parse(self) -> Parsed:
        elements: list[Element] = []
        rejected: list[str] = []
        at = 0
        try:
            while at < len(self._tags):
                self._step()
                tag = self._tags[at]
                if tag.kind != "open" or tag.name not in self._shapes:
                    at += 1
                    continue
                element, at = self._element(at)
                if element is None:
                    rejected.append(f"<{tag.name}> is not closed")
                else:
                    elements.append(element)
        except _Tangled:
            rejected.append("the markup is a tangle")
        return Parsed(tuple(elements), tuple(rejected))

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise _Tangled

    def _element(self, at: int) -> tuple[Element | None, int]:
        """The element whose start tag is tag `at`, None when it isn't whole; where to go on."""
        name = self._tags[at].name
        fields: list[tuple[str, str]] = []
        inside: str | None = None  # the list that is open
        at += 1
        while at < len(self._tags):
            self._step()
            tag = self._tags[at]
            if tag.kind == "open":
                if tag.name in self._shapes:
                    return None, at
                read = self._part(at, name, inside, fields)
                if read is None:
                    return None, self._restart(at + 1)
                inside, at = read
                continue
            if tag.kind == "close" and tag.name == name:
                return (Element(name, tuple(fields)) if inside is None else None), at + 1
            inside = None if tag.kind == "close" and tag.name == inside else inside
            at += 1
        return None, at

    def _part(
        self, at: int, name: str, inside: str | None, fields: list[tuple[str, str]]
    ) -> tuple[str | None, int] | None:
        """Read what start tag `at` begins within an element, a field into `fields`.

        Returns the list that is open then and where to go on; None when it can't stand there.
        """
        tag, shape = self._tags[at], self._shapes[name]
        if tag.name in shape.fields:
            allowed = inside is None or tag.name in shape.lists[inside]
            close = self._close(at) if allowed else None
            if close is None:
                return None
            fields.append((tag.name, self._text_of(tag.end, self._tags[close].start)))
            return inside, close + 1
        if tag.name in shape.lists:
            return (tag.name, at + 1) if inside is None else None
        return inside, self._after(at, name)

    def _close(self, at: int) -> int | None:
        """The tag that ends the field whose start tag is tag `at`."""
        name, begin = self._tags[at].name, self._tags[at].end
        closes = self._closes.get(name, [])
        if not closes or closes[-1] < at:
            return None
        last = self._tags[closes[-1]].start
        depth = 0  # of whole elements that were written into the field without quotation marks
        for index in range(at + 1, closes[-1] + 1):
            self._step()
            tag = self._tags[index]
            if tag.name not in self._known or self._fenced(begin, tag.start, last):
                continue
            if tag.name in self._shapes:
                depth += 1 if self._begins(index) else -(tag.kind == "close" and depth > 0)
            elif (
                tag.name == name and tag.kind == "close" and not depth and not self._goes_on(index)
            ):
                return index
        return None

    def _begins(self, index: int) -> bool:
        """True if a whole element may begin there, and not only its name is mentioned."""
        tag = self._tags[index]
        if tag.kind != "open" or index + 1 == len(self._tags):
            return False
        first, shape = self._tags[index + 1], self._shapes[tag.name]
        known = first.name in shape.fields or first.name in shape.lists
        return known and first.kind == "open" and not self._text[tag.end : first.start].strip()

    def _goes_on(self, index: int) -> bool:
        """True if the field goes on behind its end tag: words, and then the same tag again."""
        tag = self._tags[index]
        for at in range(index + 1, len(self._tags)):
            self._step()
            follower = self._tags[at]
            if follower.name in self._known:
                again = follower.name == tag.name and follower.kind == "close"
                return again and bool(self._text[tag.end : follower.start].strip())
        return False

    def _fenced(self, begin: int, place: int, last: int) -> bool:
        """True if a place of a field that begins at `begin` lies in a fenced block of it."""
        first, here = bisect_left(self._fences, begin), bisect_left(self._fences, place)
        return (here - first) % 2 == 1 and here < len(self._fences) and self._fences[here] < last

    def _after(self, at: int, name: str) -> int:
        """Where to go on behind an element that the shape doesn't know, all of it left out."""
        ends, own = self._closes.get(name, []), self._closes.get(self._tags[at].name, [])
        end, close = bisect_right(ends, at), bisect_right(own, at)
        if close < len(own) and end < len(ends) and own[close] < ends[end]:
            return own[close] + 1
        return at + 1

    def _restart(self, at: int) -> int:
        """Where the next element begins that doesn't stand in the midst of a text."""
        for index in range(at, len(self._tags)):
            self._step()
            tag = self._tags[index]
            if tag.kind == "open" and tag.name in self._shapes and self._stands_free(tag.start):
                return index
        return len(self._tags)

    def _stands_free(self, place: int) -> bool:
        begin = place
        while begin and self._text[begin - 1].isspace():
            begin -= 1
            if self._text[begin] == "\n":
                return True
        return begin == 0 or self._text[begin - 1] == ">"

    # ── Texts ───────────────────────────────────────────────────────────────────────────

    def _text_of(self, start: int, end: int) -> str:
        """The text that stands there, decoded, without white space at its ends."""
        parts: list[str] = []
        first = bisect_left(self._hidden_starts, start)
        for index in range(first, bisect_left(self._hidden_starts, end)):
            item = self._hidden[index]
            parts += [decoded(self._text[start : item.start]), item.inner]
            start = item.end
        text = "".join((*parts, decoded(self._text[start:end]))).replace("\x00", "")
        return text.encode("utf-8", "replace").decode().strip()
