"""Markdown in Rocket.Chat's dialect, and the room that it takes there. Pure.

Both `*x*` and `**x**` are bold, `_x_` is italic, `~x~` is struck through. A backslash escapes
`*_~`#.` alone, and only outside of marks and labels: a sign that would be misread within a span
is written outside of it, and what has no escape gets a zero-width space. Blocks don't nest.
(@rocket.chat/message-parser 0.32.0)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from bots.markdown.styled import StyledWriter
from bots.markdown.tree import (
    Code,
    CodeBlock,
    Formula,
    FormulaBlock,
    Image,
    Inline,
    Link,
    List,
    ListItem,
    StyledSpan,
    TableBlock,
    Text,
)
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
from bots.rocketchat.escapes import (
    MARK,
    MARKS,
    counted,
    encoded_url,
    harmless,
    joined,
    kisses,
    literal,
    straight,
    unquoted,
    winks,
)

LIMIT = 4_900  # Message_MaxAllowedSize is 5,000 unless an administrator changed it

_BRACKETS = re.compile(
    r"^```.*?^```$|\\\(.*?\\\)|^\\\[.*?\\\]|(?<!\\)`[^`\n]+`|!?\[[^\[\]\n]*\]\((?:[^()\s]|\([^()\s]*\))*\)"
    r"|^- \[[x ]\] ",
    re.MULTILINE | re.DOTALL,
)
_LINKED = re.compile(r"(?:https?|ftp|mailto|tel):\S", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z0-9_.-]+")
_LANGUAGES = {"c++": "cpp", "c#": "csharp", "f#": "fsharp"}
_LABEL_END = re.compile(r"\](?=\((?:[\w+-]+:|[\w-]+\.)\S*\))")
_AFTER_URL = re.compile(r"[.,!%\"':;()=]*(?:\s|$)")
_TAGGED = re.compile(r"[@#][\w.-]*$")
_DOTTED = re.compile(r"[^\s:/@.][^\s:/@]*\.[^\s.]")
_PLAIN_ALT = re.compile(r"[^\[\]()*_~`^{}|\\]*")


@lru_cache(maxsize=64)  # a piece is written when it is split and again when it is posted
def written(text: str) -> str:
    """The Markdown text as Rocket.Chat takes it.

    A bracket of the author's own would begin a label that ends at any later link, lines below:
    in a text that has one, links stand in angles.
    """
    message = _WRITER.write(text)
    return _ANGLED.write(text) if "[" in _BRACKETS.sub("", message) else message


def size(text: str) -> int:
    """UTF-16 units of the message that a Markdown text becomes."""
    return len(written(text).encode("utf-16-le", "surrogatepass")) // 2


class _InnerWriter(StyledWriter):
    """Writes what stands in a quote or an item: the dialect has no blocks there."""

    marks = MARKS
    indent = "\u00a0" * 4  # plain blanks at a line's start aren't shown

    def __init__(self, *, angled: bool) -> None:
        self.angled = angled

    def sign(self, item: ListItem) -> str:
        sign = super().sign(item)
        return f"8{ZERO_WIDTH})" if sign == "8)" else sign  # an emoticon

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        return self.join(self.span(StyledSpan("strong", content)))

    def quote(self, rows: list[WrittenRow]) -> list[WrittenRow]:
        """Quotes begin in the first column and are one level deep: a `>` inside is text."""
        return [
            row
            if row.fixed and not row.quoted
            else WrittenRow(f"> {row.text}".rstrip(), True, True)
            for row in rows
        ]

    def code_block(self, block: CodeBlock) -> Iterable[str]:
        return _fenced(map(self._whole, block.code), block.info)

    def table(self, table: TableBlock) -> Iterable[str]:
        return _fenced(super().table(table))

    def formula_block(self, block: FormulaBlock) -> list[WrittenRow]:
        formula = Formula(" ".join(block.formula.split()), "\n".join(block.source))
        return self._rows((formula,))

    def _whole(self, code: str) -> str:
        """A line of code in which no label can end that a bracket before it began."""
        return _LABEL_END.sub("]" + ZERO_WIDTH, code) if self.angled else code

    def bits(self, content: Iterable[Inline]) -> Iterator[Bit]:
        for node in content:
            match node:
                case Code():
                    yield from _code(self._whole(node.text))
                case Image() if _PLAIN_ALT.fullmatch(node.alt) and _LINKED.match(node.url):
                    spare = _referred(node.url, node.alt or node.url)
                    yield Bit(f"![{node.alt}]({encoded_url(node.url)})", "image", spare=spare)
                    yield from self._title(node.title)
                case Formula() if "\\)" not in node.formula:
                    yield Bit(f"\\({node.formula}\\)", "formula")
                case _:
                    yield from super().bits((node,))

    def link(self, link: Link) -> Iterator[Bit]:
        label = self.plain(link.children)
        if not _LINKED.match(link.url):
            yield Bit(self.text(spelled_out(link, label)))
            return
        if label in ("", link.url):
            yield Bit(link.url, "link")
        else:
            yield from self._labelled(link, label)
        yield from self._title(link.title)

    def _labelled(self, link: Link, label: str) -> Iterator[Bit]:
        """A link under words of its own; in brackets marks count, in angles none does."""
        angled = "" if re.search(r"[<>|]", label) else _referred(link.url, quiet(label))
        if not MARK.search(label):
            content = [*self.bits(_uncoded(link.children))]
            shown = self.marked([harmless(bit) for bit in content])
            shown = shown.replace("\n", " ")
            yield Bit(f"[{shown}]({encoded_url(link.url)})", "link", spare=angled)
        elif angled:
            yield Bit(angled, "link")
        else:
            yield Bit(self.text(f"{label} ("))
            yield Bit(link.url, "link")
            yield Bit(")")

    def _title(self, title: str) -> Iterator[Bit]:
        if title:
            yield Bit(self.text(f" ({title})"))

    # ── The author's own signs ──────────────────────────────────────────────────────────

    def _line(self, bits: list[Bit]) -> str:
        return self.marked([bit for bit in straight(self.escaped(bits)) if bit.text])

    def escaped(self, bits: list[Bit]) -> Iterator[Bit]:
        bits = [unquoted(bit) for bit in joined(bits)]
        counts = counted(bits)
        for place, bit in enumerate(bits):
            match bit.role:
                case "text":
                    yield from literal(bits, place, counts)
                case "link" if not bit.text.startswith(("[", "<")):
                    yield _bare(bit, bits[place + 1 : place + 3])
                case "link" if self.angled and bit.spare:
                    yield replace(bit, text=bit.spare)
                case "image":
                    yield Bit(bit.spare if self.angled else bit.text, "image")
                case "formula":
                    yield replace(bit, styles=())
                case _:
                    yield bit

    def mark(self, style: Style, words: str) -> str:
        """One underscore before a word with a dot in it would be taken for a part of a domain."""
        return "__" if style == "emphasis" and _DOTTED.match(words) else self.marks[style]

    def gap(self, before: str, mark: str, after: str, *, opens: bool) -> str:
        neighbour = before[-1:] if opens else after[:1]
        if opens and neighbour and neighbour in mark and before[-2:-1] != "\\":
            return ZERO_WIDTH
        if winks(before, mark, after, opens=opens):
            return ZERO_WIDTH
        return ZERO_WIDTH if "_" in mark and re.match(r"[^\W_]|[@#]", neighbour) else ""

    def seal(self, before: str, mark: str) -> str:
        """A name that is tagged would take the underscore in."""
        tagged = "_" in mark and _TAGGED.search(before)
        return ZERO_WIDTH if tagged or kisses(before, mark) else ""

    def breaks(self, before: str, bit: Bit) -> bool:
        """Code and links behind a sign in bold are taken for words."""
        return bit.role in ("code", "link") and before[-1:] not in tuple("*_~ \t")


class _CellWriter(_InnerWriter):
    """Writes the rows of a table. The parser reads a row's marks across its cells, and an angle's
    bar as the end of a cell.
    """

    def row(self, cells: Iterable[tuple[Inline, ...]], columns: int) -> str:
        line = []
        for cell in cells:
            line += [Bit("| ", "token"), *map(_unbroken, self.bits(cell)), Bit(" ", "token")]
        missing = columns - sum(bit.text == "| " for bit in line)
        return self._line(line) + "|  " * missing + "|"

    def _labelled(self, link: Link, label: str) -> Iterator[Bit]:
        if self.angled or re.search(r"[*_~`|]", label):
            yield Bit(self.text(f"{label} ("))
            yield Bit(link.url, "link")
            yield Bit(")")
        else:
            yield from super()._labelled(link, label)

    def escaped(self, bits: list[Bit]) -> Iterator[Bit]:
        for bit in super().escaped(bits):
            match bit.role:
                case "text":
                    yield from _barred(bit)
                case "link" | "image" if bit.text.startswith("<"):
                    url, _, label = bit.text[1:-1].partition("|")
                    labelled = not (self.angled or bit.role == "image" or MARK.search(label))
                    yield replace(bit, text=f"[{label}]({url})" if labelled else f"{url} ")
                case _:
                    yield bit


def _barred(bit: Bit) -> Iterator[Bit]:
    """A bit whose bars end no cell. In a code span they do not."""
    for place, words in enumerate(bit.text.split("|")):
        if place:
            yield Bit("\\|", "escaped")
        yield replace(bit, text=words)


def _unbroken(bit: Bit) -> Bit:
    return Bit(" ") if bit.role == "break" else bit


class _RocketChatWriter(_InnerWriter):
    bullet = "-"
    rule = "---"

    def __init__(self, *, angled: bool) -> None:
        super().__init__(angled=angled)
        self._inner = _InnerWriter(angled=angled)
        self._cells = _CellWriter(angled=angled)

    @property
    def inside(self) -> MarkdownWriter:
        return self._inner

    def heading(self, content: tuple[Inline, ...], level: int) -> str:
        words = self.join(self.bits(content))
        return f"{'#' * min(level, 4)} {words}" if words else ""

    def sign(self, item: ListItem) -> str:
        number = f"{item.number[:-1]}." if item.number else ""
        if item.done is None:
            return number or self.bullet
        if number:
            return f"{number} {self.done if item.done else self.undone}"
        return "- [x]" if item.done else "- [ ]"

    def listed(self, block: List, rows: list[WrittenRow]) -> list[WrittenRow]:
        if len({item.done is None for item in block.items}) > 1:
            rows = [self._mixed(row) for row in rows]
        short = sum(bool(row.text) for row in rows) == len(block.items)
        return [row for row in rows if row.text] if short else rows

    def formula_block(self, block: FormulaBlock) -> list[WrittenRow]:
        if "\\]" in block.formula:
            return super().formula_block(block)
        lines = ["\\[", *block.formula.split("\n"), "\\]"]
        return [WrittenRow(line, fixed=True) for line in lines]

    def _mixed(self, row: WrittenRow) -> WrittenRow:
        """A task among items that are none: the parser reads its box as text there."""
        for box, sign in (("- [x]", self.done), ("- [ ]", self.undone)):
            if f"{row.text} ".startswith(f"{box} ") and not row.fixed:
                return WrittenRow(f"- {sign}{row.text[len(box) :]}")
        return row

    def table(self, table: TableBlock) -> Iterable[str]:
        columns = max(map(len, table.rows))
        rows = [self._cells.row(row, columns) for row in table.rows]
        dashes = {"left": "---", "right": "--:", "center": ":-:"}
        sides = [dashes[side] for side in table.aligns[:columns]]
        ruler = "|".join(["", *sides, *["---"] * (columns - len(sides)), ""])
        head = rows[:1] if table.headed else ["|  " * columns + "|"]
        return [*head, ruler, *(rows[1:] if table.headed else rows)]


def _fenced(lines: Iterable[str], info: str = "") -> list[str]:
    """A code block; three backticks inside would end it."""
    safe = [re.sub(r"(?<=``)(?=`)", ZERO_WIDTH, line) for line in lines]
    word = info.split(maxsplit=1)[0] if info.strip() else ""
    word = _LANGUAGES.get(word.lower(), word)
    language = word if _LANGUAGE.fullmatch(word) else ""
    return [f"```{language}", *(safe if any(safe) else [" ", *safe[1:]]), "```"]


def _code(code: str) -> Iterator[Bit]:
    """A code span, cut at its backticks, which it can't hold."""
    for part in re.split(r"(`+)", code):
        if part.startswith("`"):
            yield Bit(part)
        elif part:
            yield Bit(f"`{part}`", "code")


