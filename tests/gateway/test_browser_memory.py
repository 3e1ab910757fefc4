"""The memory of a room in a real browser, over a real gateway and its database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect
from sqlalchemy import Connection, delete

from contract.chat import Room
from gateway.core.events import MemoryChanged
from gateway.web.page import PageSettings, open_page
from memory.recall.facts import remove_facts, replace_facts
from store.schema import landmarks
from tests.doubles.browser import enter
from tests.doubles.inbox import PATIENCE_S
from tests.doubles.index import WordIndex
from tests.doubles.remembered import START, Shelf
from tests.doubles.running import Opened, gateway
from tests.gateway.conftest import WIDE

pytestmark = pytest.mark.asyncio(loop_scope="session")
ROOM = "room:web:general"
EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")


@dataclass
class Sitting:
    """Citra at the page of a real gateway."""

    moot: Opened
    page: Page

    @property
    def panel(self) -> Locator:
        return self.page.locator("#side")

    def section(self, name: str) -> Locator:
        return self.panel.get_by_role("region", name=name, exact=True)

    async def remember(self, work: Callable[[Shelf], Any], scope: str = ROOM) -> Any:
        """Write into the memory as a layer does, then tell of it."""

        def write(connection: Connection) -> Any:
            return work(Shelf(connection, scope))

        done = await self.moot.house.memories.store.write(write)
        recall = self.moot.house.memories.recall
        assert recall is not None
        await recall.index_pending()
        self.moot.house.bus.publish(MemoryChanged(scope.removeprefix("room:")))
        return done

    async def open(self) -> None:
        await self.page.get_by_role("button", name="Memory", exact=True).click()
        await expect(self.section("Landmarks")).to_be_visible()

    def said(self) -> Locator:
        """What the page shows as said; it shows it before it is stored."""
        return self.page.locator("#log article:not(.bot) .text")

    async def commands(self, count: int) -> list[tuple[str, str]]:
        """Who said which commands, as stored, once there are so many."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                page = await self.moot.house.transcript.page("web:general", None, 10)
                said = [(m.by.id, m.content) for m in page if m.content.startswith("!")]
                if len(said) >= count:
                    return said
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture(loop_scope="session")
async def sitting(browser: Browser, tmp_path: Path) -> AsyncIterator[Sitting]:
    async with gateway(tmp_path, index=WordIndex()) as moot:
        await moot.house.services.chat.open_lobby()
        async with open_page(moot.house.services, PageSettings(tmp_path / "files")) as url:
            context = await browser.new_context(viewport=WIDE, reduced_motion="reduce")
            page = await context.new_page()
            faults: list[str] = []
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            await enter(page, url, moot.house.visitors)
            yield Sitting(moot, page)
            await context.close()
            assert faults == []


async def test_an_empty_memory_says_how_something_gets_there(sitting: Sitting) -> None:
    await sitting.open()
    await expect(sitting.section("Landmarks")).to_contain_text(
        "Nothing is pinned. !pin pins the message you reply to."
    )
    for name in ("Summary", "Facts", "What the agents did", "Insights", "Sessions"):
        notes = sitting.section(name).locator("p.note")
        await expect(notes).to_have_count(1)
        assert len(await notes.inner_text()) > 40
    await expect(sitting.panel.get_by_role("button", name="Filter")).to_be_hidden()


async def test_every_section_shows_what_the_room_holds(sitting: Sitting) -> None:
    await sitting.remember(Shelf.fill)
    await sitting.remember(lambda s: s.episode("The week before"))
    await sitting.remember(lambda s: s.episode("The newest"))
    other = Room("web:other", "other")
    await sitting.moot.house.transcript.open_room(other, START)
    await sitting.remember(lambda s: s.landmark("theirs"), "room:web:other")
    await sitting.remember(lambda s: s.fact("theirs"), "dm:web:citra:demo")
    await sitting.open()
    await expect(sitting.section("Landmarks")).to_contain_text("Rotate refresh tokens")
    await expect(sitting.section("Landmarks")).to_contain_text("#1 · decision · by Budi")
    summary = sitting.section("Summary")
    await expect(summary.get_by_text("The newest")).to_be_visible()
    await expect(summary.get_by_text("The week before")).to_be_hidden()
    await summary.get_by_text("Earlier summaries, 2").click()
    await expect(summary.get_by_text("The week before")).to_be_visible()
    await summary.get_by_text("The session's record").first.click()
    await expect(summary.locator("dl").first).to_contain_text("Raise it to 30 minutes")
    await expect(summary.locator("dl").first).to_contain_text("Next steps")
    await expect(sitting.section("Facts")).to_contain_text("about Budi · #auth-team")
    await expect(sitting.section("Insights")).to_contain_text("Prefers short answers")
    await expect(sitting.section("Sessions")).to_contain_text("goes on")
    assert "theirs" not in await sitting.panel.inner_text()


