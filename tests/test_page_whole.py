"""The whole way: a browser, `moot run` without any configuration, the demo agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page, async_playwright, expect

from memory.recall.facts import not_indexed
from store.database import Store
from tests.doubles.browser import CHROMIUM_ARGS, chromium
from tests.doubles.remembered import fill
from tests.doubles.service import Service, service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'


@asynccontextmanager
async def newcomer(moot: Service) -> AsyncIterator[Page]:
    """Andi, who sits down before the page for the first time."""
    path = chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        page = await browser.new_page()
        page.set_default_timeout(10_000)
        await page.goto(moot.link)
        await page.get_by_label("Your name").fill("Andi")
        await page.keyboard.press("Enter")
        await expect(page.locator("#me")).to_contain_text("Andi")
        yield page
        await browser.close()


async def test_a_newcomer_asks_sees_it_stream_and_asks_why(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as moot, newcomer(moot) as page:
        text = page.locator("#text")
        await text.fill("@demo slow what do you know about this room?")
        await text.press("Enter")
        draft = page.locator(".turn .text")
        await expect(draft).to_contain_text("line 2 of ten")
        half = await draft.inner_text()
        answer = page.locator("article.bot")
        await expect(answer).to_have_count(1, timeout=20_000)
        await expect(page.locator(".turn")).to_have_count(0)
        assert len(half) < len(await answer.inner_text())

        await answer.get_by_text("Why this answer").click()
        why = page.get_by_role("complementary").last
        await expect(why).to_contain_text("[SESSION CONTEXT]")
        await expect(why).to_contain_text("Respond to Andi in room #general.")

        await text.fill("@demo permission")
        await text.press("Enter")
        await page.get_by_role("button", name="Yes").first.click()
        await expect(answer).to_have_count(2)

        await page.reload()
        await expect(page.locator("article.bot")).to_have_count(2)


async def test_a_message_pinned_on_the_page_is_in_the_next_header(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as moot, newcomer(moot) as page:
        text = page.locator("#text")
        await text.fill("we rotate refresh tokens")
        await text.press("Enter")
        await page.locator("article").hover()
        await page.get_by_role("button", name="Pin: Andi").click()
        answer = page.locator("article.bot")
        await expect(answer).to_contain_text("Pinned as 1: we rotate refresh tokens")
        await text.fill("@demo what did we decide?")
        await text.press("Enter")
        await expect(answer).to_have_count(2, timeout=20_000)
        await answer.last.get_by_text("Why this answer").click()
        why = page.get_by_role("complementary").last
        await expect(why).to_contain_text("we rotate refresh tokens (by Andi)")


async def test_a_newcomer_looks_at_what_is_remembered(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as moot:
        async with Store.open(f"sqlite:///{tmp_path}/data/moot.db") as store:
            await store.write(fill(("room:web:general", ""), ("room:web:other", " of others")))
            await moot.stop()
            await moot.start()
            async with asyncio.timeout(20):
                while await store.read(lambda c: not_indexed(c, 1)):
                    await asyncio.sleep(0.05)
        async with newcomer(moot) as page:
            await page.get_by_role("button", name="Memory", exact=True).click()
            panel = page.get_by_role("complementary").last
            for text in (
                "Rotate refresh tokens",
                "They debated token expiry",
                "Prefers short answers",
            ):
                await expect(panel).to_contain_text(text)
            await panel.get_by_role("searchbox").fill("minutes")
            await page.keyboard.press("Enter")
            await expect(panel.locator(".held-text:visible").first).to_have_text(
                "Tokens live 30 minutes"
            )
            await panel.get_by_role("button", name="Found the token's expiry").click()
            await expect(panel).to_contain_text("The agent read the module and found a constant.")
            assert "of others" not in await panel.inner_text()
            await page.keyboard.press("Escape")
            await expect(panel).to_be_hidden()


async def test_an_administrator_sees_what_was_done(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as moot, newcomer(moot) as page:
        text = page.locator("#text")
        await text.fill("@demo what do you know about this room?")
        await text.press("Enter")
        await expect(page.locator("article.bot")).to_have_count(1, timeout=20_000)
        await page.get_by_role("link", name="Administration").click()
        overview = page.locator("#admin")
        await expect(overview).to_contain_text("Bots")
        await expect(overview).to_contain_text("web")
        await page.get_by_role("link", name="Turns", exact=True).click()
        turn = page.get_by_role("list", name="Turns, newest first").get_by_role("listitem")
        await expect(turn).to_contain_text("for Andi in #general")
        await expect(turn.get_by_role("img")).to_have_attribute("aria-label", re.compile("agent"))
        await turn.get_by_role("button", name="Why").click()
        await expect(page.locator("#side")).to_contain_text("[SESSION CONTEXT]")
        await page.keyboard.press("Escape")
        await page.get_by_role("link", name="Sessions").click()
        await page.get_by_role("button", name="Put to sleep: @demo in #general").click()
        await expect(page.locator("#admin")).to_contain_text("No agent lives now.")
        await page.get_by_role("link", name="Plots").click()
        await expect(page.locator(".plot-reading").first).to_contain_text("answered 1")
