"""Markdown to Slack's mrkdwn, mrkdwn as it was typed, and Markdown that Slack reads itself.

An answer that fits one edit is written in mrkdwn; a longer one goes into a `markdown` block, which
has room for three times as much and shows tables and nested lists.

Slack escapes `&`, `<` and `>` and nothing else; mrkdwn has no escape for `*`, `_`, `~` and the
backtick, so a zero-width space stands where they would be misread, and beside a mark that Slack
would overlook next to a letter. (docs.slack.dev, formatting message text; read 2026-11.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from html import escape as escape_html
from itertools import pairwise

from bots.markdown.kept import kept
from bots.markdown.tree import Code, CodeBlock, Inline, Link, StyledSpan, TableBlock
from bots.markdown.writer import (
    ZERO_WIDTH,
    Bit,
    Dialect,
    MarkdownWriter,
    WrittenRow,
    outside_code,
    quiet,
    spelled_out,
)

# chat.update refuses a text beyond 4,000 bytes of escaped UTF-8 (msg_too_long).
LIMIT_BYTES = 3_900

MARKDOWN_CHARS = 11_800
"""The most of a piece. All `markdown` blocks of a message hold 12,000 characters together."""

# What the agent may copy from the header: a person or a channel, with or without its name.
_TOKEN = re.compile(r"<(?:@[UW]|#[CG])[A-Z0-9]{1,32}(?:\|[^<>|&\s*_~`]{0,80})?>")
_SLACKS_OWN = re.compile(r"<([^<>]*)>|&(?:lt|gt|amp);")
_SCHEMES = ("", "http://", "https://", "mailto:", "tel:")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_LINKED = re.compile(r"(?:https?|ftp|mailto|tel|slack):", re.IGNORECASE)
_MARKS = {"strong": "*", "emphasis": "_", "strike": "~"}
_FORMATTING = re.compile(r"[*_~`]")
_MISREAD = re.compile(r"[*_~`]|&gt;")
_CLOSING = {m: re.compile(rf"[^\s{m}]{re.escape(m)}(?![\w{m}])") for m in "*_~`"}
_CALL = re.compile(r"<(?=!(?:here|channel|everyone|subteam\^))")
_QUOTE_SIGN = re.compile(r"^[ \t]*(?=&gt;)", re.MULTILINE)


escape = partial(escape_html, quote=False)


def size_bytes(text: str) -> int:
    """The room that a Markdown text takes in a Slack message."""
    return len(mrkdwn(text).encode())


def markdown(text: str) -> str:
    """The text as Slack may read it itself: nobody is called by it but whom it names.

    A formula, which Slack doesn't know, is shown as code, and a sign that is no emphasis escaped.
    """
    return _CALL.sub(f"<{ZERO_WIDTH}", outside_code(kept(text), quiet)).strip("\n")


def markdown_chars(text: str) -> int:
    """The room that it takes in a `markdown` block, in UTF-16 units; of a short text, nearly."""
    if 3 * len(text) < MARKDOWN_CHARS:
        return len(text)
    return len(markdown(text).encode("utf-16-le")) // 2


def typed(text: str) -> str:
    """A text of Slack's as it was typed: links unlinked, `&`, `<` and `>` themselves again.

    Mentions (`<@U…>`, `<#C…>`, `<!here>`) and links under words of their own stay tokens.
    """
    return _SLACKS_OWN.sub(_typed, text)


def _typed(found: re.Match[str]) -> str:
    inside = found[1]
    if inside is None:
        return unescaped(found[0])
    if inside[:1] in ("@", "#", "!", ""):
        return found[0]
    url, bar, label = inside.partition("|")
    if not bar:
        return unescaped(url) if _URL.match(url) else f"<{unescaped(inside)}>"
    if any(url.rstrip("/") == scheme + label.rstrip("/") for scheme in _SCHEMES):
        return unescaped(label)
    return f"<{unescaped(inside)}>"


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


class _SlackWriter(MarkdownWriter):
    def text(self, text: str) -> str:
        parts, end = [], 0
        for token in _TOKEN.finditer(text):
            parts += [escape(quiet(text[end : token.start()])), token[0]]
            end = token.end()
        return "".join([*parts, escape(quiet(text[end:]))])

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        return self.join(self.span(StyledSpan("strong", content)))

    def quote(self, rows: list[WrittenRow]) -> list[WrittenRow]:
        """Slack quotes from the first column and one level deep: a `>` inside is text."""
        quoted = []
        for row in rows:
            if row.fixed and not row.text.startswith(">"):
                quoted.append(row)
            else:
                inner = re.sub(r"^>+", lambda signs: escape(signs[0]), row.text)
                quoted.append(WrittenRow(f"> {inner}".rstrip(), fixed=True))
        return quoted

    def code_block(self, block: CodeBlock) -> Iterable[str]:
        return fenced(block.code)

    def table(self, table: TableBlock) -> Iterable[str]:
        return fenced(super().table(table))

    def code(self, code: Code) -> str:
        """A code span; one that holds a backtick, which Slack can't show, as it was typed."""
        if "`" not in code.text:
            return f"`{escape(code.text)}`"
        edge = " " if "`" in (code.text[0], code.text[-1]) else ""
        return escape(f"{code.ticks}{edge}{code.text}{edge}{code.ticks}")

    def span(self, span: StyledSpan) -> Iterator[Bit]:
        """Marks don't reach over a line's end in Slack: each line gets its own."""
        line: list[Bit] = []
        for bit in self.bits(_without(span.kind, span.children)):
            if bit.role == "break":
                yield from _marked(line, _MARKS[span.kind])
                yield bit
                line = []
            else:
                line.append(bit)
        yield from _marked(line, _MARKS[span.kind])

    def link(self, link: Link) -> Iterator[Bit]:
        label, url = self.plain(link.children), link.url
        if not _LINKED.match(url):
            yield Bit(self.text(spelled_out(link, label)))
            return
        if link.form == "bare" and not _FORMATTING.search(url):
            yield Bit(escape(url), "link")
            return
        if link.form == "angle" and "|" in url:  # Slack's own `<url|label>`, as the agent saw it
            url, _, label = url.partition("|")
        shown = f"|{escape(quiet(label))}" if label not in ("", url) else ""
        yield Bit(f"<{escape(url.replace('|', '%7C'))}{shown}>", "link")
        if link.title:
            yield Bit(self.text(f" ({link.title})"))

    def join(self, bits: Iterable[Bit]) -> str:
        kept = [Bit(""), *(bit for bit in bits if bit.text), Bit("")]
        text, literal = "", [False] * 0
        for (before, bit), (_, after) in pairwise(pairwise(kept)):
            opens, closes = bit.role in ("open", "code"), bit.role in ("close", "code")
            shown = ZERO_WIDTH if opens and _hides_marks(before.text[-1:]) else ""
            shown += bit.text
            shown += ZERO_WIDTH if closes and _hides_marks(after.text[:1]) else ""
            text += shown
            literal += [bit.role == "text"] * len(shown)
        return _defused(text, literal) if _MISREAD.search(text) else text


