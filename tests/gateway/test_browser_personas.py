"""The personas' editor in a real browser, over a real gateway and its files."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from adapters.agent import Reply
from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import enter
from tests.doubles.inbox import PATIENCE_S
from tests.doubles.running import PERSONA, Opened, gateway
from tests.doubles.scripted import ScriptedPrograms
from tests.gateway.conftest import WIDE

pytestmark = pytest.mark.asyncio(loop_scope="session")
AXE = Path(__file__).parents[1] / "clients" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = "r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))"


async def answer(prompt: str, reply: Reply) -> str:
    return "I can **read**."


@dataclass
class Desk:
    """Citra at the editor of a real gateway."""

    moot: Opened
    page: Page
    folder: Path
    url: str

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.md"

    @property
    def text(self) -> Any:
        return self.page.get_by_role("textbox", name="The file of @")

    async def open(self, name: str = "") -> None:
        await self.page.goto(f"{self.url}#personas{f'/{name}' if name else ''}")
        heading = f"@{name}" if name else "Personas"
        await expect(self.page.get_by_role("heading", name=heading, level=1)).to_be_visible()
        if name:
            await expect(self.text).not_to_have_value("")

    async def written(self, name: str, text: str) -> None:
        """Wait until a file holds a text."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.file(name).exists() or self.file(name).read_text() != text:
                await asyncio.sleep(0.02)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(browser: Browser, tmp_path: Path) -> AsyncIterator[Desk]:
    programs = ScriptedPrograms(answer)
    async with gateway(tmp_path, programs=programs, personas=("ada", "bob")) as moot:
        await moot.house.services.chat.open_lobby()
        settings = PageSettings(tmp_path / "files")
        async with open_page(moot.house.services, settings) as url:
            context = await browser.new_context(viewport=WIDE, reduced_motion="reduce")
            page = await context.new_page()
            faults: list[str] = []
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            await enter(page, url, moot.house.visitors)
            yield Desk(moot, page, tmp_path / "personas", url)
            await context.close()
            assert faults == []


async def test_a_persona_is_found_edited_and_saved_by_keyboard(desk: Desk) -> None:
    page = desk.page
    await page.get_by_role("link", name="Edit personas").press("Enter")
    await page.get_by_role("link", name=re.compile("@ada")).press("Enter")
    await expect(desk.text).to_be_focused()
    await expect(page.locator("#studio-state")).to_have_text("version 1")
    await page.keyboard.press("Control+End")
    await page.keyboard.type("Be kind.")
    await expect(page.locator("#studio-state")).to_have_text("version 1 · not saved")
    await page.keyboard.press("Control+s")
    await expect(page.locator("#studio-state")).to_have_text("version 2")
    assert desk.file("ada").read_text() == PERSONA.format("ada") + "Be kind."
    assert desk.moot.house.personas.good["ada"].body.endswith("Be kind.")
    await page.get_by_role("tab", name="History").click()
    first = page.locator(".versions li").first
    await expect(first).to_contain_text("Edited by Citra")


async def test_faults_show_as_one_types_and_lead_to_their_line(desk: Desk) -> None:
    await desk.open("ada")
    page = desk.page
    await desk.text.fill("---\nagent: scripted\nmodle: x\n---\nRead the RAW TRANSCRIPT.\n")
    await expect(page.locator("#findings-count")).to_have_text("1 error, 1 warning")
    await expect(desk.text).to_have_attribute("aria-invalid", "true")
    await expect(page.locator(".sheet-line.error")).to_have_text("modle: x")
    await expect(page.locator(".sheet-line.warning")).to_have_text("Read the RAW TRANSCRIPT.")
    await page.get_by_role("button", name=re.compile("did you mean `model`")).click()
    await expect(desk.text).to_be_focused()
    await page.keyboard.type("model")
    await expect(page.locator("#findings-count")).to_have_text("1 warning")
    assert "\nmodel: x\n" in await desk.text.input_value()
    described = await desk.text.get_attribute("aria-describedby")
    assert described == "findings-count"


async def test_a_text_with_errors_is_not_saved(desk: Desk) -> None:
    await desk.open("ada")
    await desk.text.fill("no front matter")
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.get_by_role("alert")).to_contain_text("begin with ---")
    assert desk.file("ada").read_text() == PERSONA.format("ada")


