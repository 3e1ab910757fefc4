"""Every view of the page, on a phone and on a desk, in light and in dark, before axe-core."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from contract.chat import Room, Speaker
from gateway.web.page import PageSettings, open_page
from tests.doubles.admin import ANA, AUTH
from tests.doubles.admin_answers import ANSWERS
from tests.doubles.axe import faults
from tests.doubles.browser import sign_in
from tests.doubles.house import FakeHouse

pytestmark = pytest.mark.asyncio(loop_scope="session")
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1440, "height": 900}
ZOOMED: ViewportSize = {"width": 640, "height": 400}  # 1280 by 800 at 200 %
GENERAL = Room("web:general", "general")
SECTIONS = (
    "",
    "/rooms",
    "/rooms/slack%3AC1",
    "/sessions",
    "/turns",
    "/plots",
    "/people",
    "/audit",
    "/schedules",
)


def fulfil(value: Any) -> Callable[[Route], Awaitable[None]]:
    async def answer(route: Route) -> None:
        await route.fulfill(json=value)

    return answer


async def with_answers(page: Page) -> None:
    """Let the routes answer that other parts of Moot serve."""
    for path, value in ANSWERS.items():
        await page.route(re.compile(re.escape(path) + r"(\?.*)?$"), fulfil(value))


def furnish(house: FakeHouse) -> str:
    """A house with talk, a turn at work and a question; the id of a turn that was answered."""
    asked = house.say(AUTH, ANA, "@claude deploy **it**")
    house.say(GENERAL, Speaker("web:ana", "Ana"), "A table\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    done = house.queue(house.say(GENERAL, ANA, "hi @demo"), "demo", {"content": "hi"}).turn.id
    house.finish(done, "Hello `there`, see https://example.org/")
    turn_id = house.queue(asked, "claude", {"content": "x"}).turn.id
    house.move(turn_id, "running")
    house.ask(turn_id, "Run a command?", "git push", "Yes", "Yes, and don't ask again", "No")
    house.admin.fill()
    return done


@asynccontextmanager
async def opened(
    browser: Browser, address: str, house: FakeHouse, size: ViewportSize
) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport=size, reduced_motion="reduce")
    page = await context.new_page()
    page.set_default_timeout(10_000)
    await sign_in(page.context, address, house.visitors)
    await with_answers(page)
    await page.goto(address)
    await expect(page.locator("#admin-link .badge")).to_be_attached()
    yield page
    await context.close()


async def look(page: Page, view: str) -> list[str]:
    """What is wrong with what is shown, in both schemes."""
    await page.emulate_media(color_scheme="light")
    found = await faults(page)
    await page.emulate_media(color_scheme="dark")
    found += await faults(page, "color-contrast")
    over = await page.evaluate(
        "['html', '#admin-body', '.side-body', '#timeline'].map(q => document.querySelector(q))"
        ".filter(Boolean).some(e => e.scrollWidth > e.clientWidth)"
    )
    return [f"{view}: {fault}" for fault in found + (["scrolls sideways"] if over else [])]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
async def test_no_view_has_a_serious_fault(
    browser: Browser, address: str, house: FakeHouse, size: ViewportSize
) -> None:
    furnish(house)
    async with opened(browser, address, house, size) as page:
        found = await look(page, "chat")
        await page.get_by_role("button", name="Why this answer").press("Enter")
        await expect(page.locator("#side")).to_contain_text("The exact text")
        found += await look(page, "why")
        await page.keyboard.press("Escape")
        await page.locator("#show-memory").click()
        await expect(page.locator("#side")).to_contain_text("Landmarks")
        found += await look(page, "memory")
        await page.keyboard.press("Escape")
        for section in SECTIONS:
            await page.evaluate("hash => { location.hash = hash; }", f"admin{section}")
            await expect(page.locator("#admin-body")).not_to_contain_text("Loading")
            found += await look(page, f"admin{section}")
        editor = page.locator('.admin-nav [href="#personas"]')
        if await editor.count():
            await editor.click()
            await expect(page.locator("main:visible")).to_be_visible()
            found += await look(page, "personas")
        await page.evaluate("location.hash = 'admin'")
        await page.get_by_role("button", name="don't ask again").click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        found += await look(page, "sure?")
    assert found == []


async def test_an_empty_house_and_a_failing_one_have_none_either(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    found: list[str] = []
    context = await browser.new_context(viewport=PHONE, reduced_motion="reduce")
    page = await context.new_page()
    await sign_in(page.context, address, house.visitors)
    await page.goto(f"{address}#admin")
    await expect(page.locator("#admin")).to_contain_text("Everything is well.")
    for section in ("", "/rooms", "/sessions", "/turns", "/plots"):
        await page.evaluate("hash => { location.hash = hash; }", f"admin{section}")
        await expect(page.locator("#admin-body")).not_to_contain_text("Loading")
        found += await look(page, f"admin{section}")
    house.admin.raises = RuntimeError("broken")
    await page.evaluate("location.hash = 'admin'")
    await expect(page.locator("#admin").get_by_role("alert")).to_contain_text("went wrong")
    found += await look(page, "fault")
    house.admin.raises = None
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator("#admin")).to_contain_text("Everything is well.")
    await context.close()
    assert found == []


async def test_at_twice_the_size_nothing_goes_over_the_edge(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    furnish(house)
    async with opened(browser, address, house, ZOOMED) as page:
        for section in SECTIONS:
            await page.evaluate("hash => { location.hash = hash; }", f"admin{section}")
            await expect(page.locator("#admin-body")).not_to_contain_text("Loading")
            body = page.locator("#admin-body")
            assert await body.evaluate("e => e.scrollWidth <= e.clientWidth"), section


async def test_the_form_for_the_token_has_no_fault(browser: Browser, tmp_path: Path) -> None:
    settings = PageSettings(tmp_path / "files")
    async with open_page(FakeHouse().services, settings) as address:
        for size in (PHONE, DESK):
            context = await browser.new_context(viewport=size)
            page = await context.new_page()
            await page.goto(address)
            await expect(page.get_by_label("Token")).to_be_visible()
            assert await look(page, "sign-in") == []
            await context.close()
