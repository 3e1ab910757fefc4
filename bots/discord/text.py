"""Markdown as Discord shows it, and the room that it takes there. Pure.

Discord reads headings of three levels, lists, quotes of one level, fenced code, masked links,
`**`, `*`, `~~` and `||`; no tables, images, rules or tasks. A backslash escapes any ASCII sign.
(support.discord.com, Markdown Text 101; docs.discord.com, Message Formatting; read 2026-11.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from bots.markdown.styled import StyledWriter
from bots.markdown.tree import Code, CodeBlock, Inline, Link, ListItem, StyledSpan, TableBlock
from bots.markdown.writer import (
    ZERO_WIDTH,
    Bit,
    Dialect,
    MarkdownWriter,
    Style,
    WrittenRow,
    quiet,
    spelled_out,
)

LIMIT = 1_990  # a message has 2,000 characters

_LINKED = re.compile(r"https?://\S", re.IGNORECASE)
_LOOKS_LINKED = re.compile(r"https?://|discord\.gg/", re.IGNORECASE)
# People, roles, channels, commands, emoji, times and places of the guild, as Discord writes them.
_TOKEN = re.compile(
    r"<(?:@[!&]?\d{15,21}|#\d{15,21}|/[^<>:\n]{1,100}:\d{15,21}|a?:\w{2,32}:\d{15,21}"
    r"|t:-?\d{1,17}(?::[tTdDfFsSR])?|(?:id|\d{15,21}):[a-z-]+)>"
)
_START = re.compile(r"(?:-#|[-*]|#{1,3}|>{1,3})(?=[ \t])|\d+(?=\.[ \t])")
_SIGN = re.compile(
    r"\\(?=[^0-9A-Za-z\s]|$)|[*`]|_(?![0-9A-Za-z])|(?<![0-9A-Za-z])_|~(?=~)|(?<=~)~|^~|~$"
    r"|\|(?=\|)|(?<=\|)\||^\||\|$|\[(?=[^\[\]\n]*\]\()|<(?=[^\s<>]*:/?[^\s<>]*>)"
)
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]+")
_AFTER_URL = re.compile(r"[.,:;\"'!?]?(?:\s|$)|[)\]][.,:;]?(?:\s|$)")


def size(text: str) -> int:
    """UTF-16 units of the message that a Markdown text becomes.

    Discord itself counts code points, of which there are never more; its clients count units.
    """
    return len(written(text).encode("utf-16-le", "surrogatepass")) // 2


class _InnerWriter(StyledWriter):
    """Writes what stands in an item, where Discord has no headings."""

    marks: ClassVar[Mapping[Style, str]] = {"strong": "**", "emphasis": "*", "strike": "~~"}
    bullet = "-"

    def indent_under(self, sign: str) -> str:
        return " " * (sign.index(" ") + 1 if " " in sign else len(sign) + 1)

    def sign(self, item: ListItem) -> str:
        sign = f"{item.number[:-1]}." if item.number else self.bullet
        if item.done is None:
            return sign
        return f"{sign} {self.done if item.done else self.undone}"

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        return self.join(self.span(StyledSpan("strong", content)))

    def quote(self, rows: list[WrittenRow]) -> list[WrittenRow]:
        return [WrittenRow(f"> {_once(row.text)}", fixed=True) for row in rows]

    def code_block(self, block: CodeBlock) -> Iterable[str]:
        return _fenced(block.code, block.info)

    def table(self, table: TableBlock) -> Iterable[str]:
        return _fenced(super().table(table))

    def code(self, code: Code) -> str:
        ticks = "`"
        while ticks in code.text:
            ticks += "`"
        edge = " " if "`" in (code.text[:1], code.text[-1:]) else ""
        return f"{ticks}{edge}{code.text}{edge}{ticks}"

    def link(self, link: Link) -> Iterator[Bit]:
        label, url = self.plain(link.children), link.url
        if not _LINKED.match(url):
            yield Bit(self.text(spelled_out(link, label)))
            return
        if link.form == "angle":
            yield Bit(f"<{_url(url)}>", "link")
        elif not label or label == url:
            yield Bit(url, "link")
        elif _LOOKS_LINKED.search(label) or not _balanced(label):  # neither is masked
            yield Bit(f"{quiet(label)} (", "text")
            yield Bit(f"<{_url(url)}>", "link")
            yield Bit(")", "text")
        else:
            shown = self.join(self.bits(link.children)).replace("\n", " ")
            yield Bit(f"[{shown}]({_url(url, parens=True)})", "link")
        if link.title:
            yield Bit(f" ({link.title})")

    # ── The author's own signs ──────────────────────────────────────────────────────────

    def escaped(self, bits: list[Bit]) -> Iterator[Bit]:
        for place, bit in enumerate(bits):
            if bit.role == "text":
                yield replace(bit, text=_safe(bit.text, at_start=place == 0))
            elif bit.role == "link" and bit.text.startswith("http"):
                after = "".join(b.text for b in bits[place + 1 : place + 3])
                address = bit.text if _AFTER_URL.match(after) else f"<{_url(bit.text)}>"
                yield _unmarked(replace(bit, text=address))
            else:
                yield _unmarked(bit)

    def gap(self, before: str, mark: str, after: str, *, opens: bool) -> str:
        neighbour = before[-1:] if opens else after[:1]
        return ZERO_WIDTH if neighbour and neighbour in mark else ""

    def seal(self, before: str, mark: str) -> str:
        return ZERO_WIDTH if mark == "~~" and before.endswith("~") else ""


class _DiscordWriter(_InnerWriter):
    @property
    def inside(self) -> MarkdownWriter:
        return _INNER

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        if level > 3:
            return super().heading(content, level)
        words = self.join(self.bits(content))
        return f"{'#' * level} {words}" if words else ""


def _unmarked(bit: Bit) -> Bit:
    """Code or a link without the styles whose marks stand in it: they would end there."""
    marks = _InnerWriter.marks
    return replace(bit, styles=tuple(s for s in bit.styles if marks[s][0] not in bit.text))


def _safe(text: str, *, at_start: bool) -> str:
    parts, end = [], 0
    for token in _TOKEN.finditer(text):
        parts += [_SIGN.sub(r"\\\g<0>", quiet(text[end : token.start()])), token[0]]
        end = token.end()
    safe = "".join([*parts, _SIGN.sub(r"\\\g<0>", quiet(text[end:]))])
    if at_start and (sign := _START.match(text)):
        return safe if safe.startswith("\\") else _started(safe, sign)
    return safe


def _started(text: str, sign: re.Match[str]) -> str:
    return f"{sign[0]}\\{text[sign.end() :]}" if sign[0].isdigit() else f"\\{text}"


def _once(text: str) -> str:
    """Discord quotes one level deep: a `>` inside is text."""
    return re.sub(r"^>(?=[ >])", r"\\>", text)


def _balanced(label: str) -> bool:
    """True if Discord reads a label with these brackets to its end."""
    return not re.search(r"[\[\]]", re.sub(r"\[[^\[\]]*\]", "", label))


def _url(url: str, *, parens: bool = False) -> str:
    url = url.replace(" ", "%20").replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
    if parens and (re.search(r"\([^()]*\(", url) or url.count("(") != url.count(")")):
        url = url.replace("(", "%28").replace(")", "%29")
    return url


def _fenced(lines: Iterable[str], info: str = "") -> list[str]:
    """A code block; three backticks inside would end it."""
    word = info.split(maxsplit=1)[0] if info.strip() else ""
    language = word if _LANGUAGE.fullmatch(word) else ""
    safe = [re.sub(r"(?<=``)(?=`)", ZERO_WIDTH, line) for line in lines]
    return [f"```{language}", *(safe if any(safe) else [" ", *safe[1:]]), "```"]


_INNER = _InnerWriter()
# A piece is written when it is split and again when it is posted.
written = lru_cache(maxsize=64)(_DiscordWriter().write)

DIALECT = Dialect(written, size, LIMIT)