async def test_a_conflict_shows_what_differs_and_lets_one_choose(desk: Desk) -> None:
    await desk.open("ada")
    page = desk.page
    desk.file("ada").write_text(PERSONA.format("theirs"))
    await desk.text.fill(PERSONA.format("mine"))
    await page.get_by_role("button", name="Save").click()
    notice = page.get_by_role("alert")
    await expect(notice).to_contain_text("The file was changed since you began.")
    await expect(notice.locator(".diff-line.out")).to_contain_text(
        ["-description: theirs", "-You are theirs."]
    )
    await notice.get_by_role("button", name="Keep mine").click()
    await desk.written("ada", PERSONA.format("mine"))
    await expect(page.locator("#studio-state")).to_have_text("version 3")
    desk.file("ada").write_text(PERSONA.format("others"))
    await desk.text.fill(PERSONA.format("again"))
    await page.get_by_role("button", name="Save").click()
    await notice.get_by_role("button", name="Take the file's text").click()
    await expect(desk.text).to_have_value(PERSONA.format("others"))


async def test_unsaved_changes_are_not_left_by_accident(desk: Desk) -> None:
    await desk.open("ada")
    page = desk.page
    await desk.text.fill(PERSONA.format("mine"))
    await page.get_by_role("link", name="Personas", exact=False).first.click()
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    await dialog.get_by_role("button", name="Keep editing").click()
    await expect(desk.text).to_have_value(PERSONA.format("mine"))
    await page.get_by_role("link", name="general").click()
    await dialog.get_by_role("button", name="Discard changes").click()
    await expect(page.get_by_role("heading", name="#general", exact=True)).to_be_visible()
    await expect(page.locator("#text")).to_be_visible()
    assert desk.file("ada").read_text() == PERSONA.format("ada")


async def test_a_version_is_compared_and_rolled_back(desk: Desk) -> None:
    await desk.open("ada")
    page = desk.page
    await desk.text.fill(PERSONA.format("mine"))
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#studio-state")).to_have_text("version 2")
    await page.get_by_role("tab", name="History").click()
    old = page.locator(".versions li").filter(has_text="Version 1")
    await old.get_by_role("button", name="Compare with now").click()
    await expect(old.locator(".diff-line.in").last).to_have_text("+You are mine.\n")
    await old.get_by_role("button", name="Roll back to it").click()
    await page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    await expect(desk.text).to_have_value(PERSONA.format("ada"))
    await expect(page.locator("#studio-state")).to_have_text("version 3")


async def test_what_the_agent_gets_is_shown_and_tried_without_a_trace(desk: Desk) -> None:
    await desk.open("ada")
    page = desk.page
    await desk.text.fill(PERSONA.format("braver"))
    await expect(page.get_by_label("System prompt")).to_have_text("You are braver.")
    await page.get_by_label("A message that somebody might write").fill("Who are you?")
    await page.get_by_role("button", name="Ask the agent").click()
    await expect(page.locator(".try-answer strong")).to_have_text("read")
    launch = desk.moot.programs.launches[-1]
    assert launch.persona == "You are braver."
    assert "Who are you?" in desk.moot.programs.prompts[-1]
    assert not launch.home.exists()
    assert await desk.moot.house.ledger.open_turns() == []
    assert desk.file("ada").read_text() == PERSONA.format("ada")


async def test_a_new_persona_is_written_and_a_deleted_one_comes_back(desk: Desk) -> None:
    await desk.open()
    page = desk.page
    await page.get_by_role("button", name="New persona").click()
    await page.get_by_label("Name").fill("Eve")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_contain_text("A lower case letter")
    await page.get_by_label("Name").fill("eve")
    await page.keyboard.press("Enter")
    await expect(desk.text).to_have_value(re.compile("You are Eve."))
    await desk.text.fill(PERSONA.format("eve"))
    await page.get_by_role("button", name="Save").click()
    await desk.written("eve", PERSONA.format("eve"))
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("alert")).to_contain_text("was deleted")
    assert not desk.file("eve").exists()
    await page.get_by_role("button", name="Save").click()
    await desk.written("eve", PERSONA.format("eve"))


