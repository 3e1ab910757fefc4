"""The look of the page where a picture is too coarse: marks, failures, clock, forced colours."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from contract.chat import Room, Speaker
from gateway.core.views import PersonaView
from tests.doubles.axe import faults
from tests.doubles.browser import enter
from tests.doubles.house import FakeHouse

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")
DEMO = Speaker("bot:demo", "demo", "bot")
MARKS = """marks => marks.map(mark => [
    getComputedStyle(mark).backgroundColor, mark.querySelector("path").getAttribute("d")])"""


async def style(page: Page, selector: str, name: str, pseudo: str = "") -> Any:
    at = page.locator(selector).first
    return await at.evaluate(
        "(element, [name, pseudo]) => getComputedStyle(element, pseudo || null)[name]",
        [name, pseudo],
    )


async def test_each_agent_has_a_mark_of_its_own(page: Page, house: FakeHouse) -> None:
    names = ("demo", "claude", "codex", "gemini", "aider", "critic", "writer", "planner", "qwen")
    house.cards = [PersonaView(name, "", "An agent") for name in names]
    house.say(GENERAL, ANA, "hello")
    await page.reload()
    rows = page.locator('#lists a[href^="#web%3Adm-"] .mark')
    await expect(rows).to_have_count(len(names))
    marks = await rows.evaluate_all(MARKS)
    assert len({drawing for _, drawing in marks}) == len(names)
    assert len({colour for colour, _ in marks[:3]}) == 3
    assert await rows.all_inner_texts() == [""] * len(names)  # no letter
    assert await style(page, "article .avatar", "borderRadius") == "50%"  # a person's is round
    before = marks
    house.cards = [*house.cards, PersonaView("zebra", "", "An agent")]
    await page.reload()
    await expect(rows).to_have_count(len(names) + 1)
    assert (await rows.evaluate_all(MARKS))[: len(names)] == before  # a new one changes no other


async def test_a_failure_does_not_look_like_an_answer(page: Page, house: FakeHouse) -> None:
    asked = house.say(GENERAL, ANA, "@demo hi")
    done, failed, stopped = (house.queue(asked, "demo", {}).turn.id for _ in range(3))
    house.finish(done, "Hello.")
    house.say(GENERAL, DEMO, "⚠️ Run `claude login`.", turn_id=failed, fault="login")
    house.move(failed, "failed")
    house.say(GENERAL, DEMO, "⏹️ Stopped.", turn_id=stopped, fault="stopped")
    house.move(stopped, "stopped")
    await expect(page.locator("article.no-answer")).to_contain_text("No answer")
    await expect(page.locator("article.no-answer code")).to_have_text("claude login")
    await expect(page.locator("article.no-answer")).to_contain_text("What happened")
    await expect(page.locator("article.was-stopped")).to_contain_text("Stopped")
    plain = await style(page, "article.bot:not(.no-answer) .message-body", "borderLeftStyle")
    assert plain == "none"
    assert await style(page, "article.no-answer .message-body", "borderLeftStyle") == "solid"
    assert await faults(page) == []


async def test_the_caret_of_a_draft_stays_behind_the_last_word(
    page: Page, house: FakeHouse
) -> None:
    turn_id = house.queue(house.say(GENERAL, ANA, "@demo hi"), "demo", {}).turn.id
    house.move(turn_id, "running")
    house.draft(turn_id, "So:\n\n- one\n  - inner\n- two\n  - nested\n  - last")
    await expect(page.locator(".turn li")).to_have_count(5)
    carets = await page.locator(".turn .text *").evaluate_all(
        "all => all.filter(one => getComputedStyle(one, '::after').content !== 'none')"
        ".map(one => one.textContent)"
    )
    assert carets == ["last"]


async def test_forced_colours_show_the_selected_room_and_what_is_new(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    house.say(Room("web:other", "other"), ANA, "psst")
    context = await browser.new_context(forced_colors="active")
    page = await context.new_page()
    await enter(page, address, house.visitors)
    assert await style(page, ".row[aria-current]", "outlineStyle") == "solid"
    assert await style(page, ".row[aria-current]", "borderLeftWidth") == "6px"
    assert await style(page, ".row:not([aria-current])", "outlineStyle") == "none"
    assert await style(page, ".row.unread .row-name", "textDecorationLine") == "underline"
    assert await style(page, ".row.unread .badge", "borderTopStyle") == "solid"
    await context.close()


@pytest.mark.parametrize(
    ("locale", "shown"), [("en-US", "9:05 AM"), ("en-GB", "09:05"), ("de-DE", "09:05")]
)
async def test_the_clock_is_the_persons_own(
    browser: Browser, address: str, house: FakeHouse, locale: str, shown: str
) -> None:
    house.say(GENERAL, ANA, "early", at=datetime(2026, 4, 21, 9, 5, tzinfo=UTC))
    context = await browser.new_context(locale=locale, timezone_id="UTC")
    page = await context.new_page()
    await enter(page, address, house.visitors)
    told = await page.locator("article time").inner_text()
    assert told.replace("\u202f", " ") == shown
    await context.close()


async def test_a_wide_screen_is_used(page: Page, house: FakeHouse) -> None:
    house.say(GENERAL, ANA, "```\n" + "x" * 300 + "\n```\n\n" + "word " * 100)
    await page.set_viewport_size({"width": 1920, "height": 1000})
    code, prose = page.locator("article .code"), page.locator("article .text > p")
    wide, narrow = await code.bounding_box(), await prose.bounding_box()
    assert wide
    assert narrow
    assert wide["width"] > 1000
    assert narrow["width"] < 800  # a line that the eye can follow


async def test_words_to_type_look_like_it(page: Page, house: FakeHouse) -> None:
    hint = "Install npm's `@openai/codex`, or say where it is."
    house.cards = [PersonaView("codex", "A second opinion.", "Codex", available=False, hint=hint)]
    await page.reload()
    await expect(page.locator(".card-hint code")).to_have_text("@openai/codex")
    await expect(page.locator("#welcome")).not_to_contain_text("`")


async def test_a_file_alone_can_be_sent(page: Page) -> None:
    file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}
    await page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
    await expect(page.locator("#send")).to_have_class("send ready")