def _without(kind: str, content: Iterable[Inline]) -> Iterator[Inline]:
    """The content without marks of a kind that stands around it already: no bold in bold."""
    for node in content:
        if not isinstance(node, StyledSpan):
            yield node
        elif node.kind == kind:
            yield from _without(kind, node.children)
        else:
            yield StyledSpan(node.kind, tuple(_without(kind, node.children)))


def _marked(line: list[Bit], mark: str) -> Iterator[Bit]:
    """A line between two marks; blanks before it stay outside, as Slack asks."""
    if not any(bit.text.strip() for bit in line):
        yield from line
        return
    first = line[0]
    words = first.text.lstrip()
    yield Bit(first.text[: len(first.text) - len(words)])
    yield Bit(mark, "open")
    yield from [Bit(words, first.role), *line[1:]]
    yield Bit(mark, "close")


def fenced(lines: Iterable[str]) -> list[str]:
    """A code block. Slack has no language tags, and three backticks inside would end it."""
    safe = (re.sub(r"(?<=``)(?=`)", ZERO_WIDTH, escape(line)) for line in lines)
    return ["```", *safe, "```"]


def _hides_marks(neighbour: str) -> bool:
    """Slack takes a mark for one only beside a blank or an ASCII sign."""
    return bool(neighbour) and not neighbour.isspace() and not _is_sign(neighbour)


def _is_sign(char: str) -> bool:
    return char.isascii() and not char.isalnum()


def _defused(text: str, literal: list[bool]) -> str:
    """The text with a zero-width space where the author's own characters would format it."""
    spots = [m.end() for m in _QUOTE_SIGN.finditer(text) if literal[m.end()]]
    start = 0
    for line in text.split("\n"):
        for mark in filter(line.__contains__, _CLOSING):
            ends = [m.end() for m in _CLOSING[mark].finditer(line)]
            openers = range(start, start + ends[-1] - 2 if ends else start)
            spots += [i + 1 for i in openers if text[i] == mark and literal[i] and _opens(text, i)]
        start += len(line) + 1
    for spot in sorted(spots, reverse=True):
        text = text[:spot] + ZERO_WIDTH + text[spot:]
    return text


def _opens(text: str, at: int) -> bool:
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    free = not before or before.isspace() or (_is_sign(before) and before != text[at])
    return free and bool(after.strip()) and after != text[at]


# A piece is written when it is split and again when it is posted.
mrkdwn = lru_cache(maxsize=64)(_SlackWriter().write)

DIALECT = Dialect(mrkdwn, markdown_chars, MARKDOWN_CHARS)
