"""The page's bundle, and the sources that it is made of, for tests of single scripts."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, Route

from gateway.web.front.assets import Assets

STATIC = Path(__file__).parents[2] / "gateway" / "web" / "static"
SCRIPT = next(f"/static/{name}" for name in Assets.load().files if name.startswith("app-"))
"""The path of the page's own script."""


async def serve_sources(page: Page) -> None:
    """Let a page import a script as it was written, from `/source/lib/markdown.js`."""

    async def give(route: Route) -> None:
        path = STATIC / route.request.url.partition("/source/")[2]
        await route.fulfill(path=path, content_type="text/javascript")

    await page.route("**/source/**", give)
