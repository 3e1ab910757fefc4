"""Every view of the page as a picture, on a phone and on a desk, in light and in dark.

The pictures are in tests/gateway/views/pictures. After a change that is meant, record them again
and look at each before you commit it:

    MOOT_VIEWS=record python -m pytest tests/gateway/test_browser_views.py

A picture that differs is written beside what was expected, in the folder that the failure names.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, expect

from contract.chat import Room, Speaker
from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import sign_in
from tests.doubles.house import FakeHouse
from tests.doubles.likeness import share_that_differs
from tests.doubles.typeset import typeset_browser
from tests.gateway.test_accessible import furnish, with_answers

pytestmark = pytest.mark.asyncio(loop_scope="session")
PICTURES = Path(__file__).parent / "views" / "pictures"
RECORD = os.environ.get("MOOT_VIEWS") == "record"
MOST = 0.004  # of the blocks; see likeness.py
SIZES: dict[str, ViewportSize] = {
    "phone": {"width": 390, "height": 844},
    "desk": {"width": 1280, "height": 800},
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
NOON = datetime(2026, 4, 21, 12, 0, tzinfo=UTC)
"""The time at which everything happens; each thing a minute after the one before it."""

RICH = """\
The expiry is read in **two** places, see `auth/token.py`:

```python
def expiry(minutes: int = 15) -> timedelta:
    # how long an access token lasts
    return timedelta(minutes=minutes)
```

```diff
-EXPIRY = 15
+EXPIRY = 30
```

| place | minutes | read |
|---|---:|---|
| `auth/token.py` | 15 | at start |
| `web/session.py` | 30 | each time |

> Thanks @Citra: the longer one wins.

1. Set both to $T_0$, where \\(T_0 = 30\\).
2. Ask @claude to run the tests.

$$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}$$
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def typeset(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with typeset_browser(tmp_path_factory.mktemp("fonts")) as browser:
        yield browser


def furnished() -> FakeHouse:
    """The house that every picture shows."""
    minutes = itertools.count()
    house = FakeHouse(now=lambda: NOON + timedelta(minutes=next(minutes)))
    furnish(house)
    return house


def with_answer(house: FakeHouse) -> None:
    """A room with the longer answer, and one that failed."""
    room = Room("web:release", "release")
    asked = house.say(room, Speaker("web:budi", "Budi"), "@claude why 15 minutes, @Citra?")
    house.finish(house.queue(asked, "claude", {"content": "x"}).turn.id, RICH)
    again = house.say(room, Speaker("web:citra", "Citra"), "@codex and you?")
    turn = house.queue(again, "codex", {"content": "x"}).turn.id
    house.move(turn, "failed", error="codex isn't installed: `npm install -g @openai/codex`")


@dataclass(frozen=True, slots=True)
class View:
    """A view: its address behind the #, and what is done there before it is looked at."""

    name: str
    hash: str = ""
    shows: str = ""
    do: Callable[[Page], Awaitable[None]] | None = None


async def why(page: Page) -> None:
    await page.get_by_role("button", name="Why this answer").first.press("Enter")
    await expect(page.locator("#side")).to_contain_text("The exact text")


async def memory(page: Page) -> None:
    await page.locator("#show-memory").click()
    await expect(page.locator("#side")).to_contain_text("Landmarks")


async def jump(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("dialog")).to_be_visible()


VIEWS = (
    View("general", shows="example.org"),
    View("answer", "web:release", "and you?"),
    View("question", "slack:C1", "git push"),
    View("direct", "web:dm-citra-demo"),
    View("why", "web:general", shows="example.org", do=why),
    View("memory", "web:general", shows="example.org", do=memory),
    View("jump", "web:general", shows="example.org", do=jump),
    View("admin-overview", "admin"),
    View("admin-rooms", "admin/rooms"),
    View("admin-room", "admin/rooms/slack%3AC1"),
    View("admin-sessions", "admin/sessions"),
    View("admin-turns", "admin/turns"),
    View("admin-plots", "admin/plots"),
    View("admin-people", "admin/people"),
    View("admin-audit", "admin/audit"),
    View("admin-schedules", "admin/schedules"),
)


@pytest.mark.parametrize("size", SIZES)
async def test_every_view_looks_as_it_did(typeset: Browser, tmp_path: Path, size: str) -> None:
    house = furnished()
    with_answer(house)
    found: list[str] = []
    async with open_page(house.services, PageSettings(tmp_path / "files")) as address:
        context = await typeset.new_context(
            viewport=SIZES[size],
            reduced_motion="reduce",
            timezone_id="Asia/Jakarta",
            locale="en-GB",
        )
        page = await context.new_page()
        page.set_default_timeout(10_000)
        await page.clock.set_fixed_time(NOON + timedelta(hours=3))
        await sign_in(context, address, house.visitors)
        await with_answers(page)
        for view in VIEWS:
            await page.goto("about:blank")
            await page.goto(f"{address}#{view.hash}")
            await expect(page.locator("#me")).to_contain_text("Citra")
            await shown(page, view)
            found += await both_schemes(page, f"{view.name}-{size}", tmp_path)
        await context.close()
    assert found == []


async def both_schemes(page: Page, name: str, folder: Path) -> list[str]:
    """What differs in the picture of a view, in light and in dark."""
    found: list[str] = []
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        found += compared(await settled(page), f"{name}-{scheme}", folder)
    return found


async def shown(page: Page, view: View) -> None:
    """Wait until all of a view is there."""
    where = "#admin-body" if view.hash.startswith("admin") else "#log"
    await expect(page.locator(where)).not_to_contain_text("Loading")
    if view.shows:
        await expect(page.locator(where)).to_contain_text(view.shows)
    if view.do:
        await view.do(page)


async def settled(page: Page) -> bytes:
    """A picture once two in a row are the same."""
    await page.evaluate("document.fonts.ready")
    before = b""
    for _ in range(40):
        picture = await page.screenshot(animations="disabled", caret="hide")
        if picture == before:
            return picture
        before = picture
        await page.wait_for_timeout(50)
    raise AssertionError("the page doesn't come to rest")


def compared(picture: bytes, name: str, folder: Path) -> list[str]:
    """A sentence if it isn't like the recorded one; recording, it becomes that."""
    recorded = PICTURES / f"{name}.png"
    share = share_that_differs(recorded.read_bytes(), picture) if recorded.exists() else 1.0
    if RECORD:
        if share > 0:
            recorded.write_bytes(picture)
        return []
    if share <= MOST:
        return []
    (folder / recorded.name).write_bytes(picture)
    return [f"{share:.1%} of {recorded} differ from {folder / recorded.name}"]


async def test_the_sign_in_looks_as_it_did(typeset: Browser, tmp_path: Path) -> None:
    found: list[str] = []
    async with open_page(FakeHouse().services, PageSettings(tmp_path / "files")) as address:
        for size, viewport in SIZES.items():
            context = await typeset.new_context(
                viewport=viewport, reduced_motion="reduce", locale="en-GB"
            )
            page = await context.new_page()
            await page.goto(address)
            await expect(page.get_by_label("Token")).to_be_visible()
            found += await both_schemes(page, f"sign-in-{size}", tmp_path)
            await context.close()
    assert found == []


async def test_no_picture_is_of_a_view_that_is_gone() -> None:
    names = {view.name for view in VIEWS} | {"sign-in"}
    wanted = {f"{n}-{size}-{scheme}" for n in names for size in SIZES for scheme in SCHEMES}
    assert {path.stem for path in PICTURES.glob("*.png")} == wanted
