"""Connecting the real Claude Code on the page: tried, kept, and asked without a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from gateway.settings.env_file import with_secrets
from tests.doubles.axe import faults
from tests.doubles.browser import CHROMIUM_ARGS, chromium
from tests.doubles.claude_stage import KEY, claude_command
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.service import Service, service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'
WIDTHS = {390: 844, 1280: 800}


@asynccontextmanager
async def browsing(moot: Service, width: int) -> AsyncIterator[Page]:
    """The owner, signed in by the link that the terminal shows."""
    async with async_playwright() as playwright:
        path = chromium()
        browser: Browser = await playwright.chromium.launch(
            executable_path=path, args=CHROMIUM_ARGS
        )
        page = await browser.new_page(viewport={"width": width, "height": WIDTHS[width]})
        page.set_default_timeout(30_000)
        await page.goto(moot.link)
        await page.get_by_label("Your name").fill("Ada")
        await page.keyboard.press("Enter")
        await expect(page.locator("#me")).to_contain_text("Ada")
        yield page
        await browser.close()


@pytest.mark.parametrize("width", WIDTHS)
async def test_claude_code_is_connected_on_the_page_and_answers_without_a_restart(
    width: int, tmp_path: Path
) -> None:
    saga = tmp_path / "src" / "saga"
    (saga / ".git").mkdir(parents=True)
    (saga / "auth.py").write_text("EXPIRY_MINUTES = 15\n")
    claude = Path(claude_command())
    async with MessagesAPI.open() as api:
        api.when("Name one file", ToolUse("Bash", {"command": "ls"}), "It is auth.py.")
        api.when("expiry", "Fifteen minutes.")
        environment = {
            "PATH": f"{claude.parent}:/usr/local/bin:/usr/bin:/bin",
            "ANTHROPIC_BASE_URL": api.url,
        }
        async with (
            service(tmp_path / "house", CONFIG, **environment) as moot,
            browsing(moot, width) as page,
        ):
            await page.get_by_role("link", name="Connect", exact=True).click()
            await expect(page.locator("#admin-title")).to_have_text("Connect an agent")
            await page.locator("select[name=persona]").select_option(label="@claude")
            await page.get_by_label("with a key: ANTHROPIC_API_KEY").check()
            await page.get_by_label("The key").fill(KEY)
            folder = page.get_by_label("Which folder shall it work on?")
            await folder.fill(str(saga / "nope"))
            await page.get_by_role("button", name="Try it").click()
            await expect(page.locator("form .failure")).to_contain_text("has no nope")
            await folder.fill(str(saga))
            await page.get_by_role("button", name="Try it").click()
            await expect(page.locator(".connect-result")).to_contain_text(
                "It is auth.py.", timeout=90_000
            )
            assert await faults(page) == []
            house = tmp_path / "house"
            assert not (house / "moot.env").exists()
            await page.get_by_role("button", name="Save").click()
            await expect(page.locator(".connect-saved")).to_contain_text("@claude")
            assert (house / "moot.env").stat().st_mode & 0o777 == 0o600
            assert with_secrets({}, None, base=house)["ANTHROPIC_API_KEY"] == KEY
            await page.goto(moot.url)
            await page.locator("#text").fill("@claude what is the expiry?")
            await page.locator("#text").press("Enter")
            await expect(page.get_by_text("Fifteen minutes.")).to_be_visible(timeout=90_000)
            assert str(saga) in str(api.turns[-1].body)
            assert KEY not in moot.log()
            assert KEY not in await page.content()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"agent": "nobody"}, "agent"),
    ({"persona": "../x"}, "persona"),
    ({"way": "key", "key": "PATH", "value": "x"}, "key"),
    ({"way": "key", "key": "ANTHROPIC_API_KEY", "value": "a\nb"}, "value"),
    ({"way": "shared"}, "way"),
    ({"workspace": "/"}, "workspace"),
    ({"workspace": "src"}, "workspace"),
    ({"way": "nonsense"}, "way"),
]


async def test_what_no_agent_can_have_is_refused_by_its_name_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").write_text("#!/bin/sh\nexit 1\n")
    (programs / "claude").chmod(0o755)
    usual = {"persona": "claude", "agent": "claude-code", "way": "own", "by": "web:ada"}
    async with service(tmp_path / "house", CONFIG, PATH=f"{programs}:/usr/bin:/bin") as moot:
        async with aiohttp.ClientSession(moot.url, headers=moot.headers) as client:
            for change, field in REFUSED:
                for path in ("/api/admin/connect/try", "/api/admin/connect"):
                    async with client.post(path, json=usual | change) as answer:
                        told = await answer.json()
                        assert (answer.status, told["error"]["field"]) == (400, field), told
        url = f"{moot.url}api/admin/connect"
        async with aiohttp.request("POST", url, json=usual) as answer:
            assert answer.status == 401
        assert not (moot.folder / "moot.env").exists()
