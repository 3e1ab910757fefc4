"""CommonMark's own examples, and how the page and the Python reader render them as HTML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pytest
from playwright.async_api import Page

from bots.markdown.reader import read
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
)
from tests.doubles.bundle import serve_sources

SPEC = Path(__file__).parent / "node_modules" / "commonmark-spec" / "spec.txt"
_EXAMPLE = re.compile(
    r"^`{32} example\n(.*?)^\.\n(.*?)^`{32}$|^#{1,6} +(.*?)$", re.DOTALL | re.MULTILINE
)
# The page makes links of http and https alone, so the examples' addresses are given a host.
_RELATIVE = re.compile(r"(?<![\w/])/ur[li][12]?\b")


@dataclass(frozen=True, slots=True)
class Example:
    """One example by its number in the specification; html: what CommonMark makes of it."""

    number: int
    section: str
    markdown: str
    html: str


def examples() -> list[Example]:
    """Every example of the specification. Without it the test is skipped, in CI it fails."""
    if not SPEC.is_file():
        message = "commonmark-spec is not installed: npm ci in tests/page"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    text = SPEC.read_text(encoding="utf-8").partition("<!-- END TESTS -->")[0]
    return list(_examples(text))


def _examples(text: str) -> Iterator[Example]:
    section, number = "", 0
    for found in _EXAMPLE.finditer(text):
        if found[3] is not None:
            section = found[3]
            continue
        number += 1
        markdown, html = (_hosted(part.replace("→", "\t")) for part in (found[1], found[2]))
        yield Example(number, section, markdown, html)


def _hosted(text: str) -> str:
    return _RELATIVE.sub(r"https://host.test\g<0>", text)


# ── The page ────────────────────────────────────────────────────────────────────────────

_RENDER = """async (texts) => {
  const { markdown } = await import("/source/lib/markdown.js");
  return texts.map((text) => {
    const box = document.createElement("div");
    box.append(markdown(text, new Map()));
    for (const code of box.querySelectorAll(".code")) {
      const language = code.querySelector(".code-head span").textContent;
      const pre = code.querySelector("pre");
      if (language !== "text") pre.firstElementChild.className = `language-${language}`;
      code.replaceWith(pre);
    }
    for (const table of box.querySelectorAll("div.table")) table.replaceWith(...table.childNodes);
    return box.innerHTML;
  });
}"""


async def by_page(page: Page, texts: Iterable[str]) -> list[str]:
    """What the page's own script makes of texts, without the frames around code and tables."""
    await serve_sources(page)
    rendered: list[str] = await page.evaluate(_RENDER, list(texts))
    return rendered


def heading_of_page(html: str) -> str:
    """CommonMark's headings as the page has them: it has an h1 and an h2 of its own."""
    return re.sub(r"(</?h)([1-6])>", lambda found: f"{found[1]}{min(int(found[2]) + 2, 6)}>", html)


# ── The reader ──────────────────────────────────────────────────────────────────────────


def by_reader(text: str) -> str:
    """What the Python reader's tree means, as HTML."""
    return "".join(map(_block, read(text.removesuffix("\n")).blocks))


def _block(block: Block) -> str:
    match block:
        case Paragraph(_, content):
            return f"<p>{_inlines(content)}</p>\n"
        case Heading(_, level, content):
            return f"<h{level}>{_inlines(content)}</h{level}>\n"
        case CodeBlock(_, code, info):
            language = f' class="language-{escape(info.split()[0])}"' if info else ""
            return f"<pre><code{language}>{escape(chr(10).join(code))}</code></pre>\n"
        case Quote(_, blocks):
            return f"<blockquote>\n{''.join(map(_block, blocks))}</blockquote>\n"
        case List(_, items):
            return _list(items)
        case TableBlock():
            raise AssertionError("no example has a table")
        case Rule():
            return "<hr />\n"
        case FormulaBlock():
            raise AssertionError("no example has a formula")


def _list(items: tuple[ListItem, ...]) -> str:
    inside = "".join(f"<li>{''.join(map(_block, item.blocks))}</li>\n" for item in items)
    if (first := items[0].number) is None:
        return f"<ul>\n{inside}</ul>\n"
    number = int(first[:-1])
    start = "" if number == 1 else f' start="{number}"'
    return f"<ol{start}>\n{inside}</ol>\n"


def _inlines(content: tuple[Inline, ...]) -> str:
    return "".join(map(_inline, content))


def _inline(part: Inline) -> str:
    match part:
        case Break():
            return "\n"
        case Code(text):
            return f"<code>{escape(text)}</code>"
        case StyledSpan(kind, children):
            tag = {"strong": "strong", "emphasis": "em", "strike": "del"}[kind]
            return f"<{tag}>{_inlines(children)}</{tag}>"
        case Link(url, children):
            return f'<a href="{escape(url)}">{_inlines(children)}</a>'
        case Image(url, alt):
            return f'<img src="{escape(url)}" alt="{escape(alt)}" />'
        case Formula():
            raise AssertionError("no example has a formula")
        case text:
            return escape(text.text)
