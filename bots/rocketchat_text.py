"""Markdown in Rocket.Chat's dialect, and the room that it takes there. Pure.

Both `*x*` and `**x**` are bold, `_x_` is italic, `~x~` is struck through. A backslash escapes
`*_~`#.` alone, and only outside of marks and labels: a sign that would be misread within a span
is written outside of it, and what has no escape gets a zero-width space. Blocks don't nest.
(@rocket.chat/message-parser 0.32.0)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import ClassVar

from bots.styled import StyledWriter
from bots.tree import Code, CodeBlock, Image, Inline, Item, Link, List, Span, Table
from bots.writer import ZERO_WIDTH, Bit, Row, Style, Writer, quiet, spelled_out

LIMIT = 4_900  # Message_MaxAllowedSize is 5,000 unless an administrator changed it

_LINKED = re.compile(r"(?:https?|ftp|mailto|tel):\S", re.IGNORECASE)
# What stands as it is: mentions, channels, addresses, timestamps.
_TOKEN = re.compile(
    r"(?<![\w@])@[\w][\w.@:-]*|(?<!\S)#[\w.-]*[\w]|<t:[\w:.+-]+>"
    r"|(?<!\S)[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
)
_MARK = re.compile(r"[*_~`]")
_SPOILER = re.compile(r"\|\|")
_EMOJI = re.compile(r"(?<![^\s*_~]):(?=[0-9A-Za-z_+.-]+:(?![^\s*_~]))")
_REFERENCE = re.compile(r"<(?=[^\s|<>]*\|[^<>]*>)|\](?=\()")
_ESCAPES = re.compile(r"\\(?=[*_~`#.])")
_START = re.compile(r"[-*](?=[ \t])|>|(?=[ \t]*-{3,}[ \t]*$)|\|(?=.*\|$)")
_NUMBER = re.compile(r"(\d+)\.(?=[ \t])")
_HEADING = re.compile(r"#{1,4}(?=[ \t])")
_WORD = re.compile(r"[A-Za-z0-9]+(?:__?[A-Za-z0-9]+)*_{0,2}")
_LANGUAGE = re.compile(r"[A-Za-z0-9_.-]+")
_LANGUAGES = {"c++": "cpp", "c#": "csharp", "f#": "fsharp"}
_AFTER_URL = re.compile(r"[.,!%~*\"':;()=]*(?:\s|$)")
_PLAIN_ALT = re.compile(r"[^\[\]()*_~`^{}|\\]*")


@lru_cache(maxsize=64)  # a piece is written when it is split and again when it is posted
def written(text: str) -> str:
    """The Markdown text as Rocket.Chat takes it."""
    return _WRITER.write(text)


def size(text: str) -> int:
    """UTF-16 units of the message that a Markdown text becomes."""
    return len(written(text).encode("utf-16-le", "surrogatepass")) // 2


class _InnerWriter(StyledWriter):
    """Writes what stands in a quote or an item: the dialect has no blocks there."""

    marks: ClassVar[Mapping[Style, str]] = {"strong": "*", "emphasis": "_", "strike": "~"}
    indent = "\u00a0" * 4  # plain blanks at a line's start aren't shown

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        return self.join(self.span(Span("strong", content)))

    def quote(self, rows: list[Row]) -> list[Row]:
        return [row if row.fixed else Row(f"> {row.text}".rstrip(), fixed=True) for row in rows]

    def code_block(self, block: CodeBlock) -> Iterable[str]:
        return _fenced(block.code, block.info)

    def table(self, table: Table) -> Iterable[str]:
        return _fenced(super().table(table))

    def code(self, code: Code) -> str:
        return code.text

    def bits(self, content: Iterable[Inline]) -> Iterator[Bit]:
        for node in content:
            match node:
                case Code():
                    yield from _code(node)
                case Image() if _PLAIN_ALT.fullmatch(node.alt) and _LINKED.match(node.url):
                    yield Bit(f"![{node.alt}]({_url(node.url)})", "image")
                    yield from self._title(node.title)
                case _:
                    yield from super().bits((node,))

    def link(self, link: Link) -> Iterator[Bit]:
        label = self.plain(link.children)
        if not _LINKED.match(link.url):
            yield Bit(self.text(spelled_out(link, label)))
            return
        if label == link.url or not label:
            yield Bit(link.url, "link")
        elif _MARK.search(label) or any(isinstance(node, Span) for node in link.children):
            yield from self._labelled(link, label)
        else:
            yield Bit(f"[{quiet(label)}]({_url(link.url)})", "link")
        yield from self._title(link.title)

    def _labelled(self, link: Link, label: str) -> Iterator[Bit]:
        if not _MARK.search(label):
            shown = self.join(self.bits(link.children)).replace("\n", " ")
            yield Bit(f"[{shown}]({_url(link.url)})", "link")
        elif not re.search(r"[<>|]", label):
            yield Bit(_referred(link.url, quiet(label)), "link")
        else:
            yield Bit(self.text(f"{label} ("))
            yield Bit(link.url, "link")
            yield Bit(")")

    def _title(self, title: str) -> Iterator[Bit]:
        if title:
            yield Bit(self.text(f" ({title})"))

    # ── The author's own signs ──────────────────────────────────────────────────────────

    def escaped(self, bits: list[Bit]) -> Iterator[Bit]:
        bits = [_unquoted(bit) for bit in bits]
        counts = _counts(bits)
        for place, bit in enumerate(bits):
            match bit.role:
                case "text":
                    yield from _literal(bit, counts, at_start=place == 0)
                case "link" if not bit.text.startswith(("[", "<")):
                    after = "".join(b.text for b in bits[place + 1 : place + 3])
                    plain = not bit.styles and _AFTER_URL.match(after)
                    many = any(bit.text.count(mark) > 1 for mark in "*_~`")
                    yield (
                        bit
                        if plain and not many
                        else replace(bit, text=_referred(bit.text, bit.text))
                    )
                case "image":
                    yield replace(bit, styles=())
                case _:
                    yield bit

    def gap(self, before: str, mark: str, after: str, *, opens: bool) -> str:
        if "_" not in mark:
            return ""
        neighbour = before[-1:] if opens else after[:1]
        return ZERO_WIDTH if neighbour.isalnum() else ""


class _RocketChatWriter(_InnerWriter):
    bullet = "-"
    rule = "---"

    @property
    def inside(self) -> Writer:
        return _INNER

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        return f"{'#' * min(level, 4)} {self.join(self.bits(content))}".rstrip("# ")

    def sign(self, item: Item) -> str:
        number = f"{item.number[:-1]}." if item.number else ""
        if item.done is None:
            return number or self.bullet
        if number:
            return f"{number} {self.done if item.done else self.undone}"
        return "- [x]" if item.done else "- [ ]"

    def listed(self, block: List, rows: list[Row]) -> list[Row]:
        if len({item.done is None for item in block.items}) > 1:
            rows = [self._mixed(row) for row in rows]
        short = sum(bool(row.text) for row in rows) == len(block.items)
        return [row for row in rows if row.text] if short else rows

    def _mixed(self, row: Row) -> Row:
        if row.fixed:
            return row
        text = (
            row.text.replace("- [x]", f"- {self.done}", 1) if row.text[:5] == "- [x]" else row.text
        )
        text = text.replace("- [ ]", f"- {self.undone}", 1) if text[:5] == "- [ ]" else text
        return Row(text)

    def table(self, table: Table) -> Iterable[str]:
        rows = [[self._cell(cell) for cell in row] for row in table.rows]
        columns = max(map(len, rows))
        if not table.headed:
            rows.insert(0, [""] * columns)
        lines = [
            "|".join(["", *(f" {cell} " for cell in _padded(row, columns)), ""]) for row in rows
        ]
        dashes = {"left": "---", "right": "--:", "center": ":-:"}
        sides = [
            dashes[a or "left"] for a, _ in zip_longest(table.aligns[:columns], range(columns))
        ]
        lines.insert(1, "|".join(["", *sides, ""]))
        return lines

    def _cell(self, cell: tuple[Inline, ...]) -> str:
        return self.join(self.bits(cell)).replace("\n", " ").replace("|", "\\|")


def _padded(row: list[str], columns: int) -> list[str]:
    return [*row, *[""] * (columns - len(row))]


def _fenced(lines: Iterable[str], info: str = "") -> list[str]:
    """A code block; three backticks inside would end it."""
    safe = [re.sub(r"(?<=``)(?=`)", ZERO_WIDTH, line) for line in lines] or [" "]
    if safe == [""]:
        safe = [" "]
    word = info.split(maxsplit=1)[0] if info.strip() else ""
    word = _LANGUAGES.get(word.lower(), word)
    language = word if _LANGUAGE.fullmatch(word) else ""
    return [f"```{language}", *safe, "```"]


def _code(code: Code) -> Iterator[Bit]:
    """A code span, cut at its backticks, which it can't hold."""
    for part in re.split(r"(`+)", code.text):
        if part.startswith("`"):
            yield Bit(part)
        elif part:
            yield Bit(f"`{part}`", "code")


