"""What the page fetches and shows before anybody does anything: it is often opened on a slow
network."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, Request, Route, expect

from contract.chat import Room, Speaker
from contract.errors import MootError
from gateway.core.redaction import Redactor
from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import enter, sign_in
from tests.doubles.credentials import BEARER
from tests.doubles.house import FakeHouse

pytestmark = pytest.mark.asyncio(loop_scope="session")
WORKER = 1  # the stream of events, which the worker that all tabs share asks for
LAST = (
    "() => performance.getEntriesByType('resource').some((one) => one.name.endsWith('/api/access'))"
)
"""What an owner's page asks for last: how many wait to be let in."""
GENERAL = Room("web:general", "general")
LAB = Room("web:lab", "lab")
ANA = Speaker("web:ana", "Ana")
HOSTILE = "</script><script>window.taken = 1</script><!-- <img src=x onerror=alert(1)> & \u2028"
IN_VIEW = """() => {
  const box = document.getElementById('timeline').getBoundingClientRect();
  const last = [...document.querySelectorAll('article')].at(-1).getBoundingClientRect();
  return last.top >= box.top && last.bottom <= box.bottom;
}"""


@dataclass
class First:
    """A browser in which Citra is signed in, and in which she opens the page."""

    context: BrowserContext
    url: str
    house: FakeHouse
    come: asyncio.Event = field(default_factory=asyncio.Event)

    async def opened(self, place: str = "") -> Page:
        """The page, as far as its document alone makes it: its scripts are still on their way."""
        page = await self.context.new_page()

        async def hold(route: Route) -> None:
            await self.come.wait()
            await route.continue_()

        await page.route("**/*.js", hold)
        await page.goto(f"{self.url}{place}", wait_until="commit")
        await page.wait_for_function("document.querySelector('#start') !== null")
        return page

    async def let_scripts_come(self, page: Page) -> None:
        self.come.set()
        await expect(page.locator("#me")).to_contain_text("Citra")


@pytest_asyncio.fixture(loop_scope="session")
async def first(browser: Browser, house: FakeHouse, address: str) -> AsyncIterator[First]:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    await sign_in(context, address, house.visitors)
    said: list[str] = []
    context.on("console", lambda one: said.append(one.text))
    opened = First(context, address, house)
    yield opened
    for page in context.pages:
        await page.unroute_all(behavior="ignoreErrors")
    opened.come.set()
    await context.close()
    assert [one for one in said if "Content Security Policy" in one] == []


async def test_the_first_view_takes_at_most_12_requests_and_120_kb(
    browser: Browser, tmp_path: Path
) -> None:
    house = FakeHouse()
    async with open_page(house.services, PageSettings(tmp_path / "files")) as address:
        context = await browser.new_context()
        page = await context.new_page()
        asked: list[Request] = []
        page.on("requestfinished", lambda one: asked.append(one))
        await enter(page, address, house.visitors)
        await expect(page.locator("#text")).to_be_editable()
        await page.wait_for_function(LAST)
        sizes = [await one.sizes() for one in asked]
        paths = [one.url.removeprefix(address) for one in asked]
        await context.close()
    assert len(asked) + WORKER <= 12, paths
    assert sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes) <= 120_000
    assert "api/start" not in paths, "what the page begins with stands in its document"
    assert not any("views-" in one for one in paths), "what is beyond the rooms comes when needed"


async def test_the_newest_messages_are_there_before_any_script(first: First) -> None:
    began = datetime.now(UTC) - timedelta(days=1)
    for n in range(60):
        first.house.say(GENERAL, ANA, f"message {n:02}", at=began + timedelta(minutes=n * 10))
    first.house.say(GENERAL, ANA, f"the **last** one {HOSTILE}")
    page = await first.opened()
    last = page.locator("article").last
    await expect(last).to_be_visible()
    assert HOSTILE.strip() in (await last.locator(".text").text_content() or "")
    assert await page.evaluate(IN_VIEW), "as a conversation is read: from its end"
    await expect(page.locator("#room-name")).to_have_text("#general")
    weight = await last.locator(".author").evaluate("e => getComputedStyle(e).fontWeight")
    assert int(weight) > 400, "its style is there as well"
    await page.locator("#text").fill("typed early")

    await first.let_scripts_come(page)
    await expect(last.locator("strong")).to_have_text("last")
    await expect(page.locator("article.early")).to_have_count(0)
    await expect(page.locator("article")).to_have_count(50)
    await expect(page.locator("#text")).to_have_value("typed early")
    assert await page.evaluate("window.taken === undefined")


