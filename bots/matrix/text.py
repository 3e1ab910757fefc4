"""Markdown as the HTML that Matrix clients show, and the room that it takes in an event. Pure.

Tags and attributes are those of the specification's list for `org.matrix.custom.html`. The
message's other body is the Markdown itself. (spec.matrix.org, m.room.message; read 2026-11.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from html import escape

from bots.markdown import tree
from bots.markdown.reader import read
from bots.markdown.writer import PLAIN, ZERO_WIDTH, Dialect, outside_code, quiet, spelled_out

# An event has 65,536 bytes. The server's own part of one takes up to 4,500 (twenty earlier events,
# signatures); encryption makes four bytes of three, so that 45,700 hold the content; from these
# come 1,200 for mentions, the relation and the keys around both bodies.
LIMIT = 44_500

_LINKED = re.compile(r"(?:https?|ftp|mailto|magnet):\S", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w/@#.])@[\w.=/+-]+:[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9](?::\d{1,5})?")
_LANGUAGE = re.compile(r"[\w+#.-]+")
_ROOM = re.compile(r"@(?=room\b)", re.IGNORECASE)
_escaped = partial(escape, quote=False)
_TAGS = {"strong": "strong", "emphasis": "em", "strike": "del"}


@lru_cache(maxsize=64)  # a piece is written when it is split and again when it is posted
def written(text: str) -> str:
    """The Markdown text as HTML, the `formatted_body` of a message."""
    document = read(text)
    return _stack(document.blocks, (0, len(document.source)), document)


def plain(text: str) -> str:
    """The `body` of a message: the Markdown text itself, without its calls to the whole room.

    In code only `@room` is changed, which old clients look for in the whole of a body.
    """
    return outside_code(text, quiet, partial(_ROOM.sub, "@" + ZERO_WIDTH))


def size(text: str) -> int:
    """Bytes that a Markdown text takes in an event that edits a message: both bodies, twice.

    Counted as in an encrypted event, whose JSON has an escape for all that isn't ASCII.
    """
    return 2 * (len(json.dumps(plain(text))) + len(json.dumps(written(text))))


# Its posts are written as events, with their HTML: see `text_content`.
DIALECT = Dialect(str, size, LIMIT)


# ── Blocks ──────────────────────────────────────────────────────────────────────────────────


def _stack(blocks: Sequence[tree.Block], lines: tuple[int, int], document: tree.Document) -> str:
    parts: list[str] = []
    line = lines[0] if blocks else lines[1]
    for block in blocks:
        parts += _gap(line, block.lines[0], document)
        parts.append(_block(block, document))
        line = block.lines[1]
    return "".join([*parts, *_gap(line, lines[1], document)])


def _gap(start: int, end: int, document: tree.Document) -> Iterator[str]:
    """A line of the source that belongs to no block (a link's definition) is text."""
    for line in document.source[start:end]:
        if text := line.strip(" \t>"):
            yield f"<p>{_text(text)}</p>"


def _block(block: tree.Block, document: tree.Document) -> str:
    match block:
        case tree.Paragraph():
            return f"<p>{_inlines(block.content)}</p>"
        case tree.Heading():
            return f"<h{block.level}>{_inlines(block.content)}</h{block.level}>"
        case tree.CodeBlock():
            return _code_block(block)
        case tree.Quote():
            return f"<blockquote>{_stack(block.blocks, block.lines, document)}</blockquote>"
        case tree.List():
            return _list(block, document)
        case tree.TableBlock():
            return _table(block)
        case tree.Rule():
            return "<hr>"
        case tree.FormulaBlock():
            source = "\n".join(block.source)
            return _formula("div", block.formula, f"<pre><code>{_escaped(source)}</code></pre>")


def _code_block(block: tree.CodeBlock) -> str:
    word = block.info.split(maxsplit=1)[0] if block.info else ""
    language = f' class="language-{word}"' if _LANGUAGE.fullmatch(word) else ""
    code = "".join(f"{_escaped(line)}\n" for line in block.code)
    return f"<pre><code{language}>{code}</code></pre>"


def _list(block: tree.List, document: tree.Document) -> str:
    number = block.items[0].number
    if number is None:
        return f"<ul>{_items(block, document)}</ul>"
    start = int(number[:-1])
    opening = "<ol>" if start == 1 else f'<ol start="{start}">'
    return f"{opening}{_items(block, document)}</ol>"


def _items(block: tree.List, document: tree.Document) -> str:
    return "".join(f"<li>{_item(item, document)}</li>" for item in block.items)


def _item(item: tree.ListItem, document: tree.Document) -> str:
    """An item; the paragraph of one that has a single one stands without its tags."""
    state = "" if item.done is None else "☑ " if item.done else "☐ "
    if item.blocks and isinstance(first := item.blocks[0], tree.Paragraph):
        others = item.blocks[1:]
        rest = _stack(others, (first.lines[1], item.lines[1]), document) if others else ""
        if any(isinstance(block, tree.Paragraph) for block in others):
            return f"<p>{state}{_inlines(first.content)}</p>{rest}"
        return f"{state}{_inlines(first.content)}{rest}"
    return state + _stack(item.blocks, item.lines, document)


def _table(table: tree.TableBlock) -> str:
    rows = [[_inlines(cell) for cell in row] for row in table.rows]
    columns = max(map(len, rows), default=0)
    filled = [row + [""] * (columns - len(row)) for row in rows]
    head, body = (filled[:1], filled[1:]) if table.headed else ([], filled)
    html = "".join(f"<thead>{_row(row, 'th')}</thead>" for row in head)
    return f"<table>{html}<tbody>{''.join(_row(row, 'td') for row in body)}</tbody></table>"


def _row(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


# ── Inline ──────────────────────────────────────────────────────────────────────────────────


def _inlines(content: Iterable[tree.Inline]) -> str:
    return "".join(map(_inline, content))


def _inline(node: tree.Inline) -> str:
    match node:
        case tree.Text():
            return _text(node.text)
        case tree.Break():
            return "<br>"
        case tree.Code():
            return f"<code>{_escaped(node.text)}</code>"
        case tree.StyledSpan():
            tag = _TAGS[node.kind]
            return f"<{tag}>{_inlines(node.children)}</{tag}>"
        case tree.Link():
            return _link(node)
        case tree.Image():
            return _link(
                tree.Link(node.url, (tree.Text(node.alt or node.url),), "text", node.title)
            )
        case tree.Formula():
            return _formula("span", node.formula, f"<code>{_escaped(node.source)}</code>")


def _formula(tag: str, formula: str, source: str) -> str:
    """A formula, drawn by clients that can and shown as its source by the others."""
    return f'<{tag} data-mx-maths="{escape(formula)}">{source}</{tag}>'


def _text(text: str) -> str:
    parts, end = [], 0
    for mention in _MENTION.finditer(text):
        parts += [_words(text[end : mention.start()]), _pill(mention[0])]
        end = mention.end()
    return "".join([*parts, _words(text[end:])])


def _words(text: str) -> str:
    """The text in HTML, its blanks kept at a line's start, where a browser drops them."""
    indent = len(text) - len(text.lstrip(" \t"))
    blanks = text[:indent].expandtabs(4)
    kept = "\u00a0" * len(blanks) if indent > 1 else text[:indent]
    return kept + _escaped(quiet(text[indent:]))


def _pill(user: str) -> str:
    return f'<a href="https://matrix.to/#/{escape(user)}">{escape(user)}</a>'


def _link(link: tree.Link) -> str:
    if not _LINKED.match(link.url):
        return _words(spelled_out(link, PLAIN.plain(link.children)))
    title = _words(f" ({link.title})") if link.title else ""
    label = _inlines(link.children) or escape(link.url)
    return f'<a href="{escape(link.url)}">{label}</a>{title}'
