"""What a Markdown tree means, and what Rocket.Chat's parser read, in one form to compare."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from bots.markdown.tree import (
    Block,
    Break,
    Code,
    CodeBlock,
    Formula,
    FormulaBlock,
    Heading,
    Image,
    Inline,
    Link,
    List,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    StyledSpan,
    TableBlock,
    Text,
)

# ── What the tree means ─────────────────────────────────────────────────────────────────────

Letters = tuple[tuple[str, str, str], ...]
"""Each visible character with its styles, in order, and what it is part of (code, a link)."""

Rows = list[tuple[Any, ...]]

LINKED = re.compile(r"(?:https?|ftp|mailto|tel):\S", re.IGNORECASE)
SHORTCODE = re.compile(r"(.*?)((?<![0-9A-Za-z:]):[0-9A-Za-z_+.-]+:(?![0-9A-Za-z:])|$)", re.DOTALL)
STYLES = {"strong": "B", "emphasis": "I", "strike": "S"}


def seen(text: str, styles: str = "", kind: str = "") -> Letters:
    return tuple((c, styles, kind) for c in text if not c.isspace() and c not in "\u200b\u00a0")


def meant(content: Iterable[Inline], styles: str = "", kind: str = "") -> Letters:
    letters: Letters = ()
    for node in content:
        match node:
            case Text():
                for words, emoji in SHORTCODE.findall(node.text):
                    letters += seen(words, styles, kind) + seen(
                        emoji, "" if kind == "" else styles, kind
                    )
            case Code():
                letters += seen(node.text, styles, kind or "code")
            case StyledSpan():
                inner = "".join(sorted({*styles, STYLES[node.kind]}))
                letters += meant(node.children, inner, kind)
            case Link():
                letters += _meant_link(node, styles)
            case Image() if kind.startswith("link"):
                letters += seen(node.alt or node.url, styles, kind)
            case Image() if LINKED.match(node.url):
                letters += seen(node.alt or node.url, "", f"link {unquote(node.url)}")
                letters += seen(f" ({node.title})" if node.title else "", styles)
            case Image():
                letters += seen(node.alt or node.url, styles)
                letters += seen(f" ({node.url})" if node.alt else "", styles)
                letters += seen(f" ({node.title})" if node.title else "", styles)
            case Formula() if kind or "\\)" in node.formula:
                letters += seen(node.source, styles, kind or "code")
            case Formula():
                letters += seen(node.formula, "", "formula")
            case Break():
                pass
    return letters


def _meant_link(link: Link, styles: str) -> Letters:
    title = seen(f" ({link.title})" if link.title else "", styles)
    label = "".join(c for c, _, _ in meant(link.children))
    if not LINKED.match(link.url):
        words = seen(label or link.url, styles)
        spelled = label and label != link.url and link.form == "text"
        return words + (seen(f" ({link.url})", styles) if spelled else ()) + title
    if not label or label == link.url:
        return seen(link.url, styles) + title
    inner = meant(link.children, styles, f"link {unquote(link.url)}")
    return tuple((c, s, k.replace("code", "")) for c, s, k in inner) + title


def lines_of(content: tuple[Inline, ...]) -> list[Letters]:
    lines: list[list[Inline]] = [[]]
    for node in _broken(content):
        if isinstance(node, Break):
            lines.append([])
        else:
            lines[-1].append(node)
    return [meant(line) for line in lines]


def _broken(content: Iterable[Inline]) -> Iterator[Inline]:
    """The content with breaks outside of spans."""
    for node in content:
        if not isinstance(node, StyledSpan):
            yield node
            continue
        part: list[Inline] = []
        for child in _broken(node.children):
            if isinstance(child, Break):
                yield from (StyledSpan(node.kind, tuple(part)), child)
                part = []
            else:
                part.append(child)
        yield StyledSpan(node.kind, tuple(part))


def rows_meant(blocks: Iterable[Block], *, top: bool = True) -> Rows:
    rows: Rows = []
    for block in blocks:
        match block:
            case Paragraph():
                rows += [("p", line) for line in lines_of(block.content)]
            case Heading() if top:
                rows.append((f"h{min(block.level, 4)}", meant(block.content)))
            case Heading():
                rows.append(("p", meant(block.content, "B")))
            case CodeBlock():
                rows.append(("code", block.code))
            case FormulaBlock() if top:
                rows.append(("formula", seen(block.formula)))
            case FormulaBlock():
                rows.append(("p", seen(block.formula, "", "formula")))
            case Rule():
                rows.append(("hr",) if top else ("p", seen("─" * 10)))
            case Quote():
                rows += [quoted(row) for row in rows_meant(block.blocks, top=False)]
            case TableBlock() if top:
                rows.append(("table", [[meant(cell) for cell in row] for row in block.rows]))
            case TableBlock():
                rows.append(("code",))
            case List():
                rows += [row for item in block.items for row in _meant_item(item, block, top)]
    return rows


def quoted(row: tuple[Any, ...]) -> tuple[Any, ...]:
    if row[0] == "quote":
        return ("quote", seen(">") + row[1])
    return ("quote", row[1]) if row[0] == "p" else row


def _meant_item(item: ListItem, block: List, top: bool) -> Rows:
    rows = rows_meant(item.blocks, top=False)
    state = {None: "", True: "☑", False: "☐"}[item.done]
    number = item.number or ""
    tasks = {other.done is None for other in block.items} == {False}
    if top and tasks and not number:
        kind, sign = f"task {item.done}", ""
    elif top:
        kind, sign = (f"ol {number[:-1]}" if number else "ul"), state
    else:
        kind, sign = "p", (number + state) or state or "•"
    if not rows or rows[0][0] in ("code", "quote"):
        alone = (number[:-1] + "." if top and number else number) + state or "-" * top or "•"
        return [("p", seen(alone)), *rows]
    return [(kind, seen(sign) + rows[0][1]), *rows[1:]]


# ── What the parser reads ───────────────────────────────────────────────────────────────────


def read_inline(nodes: Any, styles: str = "", kind: str = "") -> Letters:
    if isinstance(nodes, dict):
        nodes = [nodes]
    letters: Letters = ()
    for node in nodes:
        value = node.get("value")
        match node["type"]:
            case "PLAIN_TEXT":
                letters += seen(value.replace("%7C", "|"), styles, kind)
            case "BOLD" | "ITALIC" | "STRIKE" as name:
                letters += read_inline(value, "".join(sorted({*styles, name[0]})), kind)
            case "INLINE_CODE":
                letters += seen(value["value"], styles, kind or "code")
            case "MENTION_USER":
                letters += seen("@" + value["value"], styles, kind)
            case "MENTION_CHANNEL":
                letters += seen("#" + value["value"], styles, kind)
            case "EMOJI" if node.get("unicode"):
                letters += seen(node["unicode"], styles, kind)
            case "EMOJI" if value["value"] == node["shortCode"]:
                letters += seen(f":{node['shortCode']}:", styles, kind)
            case "INLINE_KATEX":
                letters += seen(value, styles, "formula")
            case "LINK":
                url = value["src"]["value"]
                inner = read_inline(value["label"], styles, f"link {unquote(url)}")
                label = "".join(c for c, _, _ in inner)
                found = unquote(label) in (unquote(url), re.sub(r"^(//|mailto:|tel:)", "", url))
                letters += seen(label, styles) if found or url.startswith("tel:") else inner
            case "IMAGE":
                url = value["src"]["value"]
                letters += read_inline(value["label"], "", f"link {unquote(url)}")
            case other:
                letters += ((other, styles, kind),)
    return letters


def rows_read(tree: Any) -> Rows:
    rows: Rows = []
    for node in tree:
        value = node.get("value")
        match node["type"]:
            case "PARAGRAPH" | "BIG_EMOJI":
                rows.append(("p", read_inline(value)))
            case "LINE_BREAK":
                pass
            case "HEADING":
                rows.append((f"h{node['level']}", read_inline(value)))
            case "CODE":
                rows.append(("code", tuple(line["value"]["value"] for line in value)))
            case "KATEX":
                rows.append(("formula", seen(value)))
            case "HORIZONTAL_RULE":
                rows.append(("hr",))
            case "QUOTE":
                rows += [("quote", read_inline(line["value"])) for line in value]
            case "UNORDERED_LIST":
                rows += [("ul", read_inline(item["value"])) for item in value]
            case "ORDERED_LIST":
                rows += [(f"ol {item['number']}", read_inline(item["value"])) for item in value]
            case "TASKS":
                rows += [(f"task {item['status']}", read_inline(item["value"])) for item in value]
            case "TABLE":
                lines = [value["header"], *(row["value"] for row in value["rows"])]
                rows.append(("table", [[read_inline(c["value"]) for c in line] for line in lines]))
            case other:
                rows.append((other, ((str(value), "", ""),)))
    return rows


# ── Both, compared ──────────────────────────────────────────────────────────────────────────


def same_letters(one: Letters, other: Letters) -> bool:
    if [c for c, _, _ in one] != [c for c, _, _ in other]:
        return False
    pairs = zip(one, other, strict=True)
    return all(a == b or a[0] in "*_~`|" or (a[2] == b[2] != "") for a, b in pairs)


def comparable(rows: Rows) -> Rows:
    kept = [row for row in rows if row[0] in ("code", "hr", "table") or row[1]]
    return [row for row in kept if row[0] != "quote" or any(c != ">" for c, _, _ in row[1])]


def same(meant_rows: Rows, read_rows: Rows) -> bool:
    one, other = comparable(meant_rows), comparable(read_rows)
    return len(one) == len(other) and all(map(same_row, one, other))


def same_row(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if one[0] != other[0]:
        return False
    match one[0]:
        case "hr":
            return True
        case "code":
            return len(one) == 1 or safe_code(one[1]) == safe_code(other[1])
        case "table":
            width = max(map(len, one[1]))
            padded = [[*row, *[()] * (width - len(row))] for row in one[1]]
            return len(padded) == len(other[1]) and all(
                all(map(same_letters, a, b)) for a, b in zip(padded, other[1], strict=True)
            )
        case _:
            return same_letters(one[1], other[1])


def safe_code(lines: Iterable[str]) -> list[str]:
    kept = [line.replace("\u200b", "") for line in lines]
    while kept and not kept[0].strip():  # the parser drops a blank line at the start
        kept.pop(0)
    return kept
