"""The look of the page where a picture is too coarse: marks, failures, clock, forced colours."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from contract.chat import Room, Speaker
from gateway.core.views import PersonaView
from tests.doubles.admin_answers import ACCESS
from tests.doubles.axe import faults
from tests.doubles.browser import enter
from tests.doubles.house import FakeHouse
from tests.doubles.running import until
from tests.gateway.test_accessible import with_answers

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")
AT = "2026-04-21T12:00:00+00:00"
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


async def test_a_link_that_is_put_into_the_same_tab_is_used(browser: Browser, address: str) -> None:
    codes: list[str] = []

    async def refuse(route: Route) -> None:
        if route.request.method == "POST":
            codes.append(json.loads(route.request.post_data or "")["code"])
        error = {"code": "unauthorized", "message": "this link was used: `moot open` makes another"}
        await route.fulfill(status=401, json={"error": error})

    context = await browser.new_context()
    page = await context.new_page()
    page.set_default_timeout(10_000)
    await page.route("**/api/sign-in", refuse)
    await page.goto(f"{address}sign-in#first")
    fault = page.get_by_role("alert")
    await expect(fault.locator("code")).to_have_text("moot open")
    await expect(fault).not_to_contain_text("`")
    await page.evaluate("location.hash = 'second'")
    await until(lambda: codes == ["first", "second"])
    await context.close()


async def test_whoever_speaks_to_the_browser_says_what_a_button_shows(page: Page) -> None:
    claim = {"person_id": "slack:U1", "person_name": "Olivia", "persona": "demo", "at": AT}
    await with_answers(page)
    await page.route("**/api/access", lambda route: route.fulfill(json={**ACCESS, "claim": claim}))
    await page.evaluate("location.hash = 'admin'")
    await expect(page.get_by_text("Olivia mentioned @demo: is that you?")).to_be_visible()
    assert await faults(page, "label-content-name-mismatch") == []


async def test_a_found_message_is_shown_without_the_signs_of_its_form(
    page: Page, house: FakeHouse
) -> None:
    text = "The expiry is in **two** places, see [the docs](https://example.org): ```py\nx\n```"
    hit: dict[str, object] = {
        "message_id": "web:1",
        "room_id": GENERAL.id,
        "room_name": "general",
        "at": AT,
    }
    hit |= {"by": {"id": "web:ana", "name": "Ana", "kind": "person"}, "text": text}
    found = {"items": [hit], "words": ["expiry"], "next_before": None}
    await page.route("**/api/search?*", lambda route: route.fulfill(json=found))
    await page.keyboard.press("Control+k")
    await page.keyboard.type("expiry")
    shown = page.locator(".hit-text")
    await expect(shown).to_have_text(re.compile(r"^The expiry is in two places, see the docs: x"))
    await expect(shown.locator("mark")).to_have_text("expiry")


async def test_the_figures_of_a_plot_stand_inside_of_it(page: Page, house: FakeHouse) -> None:
    house.admin.fill()
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.evaluate("location.hash = 'admin/plots'")
    await expect(page.locator(".plot-text").first).to_be_attached()
    assert (
        await page.locator(".plot-text").evaluate_all(
            "texts => Math.min(...texts.map(text => text.getBBox().x))"
        )
        >= 0
    )


async def test_a_head_without_words_is_still_a_head(page: Page, house: FakeHouse) -> None:
    house.say(GENERAL, ANA, "| What | |\n|---|---|\n| a | b |")
    await expect(page.locator(".table thead")).to_be_visible()
    assert await style(page, ".table thead", "backgroundColor") != "rgba(0, 0, 0, 0)"


async def test_a_question_says_who_may_answer(page: Page, house: FakeHouse) -> None:
    turn = house.queue(house.say(GENERAL, ANA, "@demo go"), "demo", {"content": "x"}).turn.id
    house.move(turn, "running")
    house.ask(turn, "Run a command?", "ls", "Yes", "No")
    await expect(page.get_by_text("Owners and approvers may answer")).to_be_visible()
