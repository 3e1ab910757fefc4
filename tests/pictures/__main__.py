"""Makes the pictures of docs/pictures: `python -m tests.pictures`.

A real `moot run` answers in a Slack with the real Claude Code, whose model is a double; the page is
looked at in a real browser, and the thread is drawn from what was posted.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, Page, ViewportSize, expect

from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.service import HOUSE, Service, service
from tests.doubles.slack import ASH, BOT_USER, OLIVIA, SlackDouble
from tests.doubles.typeset import typeset_browser
from tests.pictures.slack_thread import page as thread_page
from tests.test_claude_whole import CLAUDE, CONFIG, KEY

PICTURES = HOUSE / "docs" / "pictures"
ROOM = "C0GENERAL"
TOKEN = '''"""Access tokens."""

from datetime import timedelta

# Kept short since the incident of March: a stolen token should be worthless soon.
EXPIRY = timedelta(minutes=15)
'''
QUESTION = "why is the token expiry only 15 minutes?"
ANSWER = """\
It is set in `auth/token.py`:

```python
# Kept short since the incident of March: a stolen token should be worthless soon.
EXPIRY = timedelta(minutes=15)
```

It compiles. <@U0ASH0001>, you pinned that refresh tokens rotate from now on: then 30 minutes
would be safe, too.
"""
DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}


@dataclass
class Scene:
    """What the pictures are taken of."""

    slack: SlackDouble
    moot: Service

    def thread(self) -> list[dict[str, Any]]:
        """The first question and everything in its thread, oldest first."""
        said = self.slack.messages[ROOM]
        first = next(ts for ts, m in said.items() if QUESTION in m["text"])
        return [m for ts, m in sorted(said.items()) if first in (ts, m.get("thread_ts"))]

    def has(self, *words: str) -> bool:
        """True if each of these stands somewhere in the thread."""
        said = [str(message) for message in self.thread()]
        return all(any(word in one for one in said) for word in words)

    def asks(self) -> str:
        """The ts of the open permission question; "": there is none."""
        for ts, message in self.slack.messages[ROOM].items():
            if any(block["type"] == "actions" for block in message.get("blocks") or ()):
                return str(ts)
        return ""


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    """Olivia's Slack, her repository, and Moot."""
    work = folder / "shop"
    (work / "auth").mkdir(parents=True)
    (work / "auth" / "token.py").write_text(TOKEN)
    async with SlackDouble.open() as slack, MessagesAPI.open() as api:
        api.when(
            QUESTION,
            ToolUse("Read", {"file_path": str(work / "auth" / "token.py")}),
            ToolUse("Bash", {"command": "python3 -m compileall -q auth", "description": "Check"}),
            ANSWER,
        )
        config = CONFIG.format(slack=slack.api_url, claude=CLAUDE, api=api.url)
        config = config.replace("[access]", f'workspace = "{work}"\n[access]')
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(folder, config, **secrets, ANTHROPIC_API_KEY=KEY) as moot:
            await slack.delivery.connected()
            yield Scene(slack, moot)


async def shot(page: Page, name: str) -> None:
    await page.evaluate("document.fonts.ready")
    await page.wait_for_timeout(300)
    await page.screenshot(path=PICTURES / f"{name}.png", animations="disabled", caret="hide")
    print(f"docs/pictures/{name}.png")


async def draw_thread(browser: Browser, scene: Scene, name: str) -> None:
    names = {
        user: card["profile"]["display_name"] or card["name"]
        for user, card in scene.slack.users.items()
    }
    page = await browser.new_page(viewport={"width": 684, "height": 300}, device_scale_factor=1.5)
    await page.set_content(thread_page("Thread in #general", scene.thread(), names))
    await page.evaluate("document.fonts.ready")
    await page.screenshot(path=PICTURES / f"{name}.png", full_page=True)
    print(f"docs/pictures/{name}.png")
    await page.close()


async def opened(browser: Browser, moot: Service, scheme: Literal["light", "dark"]) -> Page:
    context = await browser.new_context(
        viewport=DESK, color_scheme=scheme, reduced_motion="reduce", locale="en-GB"
    )
    page = await context.new_page()
    page.set_default_timeout(15_000)
    await page.goto(moot.link)
    await page.get_by_label("name", exact=False).fill("Olivia")
    await page.keyboard.press("Enter")
    await expect(page.locator("#me")).to_contain_text("Olivia")
    return page


async def take(folder: Path, browser: Browser) -> None:
    async with scene(folder) as here, asyncio.timeout(180):
        slack = here.slack
        await slack.say("!decision refresh tokens rotate from now on", user=ASH)
        await slack.say(f"<@{BOT_USER}> {QUESTION}", user=OLIVIA)
        while not (ts := here.asks()):
            await asyncio.sleep(0.1)
        await draw_thread(browser, here, "slack-question")
        page = await opened(browser, here.moot, "light")
        await page.goto(f"{here.moot.url}#admin")
        await expect(page.locator("#admin-body")).to_contain_text("Waiting")
        await page.set_viewport_size(PHONE)
        await shot(page, "phone-question")
        await slack.press(ROOM, ts, "Yes", OLIVIA)
        while not here.has(ANSWER.strip()[:20], "2 tools"):
            await asyncio.sleep(0.2)
        await draw_thread(browser, here, "slack-answer")
        await page.set_viewport_size(DESK)
        await page.goto(f"{here.moot.url}#slack:{ROOM}")
        await expect(page.locator("#log")).to_contain_text("It compiles")
        await page.get_by_role("button", name="Why this answer").last.click()
        await expect(page.locator("#side")).to_contain_text("knew")
        await shot(page, "page")


async def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fonts").mkdir()
        async with typeset_browser(folder / "fonts") as browser:
            await take(folder, browser)


if __name__ == "__main__":
    asyncio.run(main())