def _url(url: str) -> str:
    url = url.replace(" ", "%20").replace("|", "%7C").replace("\\", "%5C")
    if re.search(r"\([^()]*\(", url) or url.count("(") != url.count(")"):
        url = url.replace("(", "%28").replace(")", "%29")
    return url


def _referred(url: str, label: str) -> str:
    return f"<{_url(url).replace('(', '%28').replace(')', '%29')}|{label}>"


def _unquoted(bit: Bit) -> Bit:
    return replace(bit, text=quiet(bit.text)) if bit.role == "text" else bit


def _counts(bits: list[Bit]) -> dict[str, int]:
    """How often each mark stands in a line: the author's own, and those of the styles twice."""
    counts = {
        mark: sum(bit.text.count(mark) for bit in bits if bit.role in ("text", "code"))
        for mark in "*_~`"
    }
    for style, mark in _InnerWriter.marks.items():
        counts[mark] += 2 * any(style in bit.styles for bit in bits)
    counts["||"] = sum(bit.text.count("||") for bit in bits if bit.role == "text")
    return counts


def _literal(bit: Bit, counts: dict[str, int], *, at_start: bool) -> Iterator[Bit]:
    end = 0
    for token in _TOKEN.finditer(bit.text):
        yield from _signs(
            replace(bit, text=bit.text[end : token.start()]), counts, at_start and not end
        )
        yield replace(bit, text=token[0], role="token")
        end = token.end()
    yield from _signs(replace(bit, text=bit.text[end:]), counts, at_start and not end)


