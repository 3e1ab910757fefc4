"""The page in a real browser: the way from a name to an answer and its why."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, expect

from contract.chat import Room, Speaker
from contract.errors import PlatformError
from gateway.core.views import SessionView, TurnRecord
from tests.doubles.house import FakeHouse
from tests.doubles.running import until

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")
DEMO = Speaker("bot:demo", "demo", "bot")


async def say(page: Page, text: str) -> None:
    await page.locator("#text").fill(text)
    await page.locator("#text").press("Enter")


async def started(page: Page, house: FakeHouse, text: str = "@demo hi") -> TurnRecord:
    """A turn that runs because somebody wrote `text`."""
    await say(page, text)
    turn = page.locator(".turn")
    await expect(turn).to_be_visible()
    record = house.records[str(await turn.get_attribute("data-turn"))]
    return house.move(record.turn.id, "running")


async def test_on_a_narrow_window_a_mouse_moves_nothing(page: Page, house: FakeHouse) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    ana, room = Speaker("web:ana", "Ana"), Room("web:general", "general")
    turn_id = house.queue(house.say(room, ana, "hi @demo"), "demo", {}).turn.id
    house.finish(turn_id, "Hello.")
    why = page.get_by_role("button", name="Why this answer")
    await expect(why).to_be_visible()
    before = await why.bounding_box()
    await why.hover()
    assert await why.bounding_box() == before
    await page.mouse.down()
    assert await why.bounding_box() == before
    await page.mouse.up()
    await expect(page.locator("#side")).to_contain_text("Why this answer")


async def test_from_a_name_to_an_answer_and_its_why(page: Page, house: FakeHouse) -> None:
    await page.locator("#text").press_sequentially("@de")
    await expect(page.get_by_role("option", name=re.compile("demo"))).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.locator("#text")).to_have_value("@demo ")
    await page.keyboard.type("what do you know?")
    await page.keyboard.press("Enter")
    await expect(page.locator("article.message .mention.persona")).to_have_text("@demo")
    await expect(page.locator(".turn")).to_contain_text("Waiting its turn")

    [turn_id] = house.records
    house.move(turn_id, "running")
    house.working(turn_id, "Reading the room")
    await expect(page.locator(".turn")).to_contain_text("Reading the room")
    for draft in ("I know", "I know **two", "I know **two** things"):
        house.draft(turn_id, draft)
    await expect(page.locator(".turn .text")).to_have_text("I know two things")
    await expect(page.locator(".turn strong")).to_have_text("two")
    house.finish(turn_id, "I know **three** things.")
    await expect(page.locator(".turn")).to_have_count(0)
    answer = page.locator("article.bot")
    await expect(answer).to_have_count(1)
    await expect(answer.locator(".text")).to_have_text("I know three things.")

    given = house.calls[-1].given if house.calls[-1].name == "submit" else None
    given = given or next(call.given for call in house.calls if call.name == "submit")
    assert given["content"] == "@demo what do you know?"
    assert given["metadata"]["sender_id"] == "web:citra"
    assert given["room"]["id"] == "web:general"

    await answer.get_by_role("button", name="Why this answer").click()
    side = page.locator("#side")
    await expect(side.locator("pre").filter(has_text="[SESSION CONTEXT]").last).to_contain_text(
        "You are: @demo (Scripted demo)"
    )
    await expect(side).to_contain_text("hook")
    await expect(side).to_contain_text("mem0")
    await expect(side).to_contain_text("12 oldest lines")
    await expect(side).to_contain_text("left out: recall (took too long)")
    assert await side.locator("svg.bar").count() >= 4
    await page.keyboard.press("Escape")
    await expect(side).to_be_hidden()
    await expect(answer.get_by_role("button", name="Why this answer")).to_be_focused()


async def test_a_permission_question_is_answered_in_the_room(page: Page, house: FakeHouse) -> None:
    record = await started(page, house)
    question = house.ask(record.turn.id, "Run a command?", "rm -rf build", "Yes", "No, stop")
    card = page.locator(".question")
    await expect(card).to_contain_text("rm -rf build")
    await expect(page.locator(".turn")).to_contain_text("Waiting for a decision")
    await card.get_by_role("button", name="No, stop").click()
    await expect(card).to_contain_text("Citra chose “No, stop”.")
    assert house.choice(question).result() == 1


async def test_only_those_who_may_can_press_the_buttons(page: Page, house: FakeHouse) -> None:
    record = await started(page, house)
    house.ask(record.turn.id, "Run a command?", "ls", "Yes", "No", may_answer=(ANA,))
    card = page.locator(".question")
    await expect(card).to_contain_text("Ana may answer, not you.")
    await expect(card.get_by_role("button", name="Yes")).to_be_disabled()


async def test_a_running_turn_can_be_stopped_by_a_button(page: Page, house: FakeHouse) -> None:
    await started(page, house)
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".turn")).to_contain_text("Stopped.")
    given = house.calls[-1].given
    assert given["content"] == "!stop"
    assert given["metadata"]["recipient_id"] == "bot:demo"


async def test_a_failed_turn_says_why(page: Page, house: FakeHouse) -> None:
    record = await started(page, house)
    house.move(record.turn.id, "failed", error="claude is not logged in: run claude login")
    await expect(page.locator(".turn")).to_contain_text("claude is not logged in")
    await expect(page.locator(".spinner")).to_be_hidden()


async def test_a_queued_turn_tells_how_many_are_before_it(page: Page, house: FakeHouse) -> None:
    await say(page, "@demo hi")
    await expect(page.locator(".turn")).to_be_visible()
    [turn_id] = house.records
    house.move(turn_id, "queued", ahead=2)
    await expect(page.locator(".turn")).to_contain_text("Waiting its turn, 2 before it")


async def test_an_edit_shows_and_a_deletion_removes(page: Page, house: FakeHouse) -> None:
    message = house.say(GENERAL, ANA, "first")
    await expect(page.locator("article")).to_contain_text("first")
    edited = house.reword(message, text="second", edited_at=datetime.now(UTC))
    await expect(page.locator("article .text")).to_contain_text("second")
    await expect(page.locator(".edited")).to_be_visible()
    house.unsay(edited)
    await expect(page.locator("article")).to_have_count(0)


async def test_a_draft_that_is_a_message_becomes_the_answer(page: Page, house: FakeHouse) -> None:
    record = await started(page, house)
    turn_id = record.turn.id
    posted = house.say(GENERAL, DEMO, "So", turn_id=turn_id, draft=True)
    await expect(page.locator("article.bot")).to_have_count(1)
    house.draft(turn_id, "So far")
    await expect(page.locator("article.bot .text")).to_have_text("So far")
    house.reword(posted, text="So far so good", draft=False)
    house.move(turn_id, "posted")
    await expect(page.locator("article.bot .text")).to_have_text("So far so good")
    await expect(page.get_by_role("button", name="Why this answer")).to_be_visible()
    await expect(page.locator("article.bot")).to_have_count(1)


async def test_a_message_that_was_not_taken_can_be_sent_again(page: Page, house: FakeHouse) -> None:
    house.raises = PlatformError("full", outcome="retry", say="Moot's disk is full.")
    await say(page, "hello")
    await expect(page.locator(".message.failed")).to_contain_text("Not sent: Moot's disk is full.")
    house.raises = None
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".message.failed")).to_have_count(0)
    await expect(page.locator("article .text")).to_have_text("hello")
    first, second = (call.given["message_id"] for call in house.calls if call.name == "submit")
    assert first == second


async def test_older_messages_load_while_the_place_is_kept(page: Page, house: FakeHouse) -> None:
    start = datetime.now(UTC) - timedelta(days=1)
    for n in range(120):
        last = house.say(GENERAL, ANA, f"message {n:03}", at=start + timedelta(minutes=n * 10))
    await until(lambda: last.at in house.read_until.values())  # it begins where unread does
    await page.reload()
    await expect(page.get_by_text("message 119")).to_be_visible()
    await expect(page.locator("article")).to_have_count(50)
    await page.locator("#timeline").evaluate("box => { box.scrollTop = 200; }")
    await expect(page.locator("article")).not_to_have_count(50)
    await page.get_by_text("message 060").scroll_into_view_if_needed()
    top = await page.get_by_text("message 060").evaluate("e => e.getBoundingClientRect().top")
    house.say(GENERAL, ANA, "news")
    await expect(page.get_by_role("button", name="New messages")).to_be_visible()
    now = await page.get_by_text("message 060").evaluate("e => e.getBoundingClientRect().top")
    assert abs(now - top) < 2
    await page.get_by_role("button", name="New messages").click()
    await expect(page.get_by_text("news")).to_be_in_viewport()


async def test_direct_messages_have_rooms_of_their_own(page: Page, house: FakeHouse) -> None:
    house.say(Room("web:dm-ana-demo", "demo", "dm"), ANA, "between us")
    await page.get_by_role("link", name="demo").click()
    await expect(page.get_by_role("heading", name="You and demo")).to_be_visible()
    await say(page, "hi")
    await expect(page.locator("article:not(.turn) .text")).to_have_text("hi")
    given = house.calls[-1].given
    assert given["room"] == {
        "id": "web:dm-citra-demo", "name": "demo", "kind": "dm", "project": None
    }  # fmt: skip
    assert await page.get_by_text("between us").count() == 0
    await page.goto(page.url.split("#")[0] + "#web%3Adm-ana-demo")
    await expect(page.locator("#room-name")).to_have_text("This room is not here")
    assert await page.get_by_text("between us").count() == 0


async def test_rooms_are_made_and_jumped_to(page: Page, house: FakeHouse) -> None:
    await page.get_by_role("button", name="New room").click()
    await page.get_by_label("Name", exact=True).fill("Auth team")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="#Auth team", exact=True)).to_be_visible()
    await page.get_by_role("dialog").wait_for(state="detached")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("gener")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="#general", exact=True)).to_be_visible()
    house.say(Room("web:auth-team", "Auth team"), ANA, "psst")
    await expect(page.locator(".row.unread")).to_contain_text("Auth team")


async def test_the_keyboard_writes_lines_recalls_and_replies(page: Page, house: FakeHouse) -> None:
    message = house.say(GENERAL, ANA, "what now?")
    await page.locator("#text").press_sequentially("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    await expect(page.locator("#text")).to_have_value("")
    await page.keyboard.press("ArrowUp")
    await expect(page.locator("#text")).to_have_value("one\ntwo")
    await page.locator("#text").fill("")
    await page.get_by_role("button", name=re.compile("Reply: Ana")).click()
    await say(page, "this")
    await expect(page.locator(".quote")).to_contain_text("what now?")
    assert house.calls[-1].given["reply_to"] == message.id


async def test_a_file_is_attached_and_sent(page: Page, house: FakeHouse) -> None:
    file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}
    await page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
    await expect(page.locator("#pending")).to_contain_text("5 B")
    await say(page, "see")
    await expect(page.locator("article a.file")).to_contain_text("notes.txt")
    await until(lambda: "web:general" in house.said)  # the page shows it before it has arrived
    [stored] = house.said["web:general"][0].attachments
    assert (stored.name, stored.size_bytes) == ("notes.txt", 5)


async def test_the_terminal_is_shown_live_beside_the_chat(page: Page, house: FakeHouse) -> None:
    house.session_cards = [SessionView("s1", "demo", "web:general", "working", 42)]
    house.pictures["s1"] = [[("> ", "b"), ("hi", "fg-xff8800")]]
    await page.get_by_role("button", name="Terminal").click()
    await expect(page.locator(".screen")).to_contain_text("> hi")
    colour = await page.locator(".screen span").nth(1).evaluate("e => getComputedStyle(e).color")
    assert colour == "rgb(255, 136, 0)"
    house.pictures["s1"] = [[("> ", "b"), ("there", "")]]
    await expect(page.locator(".screen")).to_contain_text("> there")
    del house.pictures["s1"]
    await expect(page.locator("#side")).to_contain_text("This session has ended.")


async def test_an_empty_room_tells_what_to_try(page: Page) -> None:
    await page.get_by_role("button", name=re.compile("@demo permission")).click()
    await expect(page.locator("#text")).to_have_value("@demo permission")
    await expect(page.locator("#text")).to_be_focused()
    await expect(page.locator("#welcome")).to_contain_text("npm install -g @openai/codex")
    await page.get_by_role("link", name="codex not installed").click()
    await expect(page.locator("#welcome")).to_contain_text("You and codex")
    await expect(page.locator("#welcome")).not_to_contain_text("null")


async def test_a_message_is_pinned_by_its_button(page: Page, house: FakeHouse) -> None:
    message = house.say(GENERAL, ANA, "we rotate tokens")
    await page.locator("article").hover()
    await page.get_by_role("button", name=re.compile("Pin: Ana")).click()
    await expect(page.locator("article .quote")).to_contain_text("we rotate tokens")
    given = house.calls[-1].given
    assert given["content"] == "!pin"
    assert given["reply_to"] == message.id
    house.say(GENERAL, Speaker("bot:moot", "moot", "bot"), "📌 Pinned as 1: we rotate tokens")
    await expect(page.locator("article.bot")).to_have_count(1)
    await expect(page.get_by_role("button", name=re.compile("Pin: moot"))).to_have_count(0)


async def test_the_commands_of_the_memory_are_suggested(page: Page, house: FakeHouse) -> None:
    await page.locator("#text").press_sequentially("!f")
    await expect(page.get_by_role("option", name=re.compile("!forget"))).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.locator("#text")).to_have_value("!forget ")


async def test_a_slash_completes_to_what_is_sent(page: Page, house: FakeHouse) -> None:
    text = page.locator("#text")
    await text.press_sequentially("/stat")
    await expect(page.get_by_role("option", name=re.compile("!status"))).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(text).to_have_value("!status ")
    await page.keyboard.press("Enter")
    await until(
        lambda: any(
            message.text.strip() == "!status" for message in house.said.get("web:general", ())
        )
    )
