"""The page in the language of the browser: nothing of it is left in English."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from adapters.agent import Reply
from contract.chat import Room, Speaker
from gateway.settings.tables import SessionsTable
from gateway.web.page import PageSettings, open_page
from tests import words
from tests.doubles.browser import enter
from tests.doubles.house import FakeHouse
from tests.doubles.running import gateway, until
from tests.doubles.scripted import ScriptedPrograms

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")
LOCALES = {"de": "de-DE", "es": "es-ES", "ja": "ja-JP", "zh": "zh-CN"}
SIZES = [(390, 844), (1280, 800)]
LOOK = """() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode.data.trim());
  for (const name of ["aria-label", "placeholder", "title"])
    for (const element of document.querySelectorAll(`[${name}]`))
      texts.push(element.getAttribute(name));
  return texts.filter(Boolean);
}"""


async def english(page: Page, language: str, said: Collection[str] = ()) -> set[str]:
    """The texts of the interface that are there in English. said: what people and agents wrote."""
    there = words.of_page()
    translated = words.catalog(words.PAGE, language)
    found = {" ".join(text.split()) for text in await page.evaluate(LOOK)}
    return {
        text
        for text in found - set(said)
        if text in there and translated[text] != text and text not in translated.values()
    }


async def too_wide(page: Page) -> int:
    """By how many pixels the document is wider than its window."""
    wide: int = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return wide


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize(("width", "height"), SIZES)
async def test_the_views_are_in_the_browsers_language(
    browser: Browser, address: str, house: FakeHouse, language: str, width: int, height: int
) -> None:
    house.say(GENERAL, ANA, "what now?")
    context = await browser.new_context(
        locale=LOCALES[language],
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await enter(page, address, house.visitors)
    await expect(page.locator("html")).to_have_attribute("lang", re.compile(f"^{language}"))
    await expect(page.locator("article")).to_be_visible()
    loading = words.catalog(words.PAGE, language)["Loading…"]
    for view in ("", "#admin", "#admin/turns", "#admin/people", "#admin/plots", "#personas"):
        await page.evaluate("view => { location.hash = view; }", view)
        shown = page.locator("main:not([hidden]) h1").first
        await expect(shown).to_be_visible()
        await expect(page.get_by_text(loading, exact=True)).to_have_count(0)
        assert await english(page, language) == set(), view
        assert await too_wide(page) <= 0, view
    await context.close()


@pytest.mark.parametrize("language", LOCALES)
async def test_the_sign_in_is_in_the_browsers_language(
    browser: Browser, address: str, language: str
) -> None:
    context = await browser.new_context(locale=LOCALES[language])
    page = await context.new_page()
    await page.goto(address)
    catalog = words.catalog(words.PAGE, language)
    await expect(page.locator("#title")).to_have_text(catalog["Sign in to Moot"])
    await expect(page.locator("#about code").first).to_have_text("make run")
    assert await english(page, language) == set()
    await context.close()


async def test_a_language_that_nobody_translated_is_english(browser: Browser, address: str) -> None:
    context = await browser.new_context(locale="fi-FI")
    page = await context.new_page()
    await page.goto(address)
    await expect(page.locator("#title")).to_have_text("Sign in to Moot")
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    await context.close()


async def test_what_moot_says_on_the_page_follows_the_language_chosen_there(
    browser: Browser, tmp_path: Path
) -> None:
    """By a browser whose own language is English."""
    let_go = asyncio.Event()

    async def wait(prompt: str, reply: Reply) -> str:
        await let_go.wait()
        return "done"

    programs, most = ScriptedPrograms(wait), SessionsTable(most=1)
    async with (
        gateway(tmp_path, programs=programs, personas=("demo", "other"), sessions=most) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as url,
    ):
        await moot.house.services.chat.open_lobby()
        context = await browser.new_context(locale="en-US")
        page = await context.new_page()
        await enter(page, url, moot.house.visitors, "Ada")
        await page.locator("#me").click()
        await page.get_by_label("Language").select_option("de")
        await expect(page.locator("html")).to_have_attribute("lang", "de")
        await expect(page.locator("#me")).to_contain_text("Ada")

        async def said(text: str) -> None:
            await page.locator("#text").fill(text)
            await page.locator("#text").press("Enter")

        await said("!status")
        await expect(page.locator("article.bot .text").last).to_contain_text("nichts zu tun")
        await said("!stauts")
        await expect(page.locator("article.bot .text").last).to_contain_text("Meintest du")
        await said("@demo one")
        await until(lambda: len(programs.prompts) == 1)
        await said("@other two")
        await expect(page.locator("#log")).to_contain_text("wartet auf eine freie Sitzung")
        await page.locator("#me").click()
        await page.get_by_label("Sprache").select_option("")
        await expect(page.locator("html")).to_have_attribute("lang", "en")
        await expect(page.locator("#me")).to_contain_text("Ada")
        await said("!stauts")
        await expect(page.locator("#log")).to_contain_text("Did you mean")
        let_go.set()
        await moot.settle()
        await context.close()


async def test_a_refusal_is_in_the_language_that_was_chosen_on_the_page(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    context = await browser.new_context(locale="en-US")
    page = await context.new_page()
    await enter(page, address, house.visitors)
    await page.locator("#me").click()
    async with page.expect_navigation():
        await page.get_by_label("Language").select_option("de")
    await page.goto(f"{address}#turn/nowhere")
    told = words.catalog(words.CHAT, "de")["there is no such turn"]
    await expect(page.locator("#side .failure, .failure").first).to_have_text(told)
    await context.close()
