"""One reader of Markdown for every platform: text in, a tree of values out.

CommonMark with tables, strikethrough and formulas, read for chat: HTML and entities are text, line
breaks and blank lines stay where the author put them, and no character of the text is dropped. Each
block knows its source lines, so that a writer can keep the gaps between blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.tree import SyntaxTreeNode

from bots.markdown import tree
from bots.markdown.parser import MARKDOWN, cells_of

# A piece of a longer text may begin inside a nested list: its indent is no code block.
_CONTINUES = re.compile(r" {4,}(?:[-*+][ \t]|\d{1,9}[.)][ \t]|>|`{3}|~{3})")
_PIPE_ROW = re.compile(r" {0,3}\|[ \t].*[ \t]\|[ \t]*")
# What is an address between angle brackets; `Vec<std::string>` or Slack's `<!subteam^S1|@x>` isn't.
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://|(?:mailto|tel|sms|xmpp|urn):|[\w.+-]+@[\w-]+(?:\.[\w-]+)+$",
    re.IGNORECASE,
)
# A block with three backticks in it is fenced with others, or with more of them.
_LONG_FENCE = re.compile(r"^[ \t>*+\d.)-]*(?:`{4,}|~{3,})", re.MULTILINE)
_TASK = re.compile(r"\[([ xX])\][ \t]+")

# A table's rows are filled up to its longest one. In a table of more cells than these a row ends in
# a cell that holds all the rest, or few long rows among many would make it grow by the square.
MAX_CELLS = 10_000


def read(text: str) -> tree.Document:
    """The tree of a text. Never raises; what it can't read as Markdown is plain lines."""
    source = tuple(_undented(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")))
    try:
        root = SyntaxTreeNode(MARKDOWN.parse("\n".join(source)))
        return tree.Document(source, _continued_table(tuple(_blocks(root, source)), source))
    except RecursionError:
        return tree.Document(source, (tree.Paragraph((0, len(source)), tuple(_plain(source))),))


def with_fences_inside(text: str) -> Iterator[str]:
    """The code blocks of a text that hold three backticks, which end a block on most platforms."""
    if _LONG_FENCE.search(text):
        yield from _fences_inside(read(text).blocks)


def _fences_inside(blocks: Sequence[tree.Block | tree.ListItem]) -> Iterator[str]:
    for block in blocks:
        match block:
            case tree.CodeBlock() if "```" in (code := "\n".join(block.code)):
                yield code
            case tree.Quote() | tree.ListItem():
                yield from _fences_inside(block.blocks)
            case tree.List():
                yield from _fences_inside(block.items)


def _undented(lines: list[str]) -> Iterator[str]:
    if not lines or not _CONTINUES.match(lines[0]):
        return iter(lines)
    indent = len(lines[0]) - len(lines[0].lstrip(" "))
    return _shifted(lines, indent)


def _shifted(lines: list[str], indent: int) -> Iterator[str]:
    inside = True
    for line in lines:
        own = len(line) - len(line.lstrip(" "))
        inside = inside and (own > 1 or not line.strip())
        yield line[min(own, indent) :] if inside else line


def _plain(lines: tuple[str, ...]) -> Iterator[tree.Inline]:
    for number, line in enumerate(lines):
        if number:
            yield tree.Break()
        yield tree.Text(line)


def _span(node: SyntaxTreeNode, source: tuple[str, ...]) -> tree.Lines:
    start, end = node.map or (0, 0)
    while end > start + 1 and not source[end - 1].strip(" \t>"):
        end -= 1
    return start, end


def _blocks(node: SyntaxTreeNode, source: tuple[str, ...]) -> Iterator[tree.Block]:
    for child in node.children:
        yield _block(child, source)


def _block(node: SyntaxTreeNode, source: tuple[str, ...]) -> tree.Block:
    lines = _span(node, source)
    match node.type:
        case "heading":
            return tree.Heading(lines, int(node.tag[1:]), _content(node))
        case "fence" | "code_block":
            return _code_block(node)
        case "blockquote":
            return tree.Quote(lines, _children(node, lines, source))
        case "bullet_list" | "ordered_list":
            return tree.List(lines, _items(node, source))
        case "table":
            return _table(node, lines, source)
        case "hr":
            return tree.Rule(lines)
        case "formula_block":
            return tree.FormulaBlock(lines, node.content, tuple(node.markup.split("\n")))
        case _:
            return tree.Paragraph(lines, _content(node))


def _children(
    node: SyntaxTreeNode, lines: tree.Lines, source: tuple[str, ...]
) -> tuple[tree.Block, ...]:
    """A container's blocks; its source as text where nothing was read in it (nested too deep)."""
    inside = source[slice(*lines)]
    if node.children or not any(re.sub(r"^[\s>]*([-*+]|\d+[.)])?", "", line) for line in inside):
        return tuple(_blocks(node, source))
    return (tree.Paragraph(lines, tuple(_plain(inside))),)


def _code_block(node: SyntaxTreeNode) -> tree.CodeBlock:
    start, end = node.map or (0, 0)
    body = node.content[:-1] if node.content.endswith("\n") else node.content
    code = tuple(body.split("\n")) if node.content else ()
    if node.type == "code_block":
        return tree.CodeBlock((start, end), code)
    closed = end - start - 2 == len(code)
    return tree.CodeBlock((start, end), code, node.info.strip(), node.markup, closed)


def _items(node: SyntaxTreeNode, source: tuple[str, ...]) -> tuple[tree.ListItem, ...]:
    """Numbers are the typed ones; a list that says the same number each time is counted."""
    typed = [child.info for child in node.children]
    if len(typed) > 1 and typed[0] and len(set(typed)) == 1:
        typed = [str(int(typed[0]) + step) for step in range(len(typed))]
    return tuple(
        _item(c, f"{n}{c.markup}" if n else None, source)
        for c, n in zip(node.children, typed, strict=True)
    )


def _item(node: SyntaxTreeNode, number: str | None, source: tuple[str, ...]) -> tree.ListItem:
    lines = _span(node, source)
    blocks = _children(node, lines, source)
    if blocks and isinstance(first := blocks[0], tree.Paragraph) and first.content:
        words = first.content[0]
        if isinstance(words, tree.Text) and (task := _TASK.match(words.text)):
            rest = (tree.Text(words.text[task.end() :]), *first.content[1:])
            blocks = (tree.Paragraph(first.lines, rest), *blocks[1:])
            return tree.ListItem(lines, blocks, number, task[1] != " ")
    return tree.ListItem(lines, blocks, number)


def _table(node: SyntaxTreeNode, lines: tree.Lines, source: tuple[str, ...]) -> tree.TableBlock:
    rows = [row for part in node.children for row in part.children]
    numbers = [lines[0], *range(lines[0] + 2, lines[1])]
    aligns = tuple(_align(cell) for cell in rows[0].children)
    most = max(len(aligns) + 1, MAX_CELLS // len(rows))
    cells = (_row(row, source[number], most) for row, number in zip(rows, numbers, strict=False))
    return tree.TableBlock(lines, tuple(cells), aligns)


def _align(cell: SyntaxTreeNode) -> tree.Align:
    style = str(cell.attrs.get("style", ""))
    return "right" if "right" in style else "center" if "center" in style else "left"


def _row(row: SyntaxTreeNode, line: str, most: int) -> tuple[tuple[tree.Inline, ...], ...]:
    """The cells of a row, with those beyond the header's columns, which GFM would drop."""
    cells = tuple(_content(cell) for cell in row.children)
    extra = _at_most(most, cells_of(line.lstrip(" \t>")))[len(cells) :]
    return cells + tuple((tree.Text(text),) for text in extra)


def _at_most(most: int, cells: list[str]) -> list[str]:
    return cells if len(cells) <= most else [*cells[: most - 1], " | ".join(cells[most - 1 :])]


def _continued_table(
    blocks: tuple[tree.Block, ...], source: tuple[str, ...]
) -> tuple[tree.Block, ...]:
    """Rows at the very start of a text, cut off from their header, are a table as well."""
    if not blocks or not isinstance(first := blocks[0], tree.Paragraph):
        return blocks
    lines = source[slice(*first.lines)]
    if not all(_PIPE_ROW.fullmatch(line) for line in lines):
        return blocks
    found = (_at_most(max(MAX_CELLS // len(lines), 1), cells_of(line)) for line in lines)
    rows = tuple(tuple(map(inline, cells)) for cells in found)
    return (tree.TableBlock(first.lines, rows, aligns=(), headed=False), *blocks[1:])


def inline(text: str) -> tuple[tree.Inline, ...]:
    """The tree of one line's text."""
    tree = SyntaxTreeNode(MARKDOWN.parseInline(text))
    return _content(tree)


def _content(node: SyntaxTreeNode) -> tuple[tree.Inline, ...]:
    found = (child for part in node.children if part.type == "inline" for child in part.children)
    return tuple(_inline(child) for child in found)


def _inline(node: SyntaxTreeNode) -> tree.Inline:
    match node.type:
        case "softbreak" | "hardbreak":
            return tree.Break()
        case "code_inline":
            return tree.Code(node.content, node.markup)
        case "strong" | "em" | "s":
            kinds = {"strong": "strong", "em": "emphasis", "s": "strike"}
            return tree.StyledSpan(kinds[node.type], _inlines(node))  # type: ignore[arg-type]
        case "link":
            form = {"autolink": "angle", "bare": "bare"}.get(node.markup, "text")
            if form == "angle" and not _ADDRESS.match(node.children[0].content):
                return tree.Text(f"<{node.children[0].content}>")
            url, title = str(node.attrs["href"]), str(node.attrs.get("title", ""))
            return tree.Link(url, _inlines(node), form, title)  # type: ignore[arg-type]
        case "image":
            url, title = str(node.attrs["src"]), str(node.attrs.get("title", ""))
            return tree.Image(url, node.content, title)
        case "formula":
            return tree.Formula(node.content, node.markup)
        case _:
            return tree.Text(node.content)


def _inlines(node: SyntaxTreeNode) -> tuple[tree.Inline, ...]:
    return tuple(_inline(child) for child in node.children)
