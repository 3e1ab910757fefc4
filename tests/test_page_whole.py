"""The whole way: a browser, `moot run` without any configuration, the demo agent."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import async_playwright, expect

from tests.doubles.browser import CHROMIUM_ARGS, chromium, enter
from tests.doubles.service import service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'


async def test_a_newcomer_asks_sees_it_stream_and_asks_why(tmp_path: Path) -> None:
    path = chromium()
    async with service(tmp_path, CONFIG) as moot, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        page = await browser.new_page()
        await enter(page, moot.url, "Andi")
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
        await browser.close()


async def test_a_message_pinned_on_the_page_is_in_the_next_header(tmp_path: Path) -> None:
    path = chromium()
    async with service(tmp_path, CONFIG) as moot, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        page = await browser.new_page()
        await enter(page, moot.url, "Andi")
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
        await browser.close()
