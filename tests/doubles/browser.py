"""The Chromium of the machine, driven by Playwright."""

from __future__ import annotations

import os
import shutil

import pytest
from playwright.async_api import Page

CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """The browser on the PATH. Without one the test is skipped, in CI it fails."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        message = f"none of {', '.join(names)} is on the PATH"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return str(found)


async def enter(page: Page, url: str, name: str = "Citra") -> None:
    """Open the page and say who sits there."""
    page.set_default_timeout(10_000)
    await page.goto(url)
    await page.get_by_label("Your name").fill(name)
    await page.keyboard.press("Enter")
    await page.get_by_role("dialog").wait_for(state="detached")
