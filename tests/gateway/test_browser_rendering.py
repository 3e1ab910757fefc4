"""What an agent's answer is made of on the page: code, diffs, formulas, pictures, diagrams."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import enter
from tests.doubles.bundle import serve_sources
from tests.doubles.house import FakeHouse

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANSWER = r"""The **fix** in `auth.py`.[^1]

```python
def expiry(minutes: int = 15) -> timedelta:
    return timedelta(minutes=minutes)  # <b>the old one</b>
```

```diff
--- a/auth.py
+++ b/auth.py
@@ -1,2 +1,2 @@
 EXPIRY = 15
-return now() + 15
+return now() + EXPIRY
```

| language | tokens |
|---|--:|
| Python | 1,200 |

It is $$\int_0^\infty e^{-x^2}\,dx$$ and \(a_1\), not $5 and $6.

```mermaid
graph LR
  Ada --> Moot --> Claude --> Answer --> Somebody --> Nobody
```

![A red square](/api/files/PICTURE)

![elsewhere](https://pictures.test/x.png) <img src=x onerror=alert(1)>

- [x] done

[^1]: Seen *yesterday*.
[^2]: Nothing refers to it.
"""
CONTRAST = """(element) => {
    const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, index) => sum + c * [0.2126, 0.7152, 0.0722][index], 0);
    let behind = element;
    while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
        .map((colour) => light(rgb(colour)));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


