"""What was typed outlives a reload, a crash and a stopped Moot, and arrives once, in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from contract.chat import Room, Speaker
from contract.errors import Rejected
from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import enter, sign_in
from tests.doubles.house import FakeHouse
from tests.doubles.running import until
from tests.gateway.test_browser import say

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")
SUBMIT = re.compile(r"/api/submit$")


def submitted(house: FakeHouse) -> list[Any]:
    return [call.given for call in house.calls if call.name == "submit"]


async def kept(page: Page) -> list[str]:
    found: list[str] = await page.evaluate(
        "Object.keys(localStorage).filter(key => key.startsWith('moot.kept/'))"
    )
    return found


async def test_a_draft_stays_with_its_room_over_a_reload(page: Page, house: FakeHouse) -> None:
    house.say(GENERAL, ANA, "what now?")
    file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}
    await page.locator("article").hover()
    await page.get_by_role("button", name=re.compile("Reply: Ana")).click()
    await page.locator("#text").fill("half a\nthought")
    await page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
    await expect(page.locator("#pending")).to_contain_text("5 B")
    await page.get_by_role("link", name="demo").click()
    await expect(page.locator("#text")).to_have_value("")
    await expect(page.locator("#pending")).to_be_hidden()
    await page.locator("#text").fill("for demo")

    await page.goto(page.url.split("#")[0])  # in the room that was shown last
    await expect(page.locator("#text")).to_have_value("for demo")
    await page.goto(f"{page.url.split('#')[0]}#web%3Ageneral")
    await page.reload()
    await expect(page.locator("#text")).to_have_value("half a\nthought")
    await expect(page.locator("#replying")).to_contain_text("Replying to Ana")
    await expect(page.locator("#pending")).to_contain_text("notes.txt")
    await page.get_by_role("link", name="demo").click()
    await expect(page.locator("#text")).to_have_value("for demo")

    await page.locator("#text").fill("")
    await page.get_by_role("link", name="general").click()
    await page.locator("#text").press("Enter")
    await until(lambda: len(submitted(house)) == 1)
    assert submitted(house)[0]["reply_to"] == house.said["web:general"][0].id
    assert submitted(house)[0]["attachments"][0]["name"] == "notes.txt"
    await expect(page.locator("article.sending")).to_have_count(0)
    for _ in range(100):  # it is shown as sent before the page hears that it was taken
        if not await kept(page):
            break
        await page.wait_for_timeout(100)
    assert await kept(page) == []


async def test_messages_written_while_moot_is_stopped_are_sent_by_themselves(
    browser: Browser, house: FakeHouse, tmp_path: Path
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    async with open_page(house.services, PageSettings(tmp_path)) as url:
        await enter(page, url, house.visitors)
    await expect(page.locator("#connection")).to_contain_text("Reconnecting")
    for text in ("one", "two", "three"):
        await say(page, text)
    await expect(page.locator(".message.failed")).to_have_count(3)
    await expect(page.locator(".message.failed").first).to_contain_text("Not sent")
    await page.close()

    port = int(url.rstrip("/").rpartition(":")[2])
    async with open_page(house.services, PageSettings(tmp_path, port=port)):
        again = await context.new_page()
        await again.goto(url)
        await expect(again.locator("article .text")).to_have_text(["one", "two", "three"])
        await expect(again.locator(".message.failed, .message.sending")).to_have_count(0)
        assert [message.text for message in house.said["web:general"]] == ["one", "two", "three"]
        assert await kept(again) == []
        await again.reload()
        await expect(again.locator("article .text")).to_have_text(["one", "two", "three"])
    await context.close()


async def test_a_page_that_stays_open_sends_when_moot_is_back(
    browser: Browser, house: FakeHouse, tmp_path: Path
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    async with open_page(house.services, PageSettings(tmp_path)) as url:
        await enter(page, url, house.visitors)
    await expect(page.locator("#connection")).to_contain_text("Reconnecting")
    await say(page, "one")
    await say(page, "two")
    await expect(page.locator(".message.failed")).to_have_count(2)
    port = int(url.rstrip("/").rpartition(":")[2])
    async with open_page(house.services, PageSettings(tmp_path, port=port)):
        await expect(page.locator(".message.failed, .message.sending")).to_have_count(
            0, timeout=20_000
        )
        await expect(page.locator("article .text")).to_have_text(["one", "two"])
        assert [message.text for message in house.said["web:general"]] == ["one", "two"]
    await context.close()


async def test_a_message_whose_receipt_was_lost_arrives_once(page: Page, house: FakeHouse) -> None:
    async def lose(route: Route) -> None:
        await route.fetch()  # it arrives
        await route.abort()

    await page.route(SUBMIT, lose, times=1)
    await say(page, "only once")
    await until(lambda: len(submitted(house)) == 1)
    await say(page, "after it")
    await until(lambda: len(submitted(house)) == 3)
    assert [message.text for message in house.said["web:general"]] == ["only once", "after it"]
    assert submitted(house)[0]["message_id"] == submitted(house)[1]["message_id"]
    await expect(page.locator("article .text")).to_have_text(["only once", "after it"])
    await page.reload()
    await expect(page.locator("article .text")).to_have_text(["only once", "after it"])
    assert await kept(page) == []


async def test_what_was_refused_waits_for_a_person_and_holds_up_nothing(
    page: Page, house: FakeHouse
) -> None:
    house.raises = Rejected("content", "is not for here")
    await say(page, "no")
    await expect(page.locator(".message.failed")).to_contain_text("Not sent: content: is not")
    house.raises = None
    await say(page, "yes")
    await until(lambda: "web:general" in house.said)
    await page.reload()
    await expect(page.locator(".message.failed")).to_contain_text("no")
    await expect(page.locator(".message.failed")).not_to_contain_text("by itself")
    await page.get_by_role("button", name="Discard").click()
    await expect(page.locator(".message.failed")).to_have_count(0)
    await page.reload()
    await expect(page.locator("article .text")).to_have_text(["yes"])
    assert [message.text for message in house.said["web:general"]] == ["yes"]


async def test_who_signs_in_next_sees_nothing_of_it(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await enter(page, address, house.visitors)
    await page.locator("#text").fill("mine alone")
    assert len(await kept(page)) == 1
    await sign_in(context, address, house.visitors, "Budi")
    await page.reload()
    await expect(page.locator("#me")).to_contain_text("Budi")
    await expect(page.locator("#text")).to_have_value("")
    assert await kept(page) == []
    await page.locator("#text").fill("mine, too")
    assert len(await kept(page)) == 1
    await page.locator("#me").click()
    await page.get_by_role("button", name="Sign out here").click()
    await expect(page.locator("#token")).to_be_visible()
    assert await kept(page) == []
    await context.close()
