"""Formulas on Moot's page: read by the rule of the Python reader, drawn as MathML."""

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
        return [...box.querySelectorAll("math")].map((node) => node.getAttribute("aria-label"));
    });
}"""
DRAWN = """async (formulas) => {
    const { formulaAt } = await import("/source/lib/maths.js");
    return formulas.map((formula) => formulaAt(`\\\\(${formula}\\\\)`, 0).node.outerHTML);
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


@pytest.mark.asyncio(loop_scope="session")
async def test_a_formula_is_drawn_and_what_is_not_known_stands_as_its_source(
    page: Page,  # noqa: F811
) -> None:
    known = {
        "x^2_1": "<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>",
        r"\frac{a}{2}": "<mfrac><mrow><mi>a</mi></mrow><mrow><mn>2</mn></mrow></mfrac>",
        r"\sqrt[3]{x}": "<mroot><mrow><mi>x</mi></mrow><mrow><mn>3</mn></mrow></mroot>",
        r"\sum_{i} i": "<munder><mo>∑</mo><mrow><mi>i</mi></mrow></munder><mi>i</mi>",
        r"\alpha \leq \mathbb{R}": "<mi>α</mi><mo>≤</mo><mi>ℝ</mi>",
        r"\left( x \right.": "<mo>(</mo><mi>x</mi><mrow></mrow>",
        r"\text{if so} = \{": "<mtext>if&nbsp;so</mtext><mo>=</mo><mo>{</mo>",
        r"\hat x": "<mover><mi>x</mi><mo>^</mo></mover>",
        r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}": (
            "<mrow><mo>(</mo><mtable>"
            "<mtr><mtd><mrow><mi>a</mi></mrow></mtd><mtd><mrow><mi>b</mi></mrow></mtd></mtr>"
            "<mtr><mtd><mrow><mi>c</mi></mrow></mtd><mtd><mrow><mi>d</mi></mrow></mtd></mtr>"
            "</mtable><mo>)</mo></mrow>"
        ),
        "a < <b>": "<mi>a</mi><mo>&lt;</mo><mo>&lt;</mo><mi>b</mi><mo>&gt;</mo>",
    }
    await serve_sources(page)
    drawn = await page.evaluate(DRAWN, list(known))
    for (formula, wanted), got in zip(known.items(), drawn, strict=True):
        assert f"<mrow>{wanted}</mrow></math>" in got, formula
    strange = [
        r"\unheard{x}",
        r"\frac{a}",
        "{" * 200 + "x^2",
        "a^b^c",
        r"\begin{tikz}x^2\end{tikz}",
    ]
    for formula, got in zip(strange, await page.evaluate(DRAWN, strange), strict=True):
        assert got == f"<code>\\({formula}\\)</code>"
