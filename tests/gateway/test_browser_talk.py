"""Messages in a real browser over a real gateway: edited, deleted, asked again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, expect

from adapters.agent import Reply
from gateway.web.page import PageSettings, open_page
from tests.doubles.axe import faults
from tests.doubles.browser import enter
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

pytestmark = pytest.mark.asyncio(loop_scope="session")
WIDE: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}


def numbered() -> ScriptedPrograms:
    """Answers with the number of the prompt."""

    async def script(prompt: str, reply: Reply) -> str:
        return f"answer {len(made.prompts)}"

    made = ScriptedPrograms(script)
    return made


@dataclass
class Talk:
    """People at the page of a real gateway, each in a browser of their own."""

    moot: Opened
    url: str
    browser: Browser

    async def person(self, name: str, size: ViewportSize = WIDE, **more: Any) -> Page:
        context = await self.browser.new_context(viewport=size, reduced_motion="reduce", **more)
        page = await context.new_page()
        await enter(page, self.url, self.moot.house.visitors, name)
        return page

    async def said(self, page: Page, text: str) -> None:
        """Somebody writes it, and what it asks is answered."""
        await page.locator("#text").fill(text)
        await page.locator("#text").press("Enter")
        await expect(page.locator("article:not(.sending) .text").last).to_be_visible()
        await until(lambda: not self.moot.house.queues.waiting())
        await self.moot.settle()


@pytest_asyncio.fixture(loop_scope="session")
async def talk(browser: Browser, tmp_path: Path) -> AsyncIterator[Talk]:
    async with gateway(tmp_path, programs=numbered()) as moot:
        await moot.house.services.chat.open_lobby()
        async with open_page(moot.house.services, PageSettings(tmp_path / "files")) as url:
            before = list(browser.contexts)
            yield Talk(moot, url, browser)
            for context in browser.contexts:
                if context not in before:
                    await context.close()


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=re.compile(f"^{name}: "))


async def test_one_edits_in_place_and_everybody_sees_it(talk: Talk) -> None:
    ada, bea = await talk.person("Ada"), await talk.person("Bea")
    await talk.said(ada, "helo all")
    await button(ada, "Edit").click()
    box = ada.get_by_role("textbox", name="Edit your message")
    await expect(box).to_be_focused()
    await expect(box).to_have_value("helo all")
    await box.press("Escape")
    await expect(box).to_have_count(0)
    await expect(button(ada, "Edit")).to_be_focused()
    await ada.keyboard.press("Enter")
    await box.fill("hello all")
    await box.press("Enter")
    for page in (ada, bea):
        await expect(page.locator("article .text")).to_have_text("hello alledited")
    await expect(button(ada, "Edit")).to_be_focused()
    await expect(button(bea, "Reply")).to_have_count(1)
    for name in ("Edit", "Delete", "Ask again"):
        await expect(button(bea, name)).to_have_count(0)


async def test_what_is_being_edited_is_kept_while_the_room_goes_on(talk: Talk) -> None:
    ada, bea = await talk.person("Ada"), await talk.person("Bea")
    await talk.said(ada, "first")
    await button(ada, "Edit").click()
    box = ada.get_by_role("textbox", name="Edit your message")
    await box.fill("first, and")
    await talk.said(bea, "second")
    await expect(ada.locator("article")).to_have_count(2)
    await expect(box).to_have_value("first, and")
    await box.fill(" ")
    await ada.get_by_role("button", name="Save", exact=True).click()
    await expect(ada.get_by_role("alert")).to_contain_text("delete the message instead")
    await expect(box).to_be_visible()


async def test_a_deletion_asks_first(talk: Talk) -> None:
    ada, bea = await talk.person("Ada"), await talk.person("Bea")
    await talk.said(ada, "my password is hunter2")
    for answer, left in (("Cancel", 1), ("Delete", 0)):
        await button(ada, "Delete").click()
        dialog = ada.get_by_role("dialog", name="Delete this message?")
        await expect(dialog).to_contain_text("my password is hunter2")
        await dialog.get_by_role("button", name=answer).click()
        await expect(dialog).to_have_count(0)
        for page in (ada, bea):
            await expect(page.locator("article")).to_have_count(left)


async def test_a_question_is_edited_and_asked_again(talk: Talk) -> None:
    ada = await talk.person("Ada")
    await talk.said(ada, "@demo one?")
    await expect(ada.locator("article.bot .text")).to_have_text("answer 1")
    await button(ada, "Ask again").click()
    await expect(ada.locator("article.bot .text").last).to_have_text("answer 2")
    assert "@demo one?" in talk.moot.programs.prompts[-1]
    await button(ada, "Edit").first.click()
    await ada.get_by_role("textbox", name="Edit your message").fill("@demo two?")
    await ada.get_by_role("button", name="Save and ask again").click()
    await expect(ada.locator("article.bot .text").last).to_have_text("answer 3")
    assert "@demo two?" in talk.moot.programs.prompts[-1]
    await expect(ada.locator("article .text").first).to_have_text("@demo two?edited")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_on_a_phone_a_tap_shows_what_can_be_done(talk: Talk, scheme: Any) -> None:
    ada = await talk.person("Ada", PHONE, has_touch=True, is_mobile=True, color_scheme=scheme)
    await talk.said(ada, "@demo one?")
    await expect(ada.locator("article.bot")).to_have_count(1)
    await expect(button(ada, "Edit")).to_be_hidden()
    await ada.locator("article .text").first.tap()
    await button(ada, "Edit").tap()
    await expect(ada.get_by_role("textbox", name="Edit your message")).to_be_focused()
    width = await ada.evaluate("() => document.documentElement.scrollWidth")
    assert width <= PHONE["width"]
    assert await faults(ada) == []
