"""An agent's work in a real browser: live, below the answer, on a wide page and on a phone's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.async_api import Page, expect

from contract.work import FileChange, Todo, ToolStep, Work
from gateway.core import views
from gateway.core.events import MessageEdited, WorkChanged
from tests.doubles.house import FakeHouse
from tests.gateway.test_browser import say

pytestmark = pytest.mark.asyncio(loop_scope="session")
LONG = "cd /a/very/long/path && " + "x" * 300  # has no place to break
WORK = Work(
    (
        ToolStep("Read", "app.py", "done"),
        ToolStep("Edit", "app.py", "done", changes=(FileChange("app.py", 2, 1),)),
        ToolStep("Bash", LONG, "failed", "exit 1"),
        ToolStep("Grep", "total", "running"),
    ),
    (Todo("Raise the price", "done"), Todo("Run the tests")),
)


def shown(work: Work) -> views.WorkView:
    made = views.work(work)
    assert made
    return made


@pytest.mark.parametrize("width", [390, 1280])
async def test_its_lines_are_shown_while_it_works_and_folded_below_the_answer(
    page: Page, house: FakeHouse, width: int
) -> None:
    await page.set_viewport_size({"width": width, "height": 844})
    await say(page, "@demo go")
    turn = page.locator(".turn")
    await expect(turn).to_be_visible()
    turn_id = str(await turn.get_attribute("data-turn"))
    room_id = house.move(turn_id, "running").turn.room_id
    first = replace(WORK, steps=WORK.steps[:1], todos=())
    house.publish(WorkChanged(room_id, turn_id, shown(first)))
    steps = turn.get_by_role("list", name="Tools").get_by_role("listitem")
    await expect(steps).to_have_text(["✓done: Read app.py"])
    house.publish(WorkChanged(room_id, turn_id, shown(WORK)))
    await expect(steps).to_have_text(
        [
            "✓done: Read app.py",
            "✓done: Edit app.py+2−1",
            f"✗failed: Bash {LONG} → exit 1",
            "…runs: Grep total",
        ]
    )
    todos = turn.get_by_role("list", name="To-do list").get_by_role("listitem")
    await expect(todos).to_have_text(["☑done: Raise the price", "☐to do: Run the tests"])
    for line in (*await steps.all(), *await todos.all()):
        box = await line.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= width - box["width"]
    assert await page.evaluate("document.documentElement.scrollWidth") <= width

    posted = house.finish(turn_id, "Done.")
    house.publish(MessageEdited(replace(posted, work=shown(WORK))))
    answer = page.locator("article.bot")
    await expect(turn).to_have_count(0)
    await expect(answer.locator("details.work > summary")).to_have_text(WORK.summary)
    listed = answer.get_by_role("list", name="Tools")
    await expect(listed).to_be_hidden()
    await answer.locator("details.work > summary").click()
    await expect(listed).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
