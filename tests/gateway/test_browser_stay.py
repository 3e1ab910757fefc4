"""Long answers, the terminal's type, the colours, notifications, and the page as an application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from contract.chat import Room, Speaker
from gateway.core.views import SessionView
from gateway.web.page import PageSettings, open_page
from tests.doubles.axe import faults
from tests.doubles.browser import enter
from tests.doubles.credentials import BEARER
from tests.doubles.house import FakeHouse

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")
CITRA = Speaker("web:citra", "Citra")
DEMO = Speaker("bot:demo", "demo", "bot")
PARAGRAPHS = [f"Paragraph {n} says a good deal about it. " * 5 for n in range(40)]
HIDDEN = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })"
SHOWN = """async () => (await (await navigator.serviceWorker.ready).getNotifications())
    .map(({ title, body }) => `${title}: ${body}`).sort()"""


async def size_of(page: Page, selector: str) -> float:
    size = await page.locator(selector).first.evaluate("e => getComputedStyle(e).fontSize")
    return float(size.removesuffix("px"))


def answered(house: FakeHouse, text: str, by: Speaker = ANA) -> str:
    turn_id = house.queue(house.say(GENERAL, by, "@demo tell me"), "demo", {}).turn.id
    house.finish(turn_id, text)
    return turn_id


async def test_a_long_answer_shows_its_beginning_and_the_rest_on_demand(
    page: Page, house: FakeHouse
) -> None:
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 30
    answered(house, "\n\n".join(["# The beginning", *PARAGRAPHS, table, "The very end."]))
    await expect(page.get_by_role("heading", name="The beginning")).to_be_in_viewport()
    more = page.get_by_role("button", name="Show more")
    await expect(more).to_have_attribute("aria-expanded", "false")
    rest = page.locator("article .rest")
    assert await rest.get_attribute("hidden") == "until-found"
    assert await rest.get_by_text("The very end.").is_visible() is False
    assert await faults(page) == []
    whole = await page.locator("article .text").last.evaluate(
        "text => [...text.children].filter(one => one.className !== 'rest')"
        ".every(one => one.scrollHeight <= one.clientHeight + 1)"
    )
    assert whole  # nothing of what is shown is cut

    await more.click()
    await expect(page.get_by_role("heading", name="The beginning")).to_be_in_viewport()
    await expect(rest.get_by_text("The very end.")).to_be_visible()
    less = page.get_by_role("button", name="Show less")
    await less.click()
    await expect(page.get_by_role("heading", name="The beginning")).to_be_in_viewport()
    await rest.dispatch_event("beforematch")  # a word was found in it
    await expect(rest.get_by_text("The very end.")).to_be_visible()


async def test_one_long_block_fades_out_and_a_short_answer_is_shown_whole(
    page: Page, house: FakeHouse
) -> None:
    answered(house, "Short.")
    await expect(page.locator("article.bot")).to_have_count(1)
    await expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    answered(house, "```\n" + "\n".join(f"line {n}" for n in range(200)) + "\n```")
    await expect(page.get_by_role("button", name="Show more")).to_have_count(1)
    mask = await page.locator(".cut").evaluate("e => getComputedStyle(e).maskImage")
    assert "gradient" in mask
    await expect(page.get_by_text("line 0\n")).to_be_in_viewport()


async def test_a_wide_terminal_is_readable_and_scrolls(page: Page, house: FakeHouse) -> None:
    house.session_cards = [SessionView("s1", "demo", "web:general", "working", 42)]
    house.pictures["s1"] = [[("x" * 199 + "|", "")]]
    await page.get_by_role("button", name="Terminal").click()
    await expect(page.locator(".screen")).to_contain_text("|")
    assert await size_of(page, ".screen") >= 11
    cut = await page.locator(".screen-body").evaluate(
        "box => { box.scrollLeft = 1e6; const row = box.querySelector('.screen-row');"
        "const range = document.createRange(); range.selectNodeContents(row);"
        "return range.getBoundingClientRect().right - box.getBoundingClientRect().right }"
    )
    assert cut <= -8  # its last column is seen, with air behind it
    await page.get_by_role("button", name="Larger type").click()
    await page.get_by_role("button", name="Larger type").click()
    assert await size_of(page, ".screen") == 13
    await page.get_by_role("button", name="Fit to the width").click()
    assert await size_of(page, ".screen") == 11
    assert await faults(page) == []


async def test_a_narrow_terminal_is_fitted_to_the_panel(page: Page, house: FakeHouse) -> None:
    house.session_cards = [SessionView("s1", "demo", "web:general", "working", 42)]
    house.pictures["s1"] = [[("x" * 60, "")]]
    await page.get_by_role("button", name="Terminal").click()
    await expect(page.locator(".screen")).to_contain_text("xxx")
    assert await size_of(page, ".screen") > 11
    box = page.locator(".screen-body")
    assert await box.evaluate("box => box.scrollWidth <= box.clientWidth")


async def test_why_begins_with_what_the_agent_knew(page: Page, house: FakeHouse) -> None:
    answered(house, "Because.")
    await page.get_by_role("button", name="Why this answer").click()
    side = page.locator("#side")
    await expect(side.locator("h3").first).to_have_text("It knew")
    await expect(side.locator(".knew")).to_contain_text("2 facts from its memory")
    await expect(side.locator(".knew")).to_contain_text("Project saga-ai uses NestJS")
    await expect(side.locator(".knew")).to_contain_text("1 message of the room")
    await expect(side.locator(".chart")).to_be_hidden()
    await side.get_by_text("Time", exact=True).click()
    await expect(side.locator(".chart")).to_contain_text("Writing the prompt")
    await expect(side.locator(".states")).to_contain_text("Answered")
    assert await faults(page) == []


async def test_the_colours_are_chosen_and_stay(page: Page, house: FakeHouse) -> None:
    async def paper() -> int:
        shown = await page.locator("#room").evaluate("e => getComputedStyle(e).backgroundColor")
        return int(str(shown).removeprefix("rgb(").split(",")[0])

    assert await paper() > 200
    await page.locator("#me").click()
    await page.get_by_label("Colours").select_option("dark")
    assert await paper() < 80
    assert await faults(page) == []
    await page.reload()
    await expect(page.locator("#me")).to_contain_text("Citra")
    assert await paper() < 80
    first = await page.evaluate("fetch('/').then(answer => answer.text())")
    assert '<html data-theme="dark"' in first  # before any script
    await page.locator("#me").click()
    await page.get_by_label("Colours").select_option("system")
    assert await paper() > 200


@pytest_asyncio.fixture(loop_scope="session")
async def away(browser: Browser, address: str, house: FakeHouse) -> AsyncIterator[Page]:
    """The page of Citra, who turned notifications on and looks elsewhere now."""
    context = await browser.new_context()
    await context.grant_permissions(["notifications"])
    page = await context.new_page()
    await enter(page, address, house.visitors)
    await page.evaluate("navigator.serviceWorker.ready")
    await page.locator("#me").click()
    await page.get_by_role("button", name="Turn on").click()
    await expect(page.get_by_role("button", name="Turn off")).to_be_visible()
    yield page
    await context.close()


async def notified(page: Page, *wanted: str) -> None:
    async def are() -> bool:
        return bool(await page.evaluate(SHOWN) == sorted(wanted))

    for _ in range(200):
        if await are():
            return
        await page.wait_for_timeout(100)
    assert await page.evaluate(SHOWN) == sorted(wanted)


async def test_notifications_tell_what_is_ones_own(away: Page, house: FakeHouse) -> None:
    house.say(GENERAL, ANA, "seen: @Citra")  # the page is in view
    await expect(away.locator("article")).to_have_count(1)
    await away.evaluate(HIDDEN)
    house.say(GENERAL, ANA, "nothing for her")
    house.say(GENERAL, ANA, "Please look, @Citra.")
    answered(house, "An answer to Ana.")
    answered(house, "An answer to Citra.", by=CITRA)
    asked = house.queue(house.say(GENERAL, ANA, "@demo run"), "demo", {}).turn.id
    house.move(asked, "running")
    house.ask(asked, "Run a command?", "ls", "Yes", "No")
    await notified(
        away,
        "Ana · #general: Please look, @Citra.",
        "demo · #general: An answer to Citra.",
        "demo asks for permission: Run a command?",
    )


async def test_a_room_may_be_silent_and_a_click_opens_it(away: Page, house: FakeHouse) -> None:
    await away.get_by_label("In #general").select_option("none")
    house.say(Room("web:other", "other"), ANA, "before")
    await expect(away.locator("a[href='#web%3Aother']")).to_have_count(1)  # the page knows it now
    await away.evaluate(HIDDEN)
    house.say(GENERAL, ANA, "@Citra, are you there?")
    house.say(Room("web:other", "other"), ANA, "@Citra, here!")
    await notified(away, "Ana · #other: @Citra, here!")
    await away.keyboard.press("Escape")
    [worker] = away.context.service_workers
    await worker.evaluate(
        "async () => { const [notification] = await registration.getNotifications();"
        "dispatchEvent(new NotificationEvent('notificationclick', { notification })) }"
    )
    await expect(away.get_by_role("heading", name="#other", exact=True)).to_be_visible()


async def test_nobody_is_asked_for_notifications_unasked(page: Page) -> None:
    await page.locator("#me").click()
    await expect(page.get_by_role("button", name="Turn on")).to_be_visible()
    assert await page.evaluate("Notification.permission") != "granted"


async def test_without_moot_a_plain_document_says_so(
    browser: Browser, house: FakeHouse, tmp_path: Path
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    async with open_page(house.services, PageSettings(tmp_path)) as url:
        await enter(page, url, house.visitors)
        await page.wait_for_function("caches.match('/offline').then(Boolean)")
        await page.wait_for_function("Boolean(navigator.serviceWorker.controller)")
        kept = await page.evaluate(
            "caches.keys().then(names => Promise.all(names.map(name => caches.open(name)"
            ".then(cache => cache.keys()).then(all => all.map(one => new URL(one.url).pathname)))))"
        )
        assert kept == [["/offline"]]  # no answer of the API, no message
    await page.goto(url)
    await expect(page.get_by_role("heading", name="Not connected")).to_be_visible()
    port = int(url.rstrip("/").rpartition(":")[2])
    async with open_page(house.services, PageSettings(tmp_path, port=port)):
        await page.get_by_role("link", name="Try again").click()
        await expect(page.locator("#me")).to_contain_text("Citra")
    await context.close()


async def test_it_can_be_installed(address: str, page: Page) -> None:
    link = await page.locator('link[rel="manifest"]').get_attribute("href")
    worker = await page.locator('meta[name="service-worker"]').get_attribute("content")
    assert link
    assert worker
    async with aiohttp.ClientSession(address, headers=BEARER) as client:
        async with client.get(link) as answer:
            assert answer.content_type == "application/manifest+json"
            manifest: dict[str, Any] = json.loads(await answer.text())
        async with client.get(worker) as answer:
            assert answer.content_type == "text/javascript"
            assert answer.headers["Service-Worker-Allowed"] == "/"
        sizes = {}
        for icon in manifest["icons"]:
            async with client.get(icon["src"]) as answer:
                assert answer.content_type == icon["type"]
                sizes[icon["sizes"], icon.get("purpose")] = (await answer.read())[:4]
    assert manifest["display"] == "standalone"
    png = b"\x89PNG"
    assert sizes["192x192", None] == sizes["512x512", None] == sizes["512x512", "maskable"] == png
