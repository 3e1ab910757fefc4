"""The page in a real browser: what must never happen, small screens, dark rooms, lost lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from contract.chat import Attachment, Room, Speaker
from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import enter, sign_in
from tests.doubles.house import FakeHouse
from tests.gateway.conftest import WIDE

pytestmark = pytest.mark.asyncio(loop_scope="session")
GENERAL = Room("web:general", "general")
ANA = Speaker("web:ana", "Ana")
DEMO = Speaker("bot:demo", "demo", "bot")
EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
MARKDOWN = f"""{EVIL}

[click](javascript:window.hacked=1) [data](data:text/html,<script>1</script>)
[tab](java\tscript:alert(1)) ![image](https://evil.example/pixel.png) <javascript:alert(1)>
<svg onload=alert(1)> &lt;b&gt; `{EVIL}` **{EVIL}**

```html" onclick="window.hacked=1
{EVIL}
```

| {EVIL} | b |
|---|---|
| <a href="javascript:1">x</a> | [x](JaVaScRiPt:1) |

> {EVIL}

- {EVIL}

# {EVIL}
"""


async def test_nobody_runs_a_script_by_what_they_write(page: Page, house: FakeHouse) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    evil = Speaker("web:evil", EVIL, role=EVIL)
    house.open_room(Room("web:evil", EVIL, "room", EVIL))
    message = house.say(
        GENERAL, evil, MARKDOWN, attachments=(Attachment(EVIL, "image/png", 1, "/x"),)
    )
    house.say(GENERAL, evil, EVIL, reply_to=message.id)
    turn_id = house.queue(message, "demo", {"content": EVIL}).turn.id
    house.move(turn_id, "running", status=EVIL)
    house.draft(turn_id, MARKDOWN)
    house.ask(turn_id, EVIL, EVIL, EVIL, may_answer=(evil,))
    await expect(page.locator(".question")).to_contain_text("onerror")
    await expect(page.locator(".turn .text")).to_contain_text("onerror")
    house.finish(turn_id, MARKDOWN)
    answer = page.locator("article.bot").last
    await answer.get_by_role("button", name="Why this answer").click()
    await expect(page.locator("#side")).to_contain_text("onerror")

    assert await page.evaluate("window.hacked") is None
    assert await page.locator("#log script, #log svg[onload], #lists img, #side img").count() == 0
    assert await page.locator("#log img").count() == 0
    links = await page.locator("#log .text a").evaluate_all(
        "all => all.map(a => [a.protocol, a.rel])"
    )
    assert {protocol for protocol, _ in links} == {"https:"}
    assert all("noopener" in rel for _, rel in links)
    own = page.url.split("#")[0]
    assert all(wanted.startswith(own) for wanted in asked), asked


async def test_the_page_asks_its_own_server_only(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    context = await browser.new_context(viewport=WIDE)
    page = await context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await enter(page, address, house.visitors)
    await expect(page.locator("#welcome")).to_be_visible()
    assert len(asked) > 5
    assert all(wanted.startswith(address) for wanted in asked)
    await context.close()


async def test_ten_tabs_hear_what_is_said(browser: Browser, address: str, house: FakeHouse) -> None:
    context = await browser.new_context(viewport=WIDE)
    await sign_in(context, address, house.visitors)
    tabs = [await context.new_page() for _ in range(10)]
    for tab in tabs:
        await tab.goto(address)
        await expect(tab.locator("#room-name")).to_have_text("#general")
    house.say(GENERAL, ANA, "hello, all of you")
    for tab in tabs:
        await expect(tab.locator("#log")).to_contain_text("hello, all of you")
    await context.close()


async def test_markdown_becomes_what_it_means(page: Page, house: FakeHouse) -> None:
    text = "\n".join(
        [
            "## Title", "a **b** *c* ~~d~~ `e*f*` g_h_i 2*3*4", "line", "",
            "1. one", "2. two", "   - inner", "", "- [x] done", "",
            "| a | b |", "|:--|--:|", "| `x|y` | 2 |", "",
            "```py", "if a < b:", "    pass", "```", "", "> quoted", "",
            "see https://example.org/a_b_c?d=(e). And [x](https://example.org/ \"t\")",
        ]
    )  # fmt: skip
    house.say(GENERAL, DEMO, text)
    body = page.locator("article .text")
    await expect(body.locator("h4")).to_have_text("Title")
    await expect(body.locator("strong")).to_have_text("b")
    await expect(body.locator("em")).to_have_text(["c", "3"])
    await expect(body.locator("del")).to_have_text("d")
    await expect(body.locator("p code")).to_have_text("e*f*")
    await expect(body.locator("p").first).to_contain_text("g_h_i")
    await expect(body.locator("ol > li")).to_have_count(2)
    await expect(body.locator("ol ul > li")).to_have_text("inner")
    await expect(body.locator("input[type=checkbox]")).to_be_checked()
    await expect(body.locator("td").first).to_have_text("x|y")
    await expect(body.locator("td.right")).to_have_text("2")
    await expect(body.locator(".code pre")).to_have_text("if a < b:\n    pass")
    await expect(body.locator("blockquote")).to_have_text("quoted")
    addresses = await body.locator("a").evaluate_all("all => all.map(a => a.href)")
    assert addresses == ["https://example.org/a_b_c?d=(e)", "https://example.org/"]


async def test_names_with_blanks_and_without_are_marked(page: Page, house: FakeHouse) -> None:
    house.say(GENERAL, Speaker("web:ana_lima", "Ana Lima"), "hi")
    house.say(GENERAL, DEMO, "@Ana Lima and @citra, not x@demo nor @nobody")
    await expect(page.locator("article.bot .mention")).to_have_text(["@Ana Lima", "@citra"])
    mine = page.locator("article.bot .mention.me")
    await expect(mine).to_have_text("@citra")
    style = await mine.evaluate(
        "e => [getComputedStyle(e).display, getComputedStyle(e).borderTopWidth]"
    )
    assert style == ["inline", "0px"]  # it is a word of its sentence, whatever else is called `me`


async def test_what_other_platforms_write_for_a_name_is_shown_as_the_name(
    page: Page, house: FakeHouse
) -> None:
    bot = "slack:U0BOT0001"
    house.cards = [replace(house.cards[0], accounts=(bot,)), *house.cards[1:]]
    ana = Speaker("slack:U06ANA", "Ana Lima", mention="<@U06ANA>")
    team = Room("slack:C024BE91L", "auth-team")
    house.say(team, ana, "first")
    asked = house.say(team, ana, "<@U0BOT0001> and <@U06ANA>, not <@U0NOBODY>: see <#C024BE91L>")
    house.say(team, ana, "<!here> <!subteam^S01|@backend> <@U0GONE|Old Name> `<@U06ANA>`")
    house.say(team, DEMO, "sure", reply_to=asked.id)
    await page.reload()
    await page.locator(f"[data-room='{team.id}']").click()
    texts = page.locator("article .text")
    await expect(texts.nth(1)).to_have_text("@demo and @Ana Lima, not <@U0NOBODY>: see #auth-team")
    await expect(texts.nth(2)).to_have_text("@here @backend @Old Name <@U06ANA>")
    kinds = await texts.nth(1).locator(".mention").evaluate_all("all => all.map(e => e.className)")
    assert kinds == ["mention persona", "mention person", "mention room"]
    await expect(page.locator("article .quote")).to_contain_text("@demo and @Ana Lima, not")


async def test_hostile_markdown_does_not_hang_the_page(page: Page, house: FakeHouse) -> None:
    for text in (
        "*" * 20_000, "`" * 1_000 + "a" + "``b" * 5_000, "[" * 20_000, "[a](" * 5_000,
        "> " * 5_000, "- " * 5_000, "**a " * 10_000, "_a*" * 10_000, "|" * 20_000,
        "<" * 20_000, "https://" * 5_000, "@demo" * 5_000, "#" * 20_000 + " " * 20_000,
        "\\" * 20_000, "x" * 300_000, ("a | b\n--|--\n" + "c | d\n" * 2_000),
    ):  # fmt: skip
        house.say(GENERAL, DEMO, text)
    house.say(GENERAL, DEMO, "the end")
    await expect(page.get_by_text("the end")).to_be_visible(timeout=30_000)


async def test_a_copy_button_copies_the_code_alone(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    context = await browser.new_context(viewport=WIDE)
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await context.new_page()
    await enter(page, address, house.visitors)
    house.say(GENERAL, DEMO, "Do:\n\n```\nls -l\n```")
    await page.locator(".code").get_by_role("button", name="Copy").click()
    await expect(page.locator(".code").get_by_role("button")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "ls -l"
    await context.close()


async def test_a_phone_has_a_drawer_and_no_sideways_scroll(
    browser: Browser, address: str, house: FakeHouse
) -> None:
    context = await browser.new_context(
        viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    )
    page = await context.new_page()
    await enter(page, address, house.visitors)
    house.say(GENERAL, DEMO, "x" * 400 + "\n\n```\n" + "y" * 400 + "\n```\n\n|a|b|\n|-|-|\n|1|2|")
    await expect(page.locator("article")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    assert await page.locator("#room").evaluate("e => e.scrollWidth") <= 390
    size = await page.locator("#text").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 16  # below it iOS zooms into the field
    await page.locator("article .text p").first.tap()
    await expect(page.locator("article .actions")).to_be_visible()
    await expect(page.get_by_role("navigation")).to_be_hidden()
    await page.get_by_role("button", name="Rooms", exact=True).click()
    await expect(page.get_by_role("link", name="general")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("navigation")).to_be_hidden()
    await expect(page.get_by_role("button", name="Rooms", exact=True)).to_be_focused()
    await context.close()


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
async def test_the_page_follows_the_colour_scheme(
    browser: Browser, address: str, house: FakeHouse, scheme: str, dark: bool
) -> None:
    context = await browser.new_context(viewport=WIDE, color_scheme=scheme)  # type: ignore[arg-type]
    page = await context.new_page()
    await enter(page, address, house.visitors)
    paper = await page.locator("#room").evaluate("e => getComputedStyle(e).backgroundColor")
    first = int(paper.removeprefix("rgb(").split(",")[0])
    assert (first < 80) is dark
    await context.close()


async def test_a_lost_connection_is_shown_and_mended_without_duplicates(
    browser: Browser, house: FakeHouse, tmp_path: Path
) -> None:
    context = await browser.new_context(viewport=WIDE)
    page = await context.new_page()
    async with open_page(house.services, PageSettings(tmp_path)) as url:
        await enter(page, url, house.visitors)
        house.say(GENERAL, ANA, "before")
        await expect(page.locator("article")).to_have_count(1)
    await expect(page.locator("#connection")).to_contain_text("Reconnecting")
    house.say(GENERAL, ANA, "meanwhile")
    port = int(url.rstrip("/").rpartition(":")[2])
    async with open_page(house.services, PageSettings(tmp_path, port=port)):
        await expect(page.locator("article")).to_have_count(2, timeout=20_000)
        await expect(page.locator("#connection")).to_be_hidden()
        house.say(GENERAL, ANA, "after")
        await expect(page.locator("article .text")).to_have_text(["before", "meanwhile", "after"])
        await context.close()


async def test_a_reload_in_mid_turn_shows_the_draft_and_the_question(
    page: Page, house: FakeHouse
) -> None:
    message = house.say(GENERAL, ANA, "@demo hi")
    turn_id = house.queue(message, "demo", {}).turn.id
    house.move(turn_id, "running")
    house.draft(turn_id, "So far")
    house.ask(turn_id, "Run a command?", "ls", "Yes", "No")
    await page.reload()
    await expect(page.locator(".turn .text")).to_have_text("So far")
    await expect(page.locator(".question")).to_contain_text("Run a command?")
    house.finish(turn_id, "Done")
    await expect(page.locator("article.bot .text")).to_have_text("Done")


async def test_a_room_of_another_platform_is_read_here_and_written_there(
    page: Page, house: FakeHouse
) -> None:
    house.say(Room("slack:C1", "design"), Speaker("slack:U1", "Olivia"), "New icons")
    await page.get_by_role("link", name="design").click()
    await expect(page.locator("article")).to_contain_text("New icons")
    await expect(page.locator("#composer")).to_be_hidden()
    await expect(page.locator("#read-only")).to_contain_text("lives in Slack")


async def test_escape_in_the_message_box_leaves_the_writer_where_they_are(page: Page) -> None:
    await page.locator("#show-memory").click()
    await expect(page.locator("#side")).to_be_visible()
    await page.locator("#text").fill("half a thought")
    await page.locator("#text").press("Escape")
    await expect(page.locator("#text")).to_be_focused()
    await expect(page.locator("#side")).to_be_visible()
    await page.locator("#side button").first.focus()
    await page.keyboard.press("Escape")
    await expect(page.locator("#side")).to_be_hidden()
