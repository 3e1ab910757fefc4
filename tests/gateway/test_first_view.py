"""What the page fetches before anybody does anything: it is often opened on a slow network."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Request, expect

from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import enter
from tests.doubles.house import FakeHouse

WORKER = 1  # the stream of events, which the worker that all tabs share asks for
LAST = (
    "() => performance.getEntriesByType('resource').some((one) => one.name.endsWith('/api/access'))"
)
"""What an owner's page asks for last: how many wait to be let in."""


@pytest.mark.asyncio(loop_scope="session")
async def test_the_first_view_takes_at_most_12_requests_and_120_kb(
    browser: Browser, tmp_path: Path
) -> None:
    house = FakeHouse()
    async with open_page(house.services, PageSettings(tmp_path / "files")) as address:
        context = await browser.new_context()
        page = await context.new_page()
        asked: list[Request] = []
        page.on("requestfinished", lambda one: asked.append(one))
        await enter(page, address, house.visitors)
        await expect(page.locator("#text")).to_be_editable()
        await page.wait_for_function(LAST)
        sizes = [await one.sizes() for one in asked]
        paths = [one.url.removeprefix(address) for one in asked]
        await context.close()
    assert len(asked) + WORKER <= 12, paths
    assert sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes) <= 120_000
    assert paths.count("api/start") == 1, "what the document asks for ahead is what the script uses"
