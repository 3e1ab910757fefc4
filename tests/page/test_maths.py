"""Formulas on Moot's page are those that the Python reader finds, in any text."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from bots.markdown import tree
from bots.markdown.reader import read
from tests.doubles.bundle import serve_sources
from tests.gateway.conftest import address, browser, house, page  # noqa: F401 - fixtures

TEXTS = (
    r"so \( E=mc^2 \) holds",
    r"\(x\) and \(n-1\), but not \(see below\)",
    r"the source \[1\] of it",
    "it costs $$5 and $$6",
    r"inline $$a+b$$ and \[c^2\] here",
    "\\[\n\\frac{a}{b}\n= c\n\\]",
    "words\n$$\n\\sum_{i=1}^n i\n$$\nmore words",
    "$$\nno formula, no end",
    "\\[\na\n\\[\nb^2\n\\]",
    "\\[a\n\\[b\n$$\nc^2\n$$",
    "`\\( E=mc^2 \\)` in code",
    r"a \*literal\* star \(and a bracket\)",
    "    \\[ a^2 \\]",
    "> \\[ a^2 \\]",
    "- item \\(a_1\\)\n- $$b_2$$",
    r"\\(a^2\\) escaped",
)
SHOWN = """async (texts) => {
    const { markdown } = await import("/source/lib/markdown.js");
    return texts.map((text) => {
        const box = document.createElement("div");
        box.append(markdown(text));
        return [...box.querySelectorAll(".formula")].map((node) => node.dataset.tex.trim());
    });
}"""


def formulas(text: str) -> list[str]:
    """The formulas that the Python reader finds, in their order."""
    found: list[str] = []

    def look(node: object) -> None:
        match node:
            case tree.Formula(formula, _) | tree.FormulaBlock(_, formula, _):
                found.append(formula)
            case tuple():
                for one in node:
                    look(one)
            case _ if hasattr(node, "__dataclass_fields__"):
                for name in node.__dataclass_fields__:
                    look(getattr(node, name))

    look(read(text).blocks)
    return found


@pytest.mark.asyncio(loop_scope="session")
async def test_the_page_finds_the_formulas_that_the_reader_finds(page: Page) -> None:  # noqa: F811
    await serve_sources(page)
    shown = await page.evaluate(SHOWN, list(TEXTS))
    assert dict(zip(TEXTS, shown, strict=True)) == {text: formulas(text) for text in TEXTS}
    assert sum(map(len, shown)) > 8
