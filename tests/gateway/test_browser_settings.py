"""moot.toml in a real browser: what a change does is said before it is written."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, expect

from gateway.settings.config import load_config
from gateway.web.page import PageSettings, open_page
from tests.doubles import axe
from tests.doubles.browser import sign_in
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway
from tests.doubles.settings import settings_of

pytestmark = pytest.mark.asyncio(loop_scope="session")
PHONE: ViewportSize = {"width": 390, "height": 844}
WIDE: ViewportSize = {"width": 1280, "height": 800}
TOML = """\
[gateway]
data_dir = "data"

[access] # who may ask
rooms = "closed"
people = ["fake:budi"] # Budi

[limits.person]
questions_a_day = 50
"""


@dataclass
class Seen:
    """An owner before the settings of a running Moot."""

    page: Page
    file: Path
    moot: Opened


@pytest_asyncio.fixture(loop_scope="session", params=[PHONE, WIDE], ids=["phone", "wide"])
async def seen(
    browser: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Seen]:
    file = tmp_path / "moot.toml"
    file.write_text(TOML)
    access = load_config(file, base=tmp_path).access
    async with gateway(tmp_path, personas=("ada", "bob"), access=access) as moot:
        await moot.hear(said("hello"))
        services = replace(moot.house.services, settings=settings_of(moot, file))
        async with open_page(services, PageSettings(tmp_path / "files")) as url:
            context = await browser.new_context(viewport=request.param, reduced_motion="reduce")
            page = await context.new_page()
            page.set_default_timeout(10_000)
            faults: list[str] = []
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            await sign_in(context, url, moot.house.visitors)
            await page.goto(f"{url}#admin/settings")
            await expect(page.get_by_role("form", name="Who may do what")).to_be_visible()
            yield Seen(page, file, moot)
            await context.close()
    assert faults == []


async def test_what_a_change_does_is_said_in_words_and_then_written(seen: Seen) -> None:
    page = seen.page
    form = page.get_by_role("form", name="Who may do what")
    await form.get_by_role("combobox", name="In rooms").select_option("open")
    await form.get_by_role("button", name="Take away fake:budi").click()
    await form.get_by_role("button", name="Preview").click()
    dialog = page.get_by_role("dialog", name="What this changes")
    await expect(dialog).to_contain_text(
        "May then ask every persona in rooms: everybody who is not named."
    )
    await expect(dialog).to_contain_text(
        "May no longer ask every persona in direct messages: fake:budi."
    )
    await expect(dialog).to_contain_text("1 person who is not named has spoken so far.")
    await expect(dialog).to_contain_text('-people = ["fake:budi"] # Budi')
    await expect(dialog).to_contain_text("takes effect at once")
    assert seen.file.read_text() == TOML
    assert await axe.faults(page) == []
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    await expect(page.locator("#announce")).to_have_text("Saved")
    assert seen.file.read_text() == TOML.replace('"closed"', '"open"').replace(
        'people = ["fake:budi"] # Budi\n', ""
    )
    assert seen.moot.house.access.table.rooms == "open"
    await expect(form.get_by_role("combobox", name="In rooms")).to_have_value("open")


async def test_a_wrong_id_is_told_beside_its_field(seen: Seen) -> None:
    form = seen.page.get_by_role("form", name="Who may do what")
    owners = form.get_by_label("Owners: may do all", exact=True)
    await owners.fill("budi")
    await form.get_by_role("button", name="Preview").click()
    await expect(form.locator('[data-field="access.owners"]')).to_contain_text("is nobody's id")
    await expect(owners).to_have_attribute("aria-invalid", "true")
    await expect(owners).to_be_focused()
    assert seen.file.read_text() == TOML


async def test_a_limit_takes_effect_at_once_and_says_so(seen: Seen) -> None:
    page = seen.page
    form = page.get_by_role("form", name="Limits")
    await form.get_by_label("questions a day").first.fill("5")
    await form.get_by_role("button", name="Preview").click()
    dialog = page.get_by_role("dialog", name="What this changes")
    await expect(dialog).to_contain_text("The limits take effect at once.")
    await expect(dialog).not_to_contain_text("Moot is started again")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    await expect(page.locator("#admin")).not_to_contain_text("Start Moot again")
    assert "questions_a_day = 5\n" in seen.file.read_text()


async def test_a_bot_is_added_and_its_secrets_do_not_come_back(seen: Seen) -> None:
    page = seen.page
    form = page.get_by_role("form", name="Add a bot")
    await form.get_by_role("combobox", name="Platform").select_option("slack")
    await form.get_by_role("button", name="Preview").click()
    await expect(form).to_contain_text("choose who answers there")
    await form.get_by_label("SLACK_BOT_TOKEN").fill("xoxb-1-the-token-of-the-bot")
    await form.get_by_label("SLACK_APP_TOKEN").fill("xapp-1-the-other-token")
    await form.get_by_role("combobox", name="Who answers there").fill("ada")
    await form.get_by_role("button", name="Preview").click()
    dialog = page.get_by_role("dialog", name="What this changes")
    await expect(dialog).to_contain_text("SLACK_APP_TOKEN, SLACK_BOT_TOKEN: written into moot.env")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("form", name="The bot slack")).to_be_visible()
    assert "the-token-of-the-bot" not in await page.content()
    assert stat.S_IMODE(seen.file.with_name("moot.env").stat().st_mode) == 0o600


async def test_it_fits_the_screen_and_a_thumb(seen: Seen) -> None:
    page = seen.page
    assert await axe.faults(page) == []
    wide = await page.evaluate(
        "() => [...document.querySelectorAll('#admin-body, .app')]"
        ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.id)"
    )
    assert wide == []
    small = await page.evaluate(
        "() => [...document.querySelectorAll('#admin button, #admin select, #admin summary')]"
        ".filter(one => one.checkVisibility())"
        ".map(one => [one.textContent, one.getBoundingClientRect().height])"
        ".filter(([, height]) => height < 24)"
    )
    assert small == []