def red_square() -> bytes:
    """A PNG of 300 by 120."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = (b"\0" + b"\xc0\x30\x20" * 300) * 120
    head = struct.pack(">IIBBBBB", 300, 120, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


UPLOAD = """async (bytes) => {
    const form = new FormData();
    const file = Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0));
    form.append("file", new File([file], "square.png"));
    return (await (await fetch("/api/files", { method: "POST", body: form })).json()).files[0].id;
}"""


async def say(page: Page, text: str) -> Locator:
    """Write a message; its text as it is shown."""
    await page.locator("#text").fill(text)
    await page.locator("#send").click()
    await expect(page.locator("article.message:not(.sending)")).not_to_have_count(0)
    return page.locator("article.message .text").last


async def answered(page: Page) -> Locator:
    """The answer with everything in it, once all of it is drawn."""
    picture = await page.evaluate(UPLOAD, base64.b64encode(red_square()).decode())
    text = await say(page, ANSWER.replace("PICTURE", picture))
    await expect(text.locator(".hl-keyword").first).to_have_text("def")
    await expect(text.locator(".katex")).to_have_count(2)
    await expect(text.locator("figure.diagram summary")).to_have_text("Source", timeout=30_000)
    return text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
async def test_an_answer_is_shown_as_it_is_meant(
    browser: Browser, tmp_path: Path, width: int, scheme: Any
) -> None:
    house = FakeHouse()
    faults: list[str] = []
    async with open_page(house.services, PageSettings(tmp_path / "files")) as address:
        context = await browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        page = await context.new_page()
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on(
            "console",
            lambda told: faults.append(told.text) if "Security Policy" in told.text else None,
        )
        await enter(page, address, house.visitors)
        text = await answered(page)
        await look(text)
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        await context.close()
    assert faults == []


async def look(text: Locator) -> None:
    """See that each part of the answer is what it is meant to be."""
    for token in await text.locator(".code [class^=hl-], .patch span").all():
        assert await token.evaluate(CONTRAST) >= 4.5, await token.text_content()
    colours = await text.locator(".code").first.evaluate(
        "(block) => new Set([...block.querySelectorAll('span, code')]"
        ".map((one) => getComputedStyle(one).color)).size"
    )
    assert colours >= 4
    added, removed = text.locator(".added"), text.locator(".removed")
    assert (await added.text_content() or "").startswith("+return")
    assert (await removed.text_content() or "").startswith("-return")
    backgrounds = {
        await one.evaluate("(line) => getComputedStyle(line).backgroundColor")
        for one in (added, removed, text.locator(".code").first)
    }
    assert len(backgrounds) == 3
    assert await text.locator(".katex-mathml annotation").first.text_content() == (
        r"\int_0^\infty e^{-x^2}\,dx"
    )
    family = await text.locator(".katex .mathnormal").first.evaluate(
        "async (one) => (await document.fonts.ready, [...document.fonts]"
        ".filter((font) => font.status === 'loaded').map((font) => font.family))"
    )
    assert any("KaTeX_Math" in name for name in family)
    assert "not $5 and $6." in await text.inner_text()
    box = await text.locator("figure.diagram iframe").bounding_box()
    assert box is not None
    assert box["height"] > 20
    image = text.locator("img")
    await expect(image).to_have_attribute("alt", "A red square")
    assert await image.evaluate("(one) => one.naturalWidth") == 300
    await expect(text.get_by_role("link", name="elsewhere")).to_have_attribute(
        "href", "https://pictures.test/x.png"
    )
    assert "<img src=x onerror=alert(1)>" in await text.inner_text()
    assert "[^2]: Nothing refers to it." in await text.inner_text()


async def test_a_footnote_leads_there_and_back(page: Page) -> None:
    notes = "[^b]: The second.\n\n    More of it.\n[^a]: First."
    text = await say(page, f"One[^a] and two[^b].\n\n{notes}")
    await expect(text.locator(".footnotes li")).to_have_text(["First.↩", "The second.More of it.↩"])
    await text.get_by_role("button", name="Footnote 2").click()
    await expect(text.locator(".footnotes li").nth(1)).to_be_focused()
    await text.get_by_role("button", name="Back to the text").nth(1).click()
    await expect(text.get_by_role("button", name="Footnote 2")).to_be_focused()


async def test_a_picture_is_enlarged_by_a_click_and_closed_by_escape(page: Page) -> None:
    picture = await page.evaluate(UPLOAD, base64.b64encode(red_square()).decode())
    text = await say(page, f"![A red square](/api/files/{picture})")
    await text.locator("a.image").click()
    dialog = page.get_by_role("dialog", name="A red square")
    await expect(dialog.get_by_role("img")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


async def test_a_diagram_is_drawn_where_it_can_do_nothing_else(page: Page) -> None:
    text = await say(page, "```mermaid\nsequenceDiagram\n  Ada->>Moot: <b>hi</b>\n```")
    await expect(text.locator("summary")).to_have_text("Source", timeout=30_000)
    handle = await text.locator("iframe").element_handle()
    frame = await handle.content_frame()
    assert frame is not None
    assert await frame.evaluate("origin") == "null"
    for forbidden in ("fetch('/api/me')", "localStorage.length", "parent.document.title"):
        refused = await frame.evaluate(
            f"async () => {{ try {{ await ({forbidden}); return ''; }} "
            "catch (fault) { return fault.name; } }"
        )
        assert refused, forbidden
    assert await frame.locator("svg").count() == 1


async def test_a_diagram_that_cannot_be_read_stays_its_source(page: Page) -> None:
    text = await say(page, "```mermaid\ngraph LR\n  this is -- no [diagram\n```")
    await expect(text.locator(".note")).to_have_text("This diagram can't be drawn.", timeout=30_000)
    await expect(text.locator("pre")).to_contain_text("this is -- no [diagram")
    await expect(text.locator("iframe")).to_have_count(0)


@pytest.mark.parametrize("formula", [r"\unheard{x}^2", r"\frac{a}{", r"\href{https://x.test}{x^2}"])
async def test_a_formula_that_cannot_be_drawn_or_trusted_is_harmless(
    page: Page, formula: str
) -> None:
    text = await say(page, rf"so \({formula}\) and \(x^2\)")
    await expect(text.locator(".katex").last).to_be_visible()
    await expect(text.locator("a")).to_have_count(0)
    assert formula in (await text.text_content() or "")


@pytest.mark.parametrize(
    "mark", ["![", "[", "[^1]", r"\(", r"\[", "$$", "`a", "*a ", "<", "$$x^2$$ "]
)
async def test_hostile_text_is_shown_all_the_same(page: Page, mark: str) -> None:
    """The page's own time-outs end it where it takes longer than it should."""
    await serve_sources(page)
    length = await page.evaluate(
        """async (text) => {
            const { markdown } = await import("/source/lib/markdown.js");
            return markdown(text).textContent.length;
        }""",
        mark * (60_000 // len(mark)),
    )
    assert length > 10_000
