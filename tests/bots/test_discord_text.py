"""Markdown in, Discord's out; `¦` stands for the zero-width space.

The oracle is a parser with Discord's rules for what stands in a line; it knows no lists.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.discord.text import LIMIT, size, written
from bots.markdown.reader import read
from bots.markdown.tree import Break, Code, Image, Inline, Link, Paragraph, StyledSpan, Text
from tests.doubles.published_parser import PublishedParser, published_parser

Letters = tuple[tuple[str, str, str], ...]
"""Each visible character with its styles, in order, and what it is part of (code, a link)."""

STYLES = {"strong": "B", "emphasis": "I", "strike": "S"}
NAMES = {"strong": "B", "em": "I", "strikethrough": "S"}


def seen(text: str, styles: str = "", kind: str = "") -> Letters:
    return tuple((c, styles, kind) for c in text if not c.isspace() and c != "\u200b")


def meant(content: Iterable[Inline], styles: str = "", kind: str = "") -> Letters:
    letters: Letters = ()
    for node in content:
        match node:
            case Text():
                letters += seen(node.text, styles, kind)
            case Code():
                letters += seen(node.text, styles, kind or "code")
            case StyledSpan():
                inner = "".join(sorted({*styles, STYLES[node.kind]}))
                letters += meant(node.children, inner, kind)
            case Link() if node.form == "text":
                letters += meant(node.children, styles, f"link {node.url}")
            case Link():
                letters += seen(node.url, styles)
            case Image():
                letters += seen(node.alt, styles, f"link {node.url}")
            case Break():
                pass
    return letters


def read_letters(nodes: Any, styles: str = "", kind: str = "") -> Letters:
    letters: Letters = ()
    for node in nodes:
        content = node.get("content")
        match node["type"]:
            case "text":
                letters += seen(content, styles, kind)
            case "strong" | "em" | "strikethrough" as name:
                letters += read_letters(content, "".join(sorted({*styles, NAMES[name]})), kind)
            case "inlineCode":
                letters += seen(content, styles, kind or "code")
            case "link":
                letters += read_letters(content, styles, f"link {unquote(node['target'])}")
            case "url" | "autolink":
                letters += seen(unquote(node["target"]), styles)
            case "br":
                pass
            case "twemoji":
                letters += seen(node["name"], styles, kind)
            case other:
                letters += ((other, styles, kind),)
    return letters


def same(one: Letters, other: Letters) -> bool:
    if [c for c, _, _ in one] != [c for c, _, _ in other]:
        return False
    pairs = zip(one, other, strict=True)
    loose = ("code", "link")
    return all(a == b or (a[2] == b[2] and a[2].startswith(loose)) for a, b in pairs)


@pytest.fixture(scope="module")
def parser() -> Iterator[PublishedParser]:
    with published_parser("markup", "discord-markdown-parser", "extended") as started:
        yield started


def check(markdown: str, parser: PublishedParser) -> None:
    paragraph = read(markdown).blocks[0]
    assert isinstance(paragraph, Paragraph)
    expected = meant(paragraph.content)
    got = read_letters(parser.parse(written(markdown)))
    assert same(expected, got), (written(markdown), expected, got)


WORDS = ["a", "b1", "snake_case", "__", "_x", "y_", "*", "**z", "~", "~~", "`", "||", ":x:", "漢字"]
WORDS += [
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "-",
    "1.",
    "#",
    "-#",
    "|",
    "&",
    "\\\\",
    "\\*",
    "!",
    "😀",
    "é",
]
WORDS += ["main.py", "@bob", "@everyone", "x*y*z", "a_b_c.", "<b>", "¯\\\\_(ツ)_/¯"]

text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def escaped(words: str) -> str:
    return re.sub(r"([\\`*_~\[\]<>#!|()+.:=$&-])", r"\\\1", words)


def labelled(words: str) -> str:
    return f"[{re.sub(r'[][<>`]', '', words).strip() or 'x'}](https://x.com/a_b)"


WHOLE = ["`c`", "`` d`e ``", "`f_g*h`", "https://x.com/a_b_c", "![alt](https://i.jp/k.png)"]
leaves = st.one_of(text, text.map(escaped), text.map(labelled), st.sampled_from(WHOLE))


def inline_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map(lambda x: f"**{x}**"),
        inner.map(lambda x: f"*{x}*"),
        inner.map(lambda x: f"~~{x}~~"),
        inner.map(lambda x: f"({x})"),
        st.tuples(inner, inner).map(" ".join),
        st.tuples(inner, inner).map(", ".join),
    )


# The first word keeps the line a paragraph.
line = st.recursive(leaves, inline_of, max_leaves=6).map(lambda x: "word " + " ".join(x.split()))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(markdown=line)
def test_a_line_means_the_same_to_discords_rules(parser: PublishedParser, markdown: str) -> None:
    check(markdown, parser)


TABLE = [
    ("**bold** *it* ~~gone~~ ***both***", "**bold** *it* ~~gone~~ ***both***"),
    ("__bold__ _it_", "**bold** *it*"),
    ("**a***b*", "**a**¦*b*"),
    (r"\*not\* \_x\_ \|\|s\|\| \`c\`", r"\*not\* \_x\_ \|\|s\|\| \`c\`"),
    ("snake_case a_b_c 2 * 3 ~/a", r"snake_case a_b_c 2 \* 3 ~/a"),
    (r"a\\b c\\_d", r"a\b c\\\_d"),
    ("<@123456789012345678> <#123456789012345678>", "<@123456789012345678> <#123456789012345678>"),
    (
        "<:ok_ay:123456789012345678> <t:1700000000:R>",
        "<:ok_ay:123456789012345678> <t:1700000000:R>",
    ),
    ("@everyone @here bob@here.com", "@¦everyone @¦here bob@here.com"),
    ("# A *b*", "# A *b*"),
    ("### C", "### C"),
    ("## F#", "## F#"),
    ("#### Deep *d*", "**Deep *d***"),
    ("[t](https://x.y) [**t**](https://x.y/a_b)", "[t](https://x.y) [**t**](https://x.y/a_b)"),
    ('[t](https://x.y "why")', "[t](https://x.y) (why)"),
    ("[m.py:4](src/m.py#L4) [m](mailto:a@b.c)", "m.py:4 (src/m.py#L4) m (mailto:a@b.c)"),
    ("[https://a.b](https://x.y)", "https://a.b (<https://x.y>)"),
    ("see https://x.y/a_b. <https://x.y>", "see https://x.y/a_b. <https://x.y>"),
    ("![alt](https://x.y/i.png)", "[alt](https://x.y/i.png)"),
    ("`` a`b ``", "``a`b``"),
    ("```c++ x=1\nint *a;\n```", "```c++\nint *a;\n```"),
    ("~~~\n```\n~~~", "```\n``¦`\n```"),
    ("    in", "```\nin\n```"),
    ("* a\n  + b\n    - c\n* d", "- a\n  - b\n    - c\n- d"),
    ("1) a\n2) b\n   - c", "1. a\n2. b\n   - c"),
    ("- [x] a\n- [ ] b", "- ☑ a\n- ☐ b"),
    ("- a\n  ```py\n  x\n    y\n  ```\n- b", "- a\n```py\nx\n  y\n```\n- b"),
    ("> a\n>\n> b", "> a\n> \n> b"),
    ("> a\n> > b", "> a\n> \\> b"),
    ("> ```py\n> x\n>\n> y\n> ```", "> ```py\n> x\n> \n> y\n> ```"),
    ("a\n\n---\n\nb", "a\n\n──────────\n\nb"),
    ("a\n\\# b\n\\- c\n1986\\. d\n\\-# e\n\\> f", "a\n\\# b\n\\- c\n1986\\. d\n\\-# e\n\\> f"),
    ("a\n>>> b", "a\n> \\> \\> b"),
    ("| a | b |\n|--|-:|\n| **c** | 1 |", "```\n| a   |   b |\n|-----|----:|\n| c   |   1 |\n```"),
]


@pytest.mark.parametrize(("markdown", "expected"), TABLE)
def test_markdown_becomes_discords(markdown: str, expected: str) -> None:
    assert written(markdown).replace("\u200b", "¦") == expected


def test_the_size_is_the_larger_of_the_two_that_may_be_counted() -> None:
    assert size("😀é") == 3
    assert LIMIT < 2_000


def test_code_is_read_as_it_was_by_discords_rules(parser: PublishedParser) -> None:
    code = "def f(a_b):\n    return `a` * **b**  \n\n# end"
    (block,) = parser.parse(written(f"```py\n{code}\n```"))
    assert (block["type"], block["lang"], block["content"]) == ("codeBlock", "py", code)
