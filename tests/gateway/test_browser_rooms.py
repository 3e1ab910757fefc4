"""The list of rooms, the message box and the conversation in a real browser: what is current, what
has the focus, what can be sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, expect

from contract.chat import Room, Speaker
from tests.doubles.house import FakeHouse

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")


async def test_one_row_of_the_sidebar_is_current(page: Page, house: FakeHouse) -> None:
    current = page.locator("#sidebar [aria-current]")
    await expect(current).to_have_text("general")
    for address in ("#admin", "#personas"):
        await page.evaluate("address => { location.hash = address; }", address)
        await expect(current).to_have_text("Administration")
    house.say(GENERAL, ANA, "psst")  # which draws the lists again
    await expect(page.locator("#sidebar .unread")).to_contain_text("general")
    await expect(current).to_have_text("Administration")
    await page.get_by_role("link", name="general").click()
    await expect(current).to_have_text("general")


async def test_a_file_alone_can_be_sent(page: Page, house: FakeHouse) -> None:
    send = page.get_by_role("button", name="Send")
    idle = await send.evaluate("e => getComputedStyle(e).backgroundColor")
    file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}
    await page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
    await expect(send).not_to_have_css("background-color", idle)
    await page.get_by_role("button", name="Remove notes.txt").click()
    await expect(send).to_have_css("background-color", idle)
    await page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
    await expect(send).not_to_have_css("background-color", idle)
    await send.click()
    await expect(page.locator("article a.file")).to_contain_text("notes.txt")
    await expect(send).to_have_css("background-color", idle)


async def test_the_conversation_shows_its_focus_by_a_bar_and_no_frame(
    page: Page, house: FakeHouse
) -> None:
    house.say(GENERAL, ANA, "hello")
    box = page.locator("#timeline")
    await page.locator("#show-terminal").focus()
    await page.keyboard.press("Tab")
    await expect(box).to_be_focused()
    await expect(box).to_have_css("outline-style", "none")
    shown = await box.evaluate("e => getComputedStyle(e).backgroundImage")
    assert "gradient" in shown
    await page.emulate_media(forced_colors="active")
    await expect(box).to_have_css("outline-style", "solid")


async def test_the_way_to_new_messages_points_down(page: Page, house: FakeHouse) -> None:
    start = datetime.now(UTC) - timedelta(days=1)
    for n in range(50):
        house.say(GENERAL, ANA, f"message {n:03}", at=start + timedelta(minutes=n * 10))
    await expect(page.get_by_text("message 049")).to_be_visible()
    await page.locator("#timeline").evaluate("box => { box.scrollTop = 0; }")
    house.say(GENERAL, ANA, "news")
    latest = page.get_by_role("button", name="New messages")
    await expect(latest).to_be_visible()
    await expect(latest.locator(".icon")).to_have_css("transform", "none")
    assert await latest.locator("path").get_attribute("d") == "M10 4v12M5 11l5 5 5-5"


async def test_an_address_of_no_room_says_so_and_offers_the_rooms(
    page: Page, house: FakeHouse, address: str
) -> None:
    house.say(GENERAL, ANA, "here I am")
    for unknown in ("web:nowhere", "web:dm-ana-demo"):
        await page.goto(f"{address}#{unknown}")
        await page.reload()
        await expect(page.locator("#room-name")).to_have_text("This room is not here")
        await expect(page.locator("#composer")).to_be_hidden()
        await expect(page.locator("article")).to_have_count(0)
        await page.locator("#welcome").get_by_role("button", name="#general").click()
        await expect(page.locator("#room-name")).to_have_text("#general")
        await expect(page.locator("#composer")).to_be_visible()
        await expect(page.locator("article")).to_contain_text("here I am")
        await page.go_back()
        await expect(page.locator("#room-name")).to_have_text("This room is not here")