def _uncoded(content: Iterable[Inline]) -> Iterator[Inline]:
    """The content of a label, which has neither code nor images."""
    for node in content:
        match node:
            case Code():
                yield Text(node.text)
            case Image():
                yield Text(node.alt or node.url)
            case Formula():
                yield Text(node.source)
            case StyledSpan():
                yield replace(node, children=tuple(_uncoded(node.children)))
            case _:
                yield node


def _referred(url: str, label: str) -> str:
    address = encoded_url(url).replace("(", "%28").replace(")", "%29")
    return f"<{address}|{label.replace('](', f']{ZERO_WIDTH}(')}>"


def _bare(bit: Bit, after: Sequence[Bit]) -> Bit:
    """An address as it is where it is read so, else in angles: it would take in a mark's gap."""
    plain = bit.styles == () == next((other.styles for other in after if other.text), ())
    plain = plain and bool(_AFTER_URL.match("".join(other.text for other in after)))
    if plain and all(bit.text.count(mark) < 2 for mark in "*_~`"):
        return bit
    label = encoded_url(bit.text) if re.search(r"[<>|]", bit.text) else bit.text
    return replace(bit, text=_referred(bit.text, label))


_WRITER = _RocketChatWriter(angled=False)
_ANGLED = _RocketChatWriter(angled=True)

DIALECT = Dialect(written, size, LIMIT)