async def test_the_administrators_side_and_the_editor_give_way_to_each_other(desk: Desk) -> None:
    page = desk.page
    await page.goto(f"{desk.url}#admin")
    await expect(page.locator("#admin")).to_be_visible()
    await page.get_by_role("link", name="Personas", exact=True).click()
    await expect(page.get_by_role("heading", name="Personas", level=1)).to_be_visible()
    await expect(page.locator("#admin")).to_be_hidden()
    await expect(page.locator("#room")).to_be_hidden()
    await page.go_back()
    await expect(page.locator("#admin")).to_be_visible()
    await expect(page.locator("#studio")).to_have_count(0)
    await page.get_by_role("link", name="general").click()
    await expect(page.locator("#text")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
async def test_axe_finds_no_serious_fault(desk: Desk, scheme: Any, width: int) -> None:
    if not AXE.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"there is no {AXE.name}")
    page = desk.page
    await page.set_viewport_size({"width": width, "height": 800})
    await page.emulate_media(color_scheme=scheme)
    await desk.open()
    await look(page, f"list-{width}-{scheme}")
    await desk.open("ada")
    await desk.text.fill("---\nagent: scripted\nmodle: x\n---\nRead the RAW TRANSCRIPT.\n")
    await expect(page.locator("#findings-count")).to_have_text("1 error, 1 warning")
    await look(page, f"edit-{width}-{scheme}")
    await page.get_by_role("tab", name="History").click()
    await page.get_by_role("button", name="Save").click()
    await look(page, f"history-{width}-{scheme}")
    wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide


async def look(page: Page, name: str) -> None:
    """Let axe look at the page. name: of what is looked at, for who reads a failure."""
    run = await page.evaluate(AXE.read_text("utf-8") + ";axe.run(document).then(" + SERIOUS + ")")
    assert [(fault["id"], [n["html"] for n in fault["nodes"]]) for fault in run] == [], name


MARKED = "---\n# hers\nagent: scripted # for now\ndescription: ada\n---\nYou are ada.\n"


@pytest.mark.parametrize("width", [1280, 390])
async def test_fields_and_text_are_one_and_a_field_changes_its_key_alone(
    desk: Desk, width: int
) -> None:
    page = desk.page
    await page.set_viewport_size({"width": width, "height": 800})
    desk.file("ada").write_text(MARKED)
    await desk.open("ada")
    fields = page.get_by_role("group", name="Fields of the file")
    agent, model = fields.get_by_label("Agent"), fields.get_by_label("Model")
    await expect(agent).to_have_value("scripted")
    await expect(fields.get_by_label("Description")).to_have_value("ada")
    await agent.focus()
    await agent.select_option("codex")
    await page.keyboard.press("Tab")
    await expect(model).to_be_focused()
    await page.keyboard.type("gpt 6")
    changed = MARKED.replace("scripted", "codex").replace("ada\n---", "ada\nmodel: gpt 6\n---")
    await expect(desk.text).to_have_value(changed)
    await expect(model).to_have_value("gpt 6")
    await fields.get_by_label("Sandbox").select_option("off")
    changed = changed.replace("gpt 6\n", "gpt 6\nsandbox: off\n")
    await expect(desk.text).to_have_value(changed)
    await fields.get_by_label("Workspace").fill("/no/such/folder")
    await expect(fields.get_by_label("Workspace")).to_have_attribute("aria-invalid", "true")
    await expect(fields).to_contain_text("there is no folder /no/such/folder")
    await fields.get_by_label("Workspace").fill("")
    await expect(desk.text).to_have_value(changed)  # a fill selects, and then types
    await desk.text.fill(changed.replace("description: ada", "description: 'her: own'"))
    await expect(fields.get_by_label("Description")).to_have_value("her: own")
    await model.fill("")
    await page.keyboard.press("Control+s")
    wanted = changed.replace("model: gpt 6\n", "").replace(": ada\n", ": 'her: own'\n")
    await desk.written("ada", wanted)
    await expect(page.locator("#studio-state")).to_have_text("version 2")
    low = "es => es.map(e => e.getBoundingClientRect().height).filter(height => height < 24)"
    assert await fields.locator("select, input").evaluate_all(low) == []
    sides = "es => new Set(es.map(e => e.getBoundingClientRect().left)).size"
    columns = await fields.locator("select, input").evaluate_all(sides)
    assert columns == (1 if width == 390 else 2)
    await desk.text.fill("---\nagent: [\n---\nHi\n")
    await expect(model).to_be_disabled()
    await expect(fields).to_contain_text("is changed in the text")