async def test_facts_come_in_pages_and_replaced_ones_struck_through(sitting: Sitting) -> None:
    def work(shelf: Shelf) -> None:
        old = shelf.fact("15 minutes")
        new = shelf.fact("30 minutes")
        replace_facts(shelf.connection, [old.id], new.id)
        for n in range(40):
            shelf.fact(f"later {n}")

    await sitting.remember(work)
    await sitting.open()
    facts = sitting.section("Facts")
    rows = facts.locator(".held-rows > li")
    await expect(rows).to_have_count(30)
    await facts.get_by_role("button", name="Older facts").focus()
    await sitting.page.keyboard.press("Enter")
    await expect(rows).to_have_count(41)
    await expect(facts.get_by_role("heading")).to_be_focused()  # its button went
    await expect(facts.get_by_text("15 minutes")).to_have_count(0)
    await facts.get_by_role("switch", name="Show replaced ones").check()
    await facts.get_by_role("button", name="Older facts").click()
    struck = facts.locator("li.replaced")
    await expect(struck.locator("s")).to_have_text("15 minutes")
    await expect(struck).to_contain_text("replaced by #2")


async def test_a_title_opens_its_timeline_and_its_record(sitting: Sitting) -> None:
    await sitting.remember(lambda s: [s.observation(f"step {n}") for n in range(9)])
    await sitting.open()
    button = sitting.panel.get_by_role("button", name=re.compile("step 4"))
    await button.click()
    record = sitting.section("Record")
    await expect(record.get_by_role("heading", name="step 4")).to_be_focused()
    for text in (
        "The limit stands in the auth module", "sets the expiry to 15 minutes",
        "found a constant", "how-it-works", "src/auth.py", "discovery · @demo",
    ):  # fmt: skip
        await expect(record).to_contain_text(text)
    places = sitting.section("Timeline").locator("li")
    await expect(places).to_have_count(7)
    await expect(sitting.section("Timeline").locator("[aria-current]")).to_contain_text("step 4")
    await sitting.section("Timeline").get_by_role("button", name=re.compile("step 5")).click()
    await expect(record.get_by_role("heading", name="step 5")).to_be_focused()
    await sitting.panel.get_by_role("button", name="All of this memory").click()
    await expect(button).to_be_focused()


async def test_what_the_agents_did_is_filtered(sitting: Sitting) -> None:
    def work(shelf: Shelf) -> None:
        shelf.observation("the race", concepts=["gotcha"], files=["src/race.ts"])
        shelf.observation("the mail", concepts=["pattern"], files=["src/mail.ts"])

    await sitting.remember(work)
    await sitting.open()
    did = sitting.section("What the agents did")
    titles = did.locator(".title-row .held-text")
    await expect(titles).to_have_text(["the mail", "the race"])
    for label, wanted in (("Text", "RACE"), ("Concept", "gotcha"), ("File", "race.ts")):
        await did.get_by_label(label).fill(wanted)
        await sitting.page.keyboard.press("Enter")
        await expect(titles).to_have_text(["the race"])
        await did.get_by_role("button", name="Clear").click()
        await expect(titles).to_have_count(2)
    await did.get_by_label("Text").fill("nowhere")
    await sitting.page.keyboard.press("Enter")
    await expect(did).to_contain_text("Nothing here fits the filter.")
    await did.get_by_role("button", name="Clear").click()
    await titles.first.click()
    await sitting.section("Record").get_by_role("button", name="pattern").click()
    await expect(titles).to_have_text(["the mail"])
    await expect(did.get_by_label("Concept")).to_be_focused()


