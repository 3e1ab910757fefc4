"""The tokens of a text that may be markup: tags, what hides them, and quotations. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

from contract.values import dataclass

# ── Signs ───────────────────────────────────────────────────────────────────────────

_SIGN = re.compile(
    r"<!\[CDATA\[|<!--|<\?(?=\w)"
    r"|<(?P<slash>/?)(?P<name>[a-z_][\w.-]*+)"
    r"(?P<rest>(?:\s(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)?)(?P<empty>/?)>"
    r"|(?P<quote>`+|~~~+|[\"'“”‘’«»]|&quot;|&apos;|&\#0*3[49];|&\#x0*2[27];)",
    re.IGNORECASE | re.ASCII,
)
_ENDS = {"<![cdata[": "]]>", "<!--": "-->", "<?": "?>"}
_SAME_QUOTE = {
    "&quot;": '"', "&apos;": "'", "&#34;": '"', "&#39;": "'", "&#x22;": '"', "&#x27;": "'",
    "”": "“", "’": "‘", "»": "«",
}  # fmt: skip
_PAIRED = frozenset("“‘«")
_ZEROS = re.compile(r"(?<=[#x])0+")
FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Tag:
    start: int
    end: int
    name: str
    kind: Literal["open", "close", "empty"]


@dataclass(frozen=True, slots=True)
class Hidden:
    """CDATA, a comment or an instruction: `inner` is what of it is text."""

    start: int
    end: int
    inner: str


@dataclass(frozen=True, slots=True)
class Mark:
    start: int
    end: int
    kind: str


class MarkupTokens:
    """All signs of a text, in their order."""

    def __init__(self, text: str) -> None:
        self.tags: list[Tag] = []
        self.hidden: list[Hidden] = []
        self.marks: list[Mark] = []
        self.fences: list[int] = []
        self._endless: set[str] = set()
        at = 0
        while match := _SIGN.search(text, at):
            at = self._take(text, match)

    def _take(self, text: str, match: re.Match[str]) -> int:
        """Note a sign; return where to go on."""
        start, end = match.span()
        if quote := match["quote"]:
            self._take_quote(start, end, quote)
        elif name := match["name"]:
            empty = match["empty"] or match["rest"].endswith("/")
            kind: Literal["open", "close", "empty"]
            kind = "close" if match["slash"] else "empty" if empty else "open"
            self.tags.append(Tag(start, end, name.lower(), kind))
        else:
            return self._hide(text, start, end, match[0].lower())
        return end

    def _take_quote(self, start: int, end: int, quote: str) -> None:
        if quote.startswith(FENCES):
            self.fences.append(start)
            return
        name = _ZEROS.sub("", quote.lower())
        self.marks.append(Mark(start, end, _SAME_QUOTE.get(name, name)))

    def _hide(self, text: str, start: int, end: int, head: str) -> int:
        if head in self._endless or text[start - 1 : start] in ('"', "'", "`"):
            return end
        stop = text.find(_ENDS[head], end)
        if stop < 0:
            self._endless.add(head)
            return end
        after = stop + len(_ENDS[head])
        inner = text[end:stop] if head == "<![cdata[" else ""
        self.hidden.append(Hidden(start, after, inner))
        return after


# ── Quotations ──────────────────────────────────────────────────────────────────────────

_OPENS_AFTER = "([{"
_CLOSES_BEFORE = ")]},.;:!?<>|+&-/\\\"'`"


def quotations(
    text: str, marks: Sequence[Mark], opened: frozenset[int], tags: frozenset[int]
) -> list[tuple[int, int]]:
    """Where quotations begin and end, by their beginnings.

    A mark opens one or closes one by what stands beside it: an apostrophe in a word or behind a
    plural opens nothing. What is never closed is no quotation, unless it begins with a tag: then
    the text was cut off within it. opened: ends of start tags; tags: beginnings of tags.
    """
    waiting: dict[str, list[Mark]] = {}
    found = []
    for mark in marks:
        stack = waiting.setdefault(mark.kind, [])
        role = _role(text, mark, opened)
        if role == "opens" or (role == "either" and not stack):
            stack.append(mark)
        elif role != "neither" and stack:
            found.append((stack.pop().start, mark.end))
    left = (mark for stack in waiting.values() for mark in stack)
    cut = (m for m in left if m.end in tags and m.start not in opened)
    return sorted([*found, *((mark.start, len(text)) for mark in cut)])


Role = Literal["opens", "closes", "either", "neither"]


def _role(text: str, mark: Mark, opened: frozenset[int]) -> Role:
    if mark.kind in _PAIRED:
        return _paired_role(text, mark)
    begin = _without_escapes(text, mark.start)
    before, after = text[max(begin - 1, 0) : begin], text[mark.end : mark.end + 1]
    if mark.start in opened and (after.isalnum() or after == "<"):
        return "opens"
    if before.isalnum():
        return "neither" if after.isalnum() else "closes"
    ends = not after.strip()
    if not before.strip() or before in _OPENS_AFTER:
        return "either" if ends else "opens"
    return "either" if ends or after in _CLOSES_BEFORE else "opens"


def _paired_role(text: str, mark: Mark) -> Role:
    """The role of a mark that has a sign of its own for each end; `’` is an apostrophe as well."""
    if text[mark.start] in _PAIRED:
        return "opens"
    apostrophe = text[mark.start] == "’" and text[mark.end : mark.end + 1].isalnum()
    return "neither" if apostrophe else "closes"


def _without_escapes(text: str, start: int) -> int:
    """Where the backslashes before a mark begin, four at most."""
    begin = start
    while begin and text[begin - 1] == "\\" and start - begin < 4:
        begin -= 1
    return begin


def covered(places: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[bool]:
    """True for each place that lies inside one of the spans; both are in order."""
    reach = list(accumulate((end for _, end in spans), max))
    starts = [start for start, _ in spans]
    counts = (bisect_left(starts, place) for place in places)
    return [n > 0 and reach[n - 1] > place for n, place in zip(counts, places, strict=True)]


# ── Characters ──────────────────────────────────────────────────────────────────────────

_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,7})|#x([0-9a-f]{1,6}));", re.I)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": "\xa0"}


def decoded(text: str) -> str:
    """Entities replaced, once; unknown ones stay as they are."""
    return _ENTITY.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    if name := match[1]:
        return _NAMED[name.lower()]
    code = int(match[2]) if match[2] else int(match[3], 16)
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF or (code < 32 and code not in (9, 10, 13)):
        return match[0]
    return chr(code)