def _signs(bit: Bit, counts: dict[str, int], at_start: bool) -> Iterator[Bit]:
    text = _EMOJI.sub(":" + ZERO_WIDTH, bit.text)
    text = _REFERENCE.sub(lambda sign: sign[0] + ZERO_WIDTH, text)
    if counts["||"] > 1:
        text = text.replace("||", f"|{ZERO_WIDTH}|")
    if at_start:
        text = (
            _START.sub(lambda sign: ZERO_WIDTH + sign[0], text, count=1)
            if _START.match(text)
            else text
        )
        if number := _NUMBER.match(text):
            yield Bit(f"{number[1]}\\.", "escaped")
            text = text[number.end() :]
        elif _HEADING.match(text):
            yield Bit("\\#", "escaped")
            text = text[1:]
    text = _ESCAPES.sub("\\\\" + ZERO_WIDTH, text)
    end = 0
    for mark in _MARK.finditer(text):
        if counts[mark[0]] > 1 and not (mark[0] == "_" and _in_word(text, mark.start(), bit)):
            yield replace(bit, text=text[end : mark.start()])
            yield Bit("\\" + mark[0], "escaped")
            end = mark.end()
    yield replace(bit, text=text[end:])


def _in_word(text: str, at: int, bit: Bit) -> bool:
    """Whether a `_` stands in a name in snake case, where it is no mark."""
    if "emphasis" in bit.styles:
        return False
    start = at
    while start and (
        (text[start - 1].isascii() and text[start - 1].isalnum()) or text[start - 1] == "_"
    ):
        start -= 1
    word = _WORD.match(text, start)
    before = text[start - 1 : start]
    free = not before or before in " \t" or (not bit.styles and before in "([:!<)]|")
    return bool(free and word and word.start() < at < word.end())


_INNER = _InnerWriter()
_WRITER = _RocketChatWriter()
