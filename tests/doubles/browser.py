"""The Chromium of the machine, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from urllib.parse import urlsplit

import pytest
from playwright.async_api import BrowserContext, Page, expect

from gateway.web.signin.visitors import Visitors
from tests.doubles.credentials import cookie_of

CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=20_000)  # the machine may be busy; five seconds are Playwright's own


def chromium() -> str:
    """The browser on the PATH. Without one the test is skipped, in CI it fails."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        message = f"none of {', '.join(names)} is on the PATH"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return str(found)


async def sign_in(
    context: BrowserContext, url: str, visitors: Visitors, name: str = "Citra"
) -> None:
    """Let somebody, an owner, be signed in to the page at an address in this browser."""
    cookie, at = await cookie_of(visitors, name), urlsplit(url)
    await context.add_cookies(
        [{"name": f"moot-{at.port}", "value": cookie, "domain": at.hostname or "", "path": "/"}]
    )


async def enter(page: Page, url: str, visitors: Visitors, name: str = "Citra") -> None:
    """Open the page as somebody who is signed in, an owner."""
    page.set_default_timeout(10_000)
    await sign_in(page.context, url, visitors, name)
    await page.goto(url)
    await expect(page.locator("#me")).to_contain_text(name)
