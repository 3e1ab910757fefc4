"""Rows of a rendered reply turned back into Markdown, as far as they tell.

What a program broke to fit the screen is joined, drawn tables become tables again, drawn
bullets and quote bars become `-` and `>`. Code and lists keep their lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from adapters.reading.tables import indent, read_table, seam

_ITEM = re.compile(r" *(?:[-*+•◦▪‣]|\d{1,3}[.)]|[a-z][.)]|[☐☑]) +")
_QUOTE = re.compile(r"( *)([▎▌▍▏│┃]|>(?= )) ?")
_DRAWN_BULLET = re.compile(r"[•◦▪‣] ")
_DRAWN_TASK = re.compile(r"([☐☑]) ")
# A row that begins like one of these was a line of its own.
_OWN_LINE = re.compile(
    r" *(?:[-*+•◦▪‣☐☑] |(?:\d{1,3}|[a-z])[.)] |#{1,6} |[▎▌▍▏│┃|>├└┌╭╰╞]|```|~~~)"
)
_RULE = re.compile(r" *(?:[─━═—]{3,}|-{3,})$")
_NUMBER = re.compile(r" *(\d{1,5})(?: (.*))?$")
_LANGUAGE = re.compile(
    r"(?:bash|c|console|cpp|css|diff|go|html|ini|java|javascript|js|json|jsx|kotlin|markdown|md"
    r"|php|py|python|ruby|rust|sh|shell|sql|swift|text|toml|ts|tsx|txt|typescript|xml|yaml|yml)$"
)
QUOTES = 8  # quotations within quotations
_BOX_TOP, _BOXED = re.compile(r"[┏╔][━═]+[┓╗]"), re.compile(r"[┃║] +(.*\S) +[┃║]")
_PADDING = re.compile(r"(?<=[ (])\xa0|\xa0(?=[ ,.;:)]|$)|^\xa0")  # around code, by Copilot


def markdown(
    rows: Sequence[str], width: int, *, numbered: bool = False, fence_names: bool = False
) -> str:
    """The reply that these rows show. width: columns that its text may fill.

    numbered: the program puts line numbers before code. fence_names: it takes the fence away
    and leaves the language's name.
    """
    lines = _unboxed([row.rstrip(" ") for row in rows])
    lines = _unnumbered(lines) if numbered else lines
    lines = _unnamed(lines) if fence_names else lines
    return "\n".join(_rendered(lines, width)).strip("\n").rstrip()


def _rendered(lines: Sequence[str], width: int, depth: int = 0) -> list[str]:
    out: list[str] = []
    position = 0
    while position < len(lines):
        if table := read_table(lines, position):
            out += [_PADDING.sub("", line) for line in table.lines]
            position = table.end
        elif depth < QUOTES and (mark := _QUOTE.match(lines[position])):
            end = position
            while end < len(lines) and lines[end].startswith(mark[1] + mark[2]):
                end += 1
            quoted = [lines[i][mark.end() :] for i in range(position, end)]
            inner = _rendered(quoted, width - mark.end(), depth + 1)
            out += [f"{mark[1]}> {line}".rstrip() for line in inner]
            position = end
        else:
            line, position = _paragraph(lines, position, width)
            out.append(_respelled(line))
    return out


def _paragraph(lines: Sequence[str], start: int, width: int) -> tuple[str, int]:
    """The line that begins at `start`, with the rows that it goes on in, and where it ends."""
    first = lines[start]
    line, end = first, start + 1
    if not first.strip() or _RULE.match(first):
        return line, end
    item = _ITEM.match(first)
    begin = indent(first)
    hanging = item.end() if item else begin
    while end < len(lines) and not read_table(lines, end):
        glue = _glue(lines[end - 1], lines[end], width)
        extra = indent(lines[end])
        if glue is None or extra not in {0, 1, begin, begin + 1, hanging, hanging + 1}:
            break
        line += glue + lines[end].lstrip(" ")
        end += 1
    return line, end


def _glue(above: str, row: str, width: int) -> str | None:
    """The joint of a row and the one above if that was broken to fit: "" or " "; else None."""
    if not row.strip() or _OWN_LINE.match(row) or _RULE.match(row):
        return None
    return seam(above, row, width)


def _unboxed(lines: Sequence[str]) -> list[str]:
    """A box around one line is how rich draws a first heading."""
    out: list[str] = []
    for line in lines:
        if out and _BOX_TOP.match(out[-1]) and (match := _BOXED.match(line)):
            out[-1] = f"# {match[1].strip()}"
        elif not (out and out[-1].startswith("# ") and line.startswith(("┗", "╚"))):
            out.append(line)
    return out


def _unnumbered(lines: Sequence[str]) -> list[str]:
    """Take line numbers away: rows in succession numbered from 1, all at the same column."""
    out, position = list(lines), 0
    while position < len(lines):
        count = 0
        for number, line in enumerate(lines[position:], 1):
            match = _NUMBER.match(line)
            if not match or int(match[1]) != number:
                break
            count = number
        if count:
            edge = len(_before_code(lines[position + count - 1]))
            for i in range(position, position + count):
                out[i] = lines[i][edge:]
        position += count or 1
    return out


def _unnamed(lines: Sequence[str]) -> list[str]:
    """Without the names of languages that stand alone above a block."""
    return [
        line
        for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False)
        if above.strip() or not below.strip() or not _LANGUAGE.match(line)
    ]


def _before_code(line: str) -> str:
    head = "".join(takewhile(lambda char: char == " ", line))
    digits = "".join(takewhile(str.isdigit, line[len(head) :]))
    return head + digits + " "


def _respelled(line: str) -> str:
    line = _DRAWN_TASK.sub(lambda m: f"- [{'x' if m[1] == '☑' else ' '}] ", line, count=1)
    return _PADDING.sub("", _DRAWN_BULLET.sub("- ", line, count=1))
