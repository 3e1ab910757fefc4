"""A Chromium whose letters are the same on every machine: it knows the fonts of the tests alone."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from tests.doubles.browser import CHROMIUM_ARGS, chromium

FONTS = Path(__file__).parents[1] / "gateway" / "views" / "fonts"
_FONTCONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <alias><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>JetBrains Mono</family></prefer></alias>
</fontconfig>
"""
_ARGS = ["--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb"]


@asynccontextmanager
async def typeset_browser(folder: Path) -> AsyncIterator[Browser]:
    """The browser. folder: where its settings are kept meanwhile."""
    config = folder / "fonts.conf"
    config.write_text(_FONTCONFIG.format(fonts=FONTS, cache=folder / "cache"))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium(),
            args=[*CHROMIUM_ARGS, *_ARGS],
            env={**os.environ, "FONTCONFIG_FILE": str(config)},
        )
        yield browser
        await browser.close()
