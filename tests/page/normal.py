"""HTML in a form in which two renderings that look the same are equal.

A soft break is a line break, as in a chat, and an image is a link to it. Blanks at the edges of a
block, titles of links, and how an address is escaped are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from urllib.parse import unquote

VOID = frozenset({"br", "hr", "img", "input"})
BLOCKS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "ul", "ol", "li"})
BLOCKS |= {"hr", "table", "thead", "tbody", "tr", "th", "td", "div"}
KEPT = frozenset({"href", "start"})


@dataclass
class Node:
    """An element; text is a child as a string."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("root")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and any(node.tag == tag for node in self.open[1:]):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def normal(html: str) -> str:
    """The normal form of a piece of HTML."""
    reader = _Reader()
    reader.feed(re.sub(r"<br ?/?>\n", "\n", html))
    reader.close()
    return "".join(_written(_tidied(reader.root.children, inline=False)))


def _tidied(children: list[Node | str], *, inline: bool) -> list[Node | str]:
    """The children with their own children tidied; text joined, and without blanks at its edges."""
    made: list[Node | str] = []
    for child in children:
        for part in _one(child):
            if isinstance(part, str) and made and isinstance(made[-1], str):
                made[-1] += part
            else:
                made.append(part)
    return made if inline else _trimmed(made)


def _one(child: Node | str) -> Iterator[Node | str]:
    if isinstance(child, str):
        for number, line in enumerate(child.split("\n")):
            if number:
                yield Node("br")
            yield line
    elif child.tag == "pre":
        yield _code(child)
    elif child.tag == "p":
        yield Node("p", {}, _tidied(child.children, inline=False))
    else:
        if child.tag == "img":
            child = Node("a", {"href": child.attributes["src"]}, [child.attributes.get("alt", "")])
        kept = {name: child.attributes[name] for name in sorted(KEPT & child.attributes.keys())}
        if "href" in kept:
            kept["href"] = _address(kept["href"])
        yield Node(child.tag, kept, _tidied(child.children, inline=child.tag not in BLOCKS))


def _address(href: str) -> str:
    """An address without percent signs and without the slash of an empty path."""
    return re.sub(r"^(https?://[^/?#]+)/(?=$|[?#])", r"\1", unquote(href))


def _code(node: Node) -> Node:
    code = next((c for c in node.children if isinstance(c, Node)), node)
    language = code.attributes.get("class", "").removeprefix("language-")
    text = "".join(part for part in code.children if isinstance(part, str)).rstrip("\n")
    return Node("pre", {"class": language} if language else {}, [text])


def _trimmed(children: list[Node | str]) -> list[Node | str]:
    """Without breaks and blanks beside blocks and at both ends."""
    made: list[Node | str] = []
    for child in children:
        if isinstance(child, Node) and child.tag in BLOCKS:
            while made and _is_blank(made[-1]):
                made.pop()
        elif _is_blank(child) and (not made or _is_block(made[-1])):
            continue
        made.append(child)
    while made and _is_blank(made[-1]):
        made.pop()
    return [_stripped(made, index) for index in range(len(made))]


def _is_block(child: Node | str) -> bool:
    return isinstance(child, Node) and child.tag in BLOCKS


def _is_blank(child: Node | str) -> bool:
    return child.tag == "br" if isinstance(child, Node) else not child.strip(" ")


def _stripped(children: list[Node | str], index: int) -> Node | str:
    """A text without the blanks that no one sees: beside a break, a block or an end."""
    child = children[index]
    if isinstance(child, Node):
        return child

    def edge(at: int) -> bool:
        if not 0 <= at < len(children):
            return True
        near = children[at]
        return isinstance(near, Node) and (near.tag == "br" or near.tag in BLOCKS)

    child = child.lstrip(" ") if edge(index - 1) else child
    return child.rstrip(" ") if edge(index + 1) else child


def _written(children: list[Node | str], within: str = "root") -> Iterator[str]:
    for child in children:
        if isinstance(child, str):
            yield escape(child, quote=False)
        elif child.tag == "p" and within == "li":
            yield from ("<p>", *_written(child.children))
        elif child.tag in VOID:
            yield f"<{child.tag}>"
        else:
            attributes = "".join(f' {name}="{value}"' for name, value in child.attributes.items())
            yield f"<{child.tag}{attributes}>"
            yield from _written(child.children, child.tag)
            yield f"</{child.tag}>"


def same_lists(form: str) -> str:
    """The form without the difference between a tight list and a loose one."""
    return re.sub(r"</?p>", "", form)