async def test_names_stand_for_mention_tokens_before_any_script_too(first: First) -> None:
    cards = first.house.cards
    first.house.cards = [replace(cards[0], accounts=("slack:U0BOT0001",)), *cards[1:]]
    first.house.say(GENERAL, Speaker("slack:U06ANA", "Ana & Co"), "<@U0BOT0001> <@U06ANA> <@U0NO>")
    page = await first.opened()
    await expect(page.locator("article .text").last).to_have_text("@demo @Ana & Co <@U0NO>")


async def test_the_document_comes_with_the_room_that_was_shown_last(first: First) -> None:
    first.house.say(GENERAL, ANA, "in general")
    first.house.say(LAB, ANA, "in the lab")
    page = await first.opened()
    await first.let_scripts_come(page)
    await page.locator("[data-room='web:lab']").click()
    await expect(page.locator("article")).to_contain_text("in the lab")
    first.come.clear()
    again = await first.opened("#web%3Alab")
    await expect(again.locator("article .text")).to_have_text("in the lab")
    await expect(again.locator("#room-name")).to_have_text("#lab")
    await first.let_scripts_come(again)
    await expect(again.locator("article.early")).to_have_count(0)
    await expect(again.locator("article .text")).to_have_text("in the lab")

    await again.evaluate("() => { location.hash = '#admin'; }")
    await expect(again.locator(".verdict")).to_be_visible()
    first.come.clear()
    admin = await first.opened("#admin")
    await expect(admin.locator("article")).to_have_count(0)
    await first.let_scripts_come(admin)
    await expect(admin.locator(".verdict")).to_be_visible()


async def test_nothing_of_a_room_is_for_who_is_not_signed_in_or_may_not_read_it(
    browser: Browser, house: FakeHouse, address: str
) -> None:
    house.say(GENERAL, ANA, "the secret plan")
    house.say(Room("web:dm-ana-demo", "demo", kind="dm"), ANA, "between us")
    browsers = {"Accept": "text/html"}
    async with (
        aiohttp.ClientSession(address, headers=browsers) as nobody,
        nobody.get("/") as answer,
    ):
        text = await answer.text()
        assert (answer.status, "secret plan" in text) == (401, False)
        assert 'id="start"' not in text
    context = await browser.new_context()
    await sign_in(context, address, house.visitors, "Citra")
    await context.add_cookies([{"name": "moot-room", "value": "web%3Adm-ana-demo", "url": address}])
    answered = await context.request.get(address)
    text = await answered.text()
    assert "the secret plan" in text
    assert "between us" not in text
    assert answered.headers["cache-control"] == "no-store"
    await context.request.post(f"{address}api/sign-out", data={})
    assert "moot-room" not in {one.get("name") for one in await context.cookies()}
    again = await context.request.get(address, headers=browsers)
    assert "secret plan" not in await again.text()
    await context.close()


async def test_a_page_that_can_not_begin_says_why(first: First) -> None:
    first.house.raises = MootError("the disk is full", say="Moot's disk is full.")
    page = await first.context.new_page()
    await page.goto(first.url)
    await expect(page.locator("#connection")).to_have_text("Moot's disk is full.")
    await page.close()


async def test_the_documents_own_style_is_all_that_its_policy_allows_beside_files(
    house: FakeHouse, address: str
) -> None:
    async with aiohttp.ClientSession(address, headers=BEARER) as client:
        for path in ("/", "/sign-in"):
            async with client.get(path) as answer:
                page, policy = await answer.text(), answer.headers["Content-Security-Policy"]
            [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
            assert policy.endswith(f"; style-src 'self' 'sha256-{digest}'")
            assert "unsafe" not in policy
            scripts = re.findall(r"<script([^>]*)>", page)
            assert all(" src=" in one or "application/json" in one for one in scripts)


async def test_a_secret_is_nowhere_in_the_document(tmp_path: Path) -> None:
    house = FakeHouse()
    secret = "xoxb-1234567890-<&>-abcdef"
    house.say(GENERAL, ANA, f"it is {secret}, keep it")
    settings = PageSettings(tmp_path / "files", redactor=Redactor([secret]))
    async with (
        open_page(house.services, settings) as address,
        aiohttp.ClientSession(address, headers=BEARER) as client,
        client.get("/") as answer,
    ):
        page = await answer.text()
    [block] = re.findall(r'<script type="application/json" id="start">(.*?)</script>', page)
    [message] = json.loads(block)["timeline"]["messages"]
    assert message["text"].startswith("it is ")
    assert "1234567890" not in page
    assert "keep it" in page