async def test_a_search_finds_facts_and_observations(sitting: Sitting) -> None:
    def work(shelf: Shelf) -> None:
        shelf.fact("tokens live 30 minutes")
        shelf.fact("the logo is green")
        shelf.observation("Found why tokens expire")

    await sitting.remember(work)
    await sitting.remember(lambda s: s.fact("tokens of others"), "room:web:other")
    await sitting.open()
    box = sitting.panel.get_by_role("searchbox", name="Search this memory")
    await box.fill("tokens")
    await sitting.page.keyboard.press("Enter")
    found = sitting.panel.locator(".held-text:visible")
    await expect(found).to_have_text(["tokens live 30 minutes", "Found why tokens expire"])
    await sitting.panel.get_by_role("button", name=re.compile("Found why")).click()
    await expect(sitting.section("Record")).to_be_visible()
    await sitting.panel.get_by_role("button", name="What was found").click()
    await expect(sitting.panel.get_by_role("button", name=re.compile("Found why"))).to_be_focused()
    await box.fill("")
    await expect(sitting.section("Landmarks")).to_be_visible()


async def test_buttons_say_the_commands_in_the_persons_name(sitting: Sitting) -> None:
    await sitting.remember(Shelf.fill)
    await sitting.open()
    await sitting.panel.get_by_role("button", name="Unpin landmark 1").click()
    await expect(sitting.said()).to_have_text(["!unpin 1"])
    forget = sitting.panel.locator("[data-key=forget-1]")
    await forget.click()
    await expect(forget).to_have_text("Press again to forget")
    await expect(sitting.said()).to_have_count(1)
    await forget.click()
    await expect(sitting.said()).to_have_text(["!unpin 1", "!forget 1"])
    assert await sitting.commands(2) == [("web:citra", "!unpin 1"), ("web:citra", "!forget 1")]


async def test_an_open_panel_follows_what_is_learned(sitting: Sitting) -> None:
    first = await sitting.remember(lambda s: s.fact("first"))
    await sitting.remember(lambda s: s.episode("kept open"))
    await sitting.open()
    await sitting.panel.get_by_text("The session's record").click()
    forget = sitting.panel.locator("[data-key=forget-1]")
    await forget.focus()
    await sitting.remember(lambda s: s.fact("second"))
    rows = sitting.section("Facts").locator(".held-text")
    await expect(rows).to_have_text(["second", "first"])
    await expect(forget).to_be_focused()
    await expect(sitting.section("Summary").locator("dl")).to_be_visible()
    await sitting.remember(lambda s: remove_facts(s.connection, [first.id]))
    await expect(rows).to_have_text(["second"])
    await expect(sitting.section("Facts").get_by_role("heading")).to_be_focused()


async def test_a_commands_reply_refreshes_the_panel(sitting: Sitting) -> None:
    await sitting.remember(lambda s: s.landmark("pinned"))
    await sitting.open()
    await expect(sitting.section("Landmarks")).to_contain_text("pinned")
    store = sitting.moot.house.memories.store
    await store.write(lambda c: c.execute(delete(landmarks)))  # as the command does
    await sitting.page.locator("#text").fill("!help")
    await sitting.page.locator("#text").press("Enter")
    await expect(sitting.section("Landmarks")).to_contain_text("Nothing is pinned.")


async def test_a_direct_message_shows_its_own_memory_alone(sitting: Sitting) -> None:
    await sitting.remember(lambda s: s.fact("of the room"))
    await sitting.remember(lambda s: s.fact("between us"), "dm:web:citra:demo")
    await sitting.remember(lambda s: s.fact("of another"), "dm:web:budi:demo")
    await sitting.page.get_by_role("link", name="demo").click()
    await expect(sitting.page.get_by_role("heading", name="You and demo")).to_be_visible()
    await sitting.open()
    await expect(sitting.section("Facts")).to_contain_text("No facts yet.")  # never spoken: no room
    await sitting.page.locator("#text").fill("hi")
    await sitting.page.locator("#text").press("Enter")
    facts = sitting.section("Facts").locator(".held-text")
    await expect(facts).to_have_text(["between us"])
    await expect(sitting.panel).to_contain_text("Only what was said in this direct message.")


async def test_a_room_of_another_platform_shows_its_memory_without_buttons(
    sitting: Sitting,
) -> None:
    await sitting.moot.house.transcript.open_room(Room("slack:C1", "design"), START)
    await sitting.remember(Shelf.fill, "room:slack:C1")
    await sitting.page.reload()
    await sitting.page.get_by_role("link", name="design").click()
    await sitting.open()
    await expect(sitting.section("Facts")).to_contain_text("Tokens live 30 minutes")
    assert await sitting.panel.get_by_role("button", name=re.compile("Forget|Unpin")).count() == 0


