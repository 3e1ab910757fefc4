"""Messages in a real browser over a real gateway: edited, deleted, asked again,
found, quoted, and counted until they are read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, expect

from adapters.agent import Reply
from contract.chat import Inbound, IngestMetadata, Room
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


def soon(n: int) -> datetime:
    """A time of now, each after the one before."""
    return datetime.now(UTC) + timedelta(milliseconds=n)


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


# ── Search ──────────────────────────────────────────────────────────────────────────────


async def fill(talk: Talk, count: int) -> None:
    """A room in which Bea has said much, on the first line what is looked for."""
    house = talk.moot.house
    room = Room("web:general", "general")
    bea = IngestMetadata(
        source="web", sender_id="web:bea", sender_display_name="Bea", sender_type="human"
    )
    start = datetime.now(UTC) - timedelta(days=2)
    for n in range(count):
        text = "Das Übergabeprotokoll liegt bei Müller" if n == 0 else f"line {n:03}"
        inbound = Inbound(text, bea, room, f"m{n}", start + timedelta(minutes=n))
        await house.intake.message(inbound, house.context.bots["web"])


@pytest.mark.parametrize("size", [WIDE, PHONE])
async def test_words_are_found_and_lead_to_their_message(talk: Talk, size: ViewportSize) -> None:
    await fill(talk, 230)
    ada = await talk.person("Ada", size)
    await expect(ada.get_by_text("line 229")).to_be_visible()
    await ada.keyboard.press("Control+k")
    await ada.keyboard.type("übergabe müller")
    hit = ada.get_by_role("option", name=re.compile("Übergabeprotokoll"))
    await expect(hit).to_contain_text("#general")
    await expect(hit.locator("mark")).to_have_text(["Übergabe", "Müller"])
    assert await faults(ada) == []
    await ada.keyboard.press("Enter")
    wanted = ada.locator("article", has_text="Übergabeprotokoll")
    await expect(wanted).to_be_in_viewport()
    await expect(ada).to_have_url(re.compile(r"#web%3Ageneral\?message=m0$"))
    await expect(ada.get_by_text("line 229")).to_have_count(0)
    await ada.reload()
    await expect(wanted).to_be_in_viewport()
    await talk.said(await talk.person("Bea"), "something new")
    await expect(ada.get_by_text("something new")).to_have_count(0)
    await ada.locator("#timeline").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    await expect(ada.get_by_text("line 030")).to_have_count(1)
    await ada.get_by_role("button", name="New messages").click()
    await expect(ada.get_by_text("something new")).to_be_in_viewport()


async def test_no_message_is_said_so_and_a_room_can_be_made(talk: Talk) -> None:
    ada = await talk.person("Ada")
    await ada.keyboard.press("Control+k")
    await ada.keyboard.type("nowhere")
    await expect(ada.get_by_role("dialog")).to_contain_text("No message has these words.")
    await expect(ada.get_by_role("option")).to_have_text(["Create “nowhere”new room"])


async def test_a_message_is_quoted_and_its_address_copied(talk: Talk) -> None:
    ada = await talk.person("Ada", permissions=["clipboard-read", "clipboard-write"])
    await talk.said(ada, "first line\nsecond line")
    await button(ada, "Quote").click()
    await expect(ada.locator("#text")).to_have_value("> first line\n> second line\n\n")
    await ada.locator("#text").fill("")
    await ada.locator("article .text").evaluate(
        """element => {
          const range = document.createRange();
          const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
          range.setStart(text, 0);
          range.setEnd(text, 5);
          getSelection().removeAllRanges();
          getSelection().addRange(range);
        }"""
    )
    await button(ada, "Quote").click()
    await expect(ada.locator("#text")).to_have_value("> first\n\n")
    await button(ada, "Copy link").click()
    copied = await ada.evaluate("navigator.clipboard.readText()")
    assert re.search(r"/#web%3Ageneral\?message=[0-9a-f]{32}$", copied)


# ── What is new ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [WIDE, PHONE])
async def test_what_is_new_is_counted_in_every_browser(talk: Talk, size: ViewportSize) -> None:
    ada, bea = await talk.person("Ada", size), await talk.person("Bea")
    other = await talk.person("Ada")
    for page in (ada, other):
        await page.evaluate("() => { location.hash = '#web%3Adm-ada-demo'; }")
        await expect(page.get_by_role("heading", name="You and demo")).to_be_visible()
    for text in ("one", "two for @ada", "three"):
        await talk.said(bea, text)
    for page in (ada, other):
        row = page.locator(".row.unread", has_text="general")
        await expect(row.locator(".badge")).to_have_text("@ 33 new messages, you are mentioned")
        await expect(page).to_have_title(re.compile(r"^\(@ 3\) demo"))
    await ada.reload()
    await expect(ada.locator(".row.unread .badge")).to_contain_text("@ 3")
    await ada.evaluate("() => { location.hash = '#web%3Ageneral'; }")
    await expect(ada.locator(".new-line")).to_have_text("New")
    await expect(ada.locator(".new-line + article .text")).to_have_text("one")
    for page in (ada, other):
        await expect(page.locator(".row.unread")).to_have_count(0)
        await expect(page).not_to_have_title(re.compile(r"\("))
    assert await faults(ada) == []
    await talk.said(bea, "four")
    await expect(ada.get_by_text("four")).to_be_visible()
    await expect(other.locator(".row.unread")).to_have_count(0)


async def test_more_than_ninety_nine_are_many(talk: Talk) -> None:
    ada = await talk.person("Ada")
    await ada.evaluate("() => { location.hash = '#web%3Adm-ada-demo'; }")
    await expect(ada.get_by_role("heading", name="You and demo")).to_be_visible()
    room = Room("web:lab", "lab")
    bea = IngestMetadata(
        source="web", sender_id="web:bea", sender_display_name="Bea", sender_type="human"
    )
    house = talk.moot.house
    for n in range(120):
        inbound = Inbound(f"line {n}", bea, room, f"m{n}", datetime.now(UTC))
        await house.intake.message(inbound, house.context.bots["web"])
    badge = ada.locator(".row.unread", has_text="lab").locator(".badge > [aria-hidden]")
    await expect(badge).to_have_text("99+")
    await ada.reload()
    await expect(badge).to_have_text("99+")
    await expect(ada).to_have_title(re.compile(r"^\(99\+\)"))


@pytest.mark.parametrize("size", [WIDE, PHONE])
async def test_a_room_with_much_that_is_new_begins_there(talk: Talk, size: ViewportSize) -> None:
    ada = await talk.person("Ada", size)
    await talk.said(ada, "read by me")
    await ada.evaluate("() => { location.hash = '#web%3Adm-ada-demo'; }")
    await expect(ada.get_by_role("heading", name="You and demo")).to_be_visible()
    bea = IngestMetadata(
        source="web", sender_id="web:bea", sender_display_name="Bea", sender_type="human"
    )
    house = talk.moot.house
    for n in range(70):  # more than one stretch, and than a screen
        inbound = Inbound(f"line {n:02}", bea, Room("web:general", "general"), f"m{n}", soon(n))
        await house.intake.message(inbound, house.context.bots["web"])
    badge = ada.locator(".row.unread", has_text="general").locator(".badge > [aria-hidden]")
    await expect(badge).to_have_text("70")

    await ada.evaluate("() => { location.hash = '#web%3Ageneral'; }")
    await expect(ada.locator(".new-line")).to_be_in_viewport()
    await expect(ada.locator(".new-line + article .text")).to_have_text("line 00")
    await expect(ada.get_by_text("line 00")).to_be_in_viewport()
    await expect(ada.get_by_text("line 69")).not_to_be_in_viewport()
    await ada.evaluate("() => { location.hash = '#web%3Adm-ada-demo'; }")
    await expect(badge).to_have_text("70")  # nobody has seen them

    await ada.evaluate("() => { location.hash = '#web%3Ageneral'; }")
    await ada.get_by_role("button", name="New messages").click()
    await expect(ada.get_by_text("line 69")).to_be_in_viewport()
    await ada.evaluate("() => { location.hash = '#web%3Adm-ada-demo'; }")
    await expect(ada.locator(".row.unread")).to_have_count(0)
    await ada.reload()
    await expect(ada.locator("#me")).to_contain_text("Ada")
    await expect(ada.locator(".row.unread")).to_have_count(0)