async def test_the_keyboard_reaches_all_and_escape_gives_the_focus_back(sitting: Sitting) -> None:
    await sitting.remember(Shelf.fill)
    button = sitting.page.get_by_role("button", name="Memory", exact=True)
    await button.focus()
    await sitting.page.keyboard.press("Enter")
    await expect(button).to_have_attribute("aria-pressed", "true")
    await expect(sitting.section("Facts")).to_contain_text("Tokens live")
    wanted = await sitting.panel.locator("button:visible, input:visible, summary:visible").count()
    reached = 0
    for _ in range(wanted + 1):
        reached += await sitting.panel.locator(":focus").count()
        await sitting.page.keyboard.press("Tab")
    assert reached == wanted
    await sitting.panel.get_by_role("searchbox").focus()
    await sitting.page.keyboard.press("Escape")
    await expect(sitting.panel).to_be_hidden()
    await expect(button).to_be_focused()
    await expect(button).to_have_attribute("aria-pressed", "false")


async def test_what_is_remembered_is_text_and_never_a_script(sitting: Sitting) -> None:
    asked: list[str] = []
    sitting.page.on("request", lambda request: asked.append(request.url))

    def work(shelf: Shelf) -> None:
        shelf.mark = EVIL
        shelf.fill()

    await sitting.remember(work)
    await sitting.open()
    await expect(sitting.section("Facts")).to_contain_text("onerror")
    await sitting.panel.get_by_role("button", name=re.compile("Found the token")).click()
    await expect(sitting.section("Record")).to_contain_text("onerror")
    assert await sitting.panel.locator("img, script").count() == 0
    assert await sitting.page.evaluate("window.hacked") is None
    own = sitting.page.url.split("#")[0]
    assert all(url.startswith(own) for url in asked), asked


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_panel_can_be_read_by_everybody(sitting: Sitting, scheme: str) -> None:
    def work(shelf: Shelf) -> None:
        shelf.fill()
        old = shelf.fact("old")
        replace_facts(shelf.connection, [old.id], shelf.fact("new").id)

    await sitting.remember(work)
    await sitting.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    await sitting.open()
    await sitting.panel.get_by_role("switch").check()
    await expect(sitting.panel.locator("s")).to_have_count(1)
    for summary in await sitting.panel.locator("summary").all():
        await summary.click()
    assert await sitting.page.evaluate(AUDIT) == []
    await sitting.panel.get_by_role("button", name=re.compile("Found the token")).click()
    await expect(sitting.section("Record")).to_be_visible()
    assert await sitting.page.evaluate(AUDIT) == []


async def test_the_audit_sees_what_is_wrong(sitting: Sitting) -> None:
    await sitting.open()
    await sitting.page.evaluate(
        """() => {
          document.querySelector("#side").insertAdjacentHTML("beforeend", `
            <button></button><input><h5 id="text">low</h5><ul><p>x</p></ul><b>faint</b>`);
          document.querySelector("#side > b").style.color = "#888";
        }"""
    )
    faults = await sitting.page.evaluate(AUDIT)
    assert {fault.split(":")[0] for fault in faults} == {
        "no name", "id twice", "level skipped", "not in a list", "contrast"
    }  # fmt: skip


async def test_a_phone_has_a_sheet_over_the_room(sitting: Sitting) -> None:
    await sitting.remember(Shelf.fill)
    await sitting.remember(lambda s: (s.fact("x" * 500), s.landmark("y" * 500)))
    await sitting.page.set_viewport_size({"width": 390, "height": 844})
    await sitting.open()
    box = await sitting.panel.bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)
    body = sitting.panel.locator(".side-body")
    assert await body.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    assert await sitting.page.evaluate("document.documentElement.scrollWidth") <= 390
    small = await sitting.panel.locator("button:visible, input:visible").evaluate_all(
        "all => all.filter(e => e.getBoundingClientRect().height < 34 && e.type !== 'checkbox')"
        ".map(e => e.outerHTML)"
    )
    assert small == []
    size = await sitting.panel.get_by_role("searchbox").evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
    assert size >= 16  # below it iOS zooms into the field
    await sitting.page.keyboard.press("Escape")
    memory = sitting.page.get_by_role("button", name="Memory", exact=True)
    await expect(memory).to_be_focused()
    await expect(memory).to_be_in_viewport()
