"""The page on a random port of loopback, over a house that records."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

from gateway.main import main
from gateway.web.page import PageSettings, open_page
from tests.doubles.browser import CHROMIUM_ARGS, chromium, enter
from tests.doubles.credentials import BEARER
from tests.doubles.house import FakeHouse


@pytest.fixture
def house() -> FakeHouse:
    return FakeHouse()


@pytest.fixture
async def url(house: FakeHouse, tmp_path: Path) -> AsyncIterator[str]:
    settings = PageSettings(tmp_path / "files", most_body_bytes=100_000, most_file_bytes=200_000)
    async with open_page(house.services, settings) as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(url, headers=BEARER) as session:
        yield session


async def post(client: aiohttp.ClientSession, path: str, body: object, status: int = 200) -> Any:
    async with client.post(path, json=body) as response:
        assert response.status == status, await response.text()
        return await response.json()


async def get(client: aiohttp.ClientSession, path: str, status: int = 200) -> Any:
    async with client.get(path) as response:
        assert response.status == status, await response.text()
        return await response.json()


WIDE: ViewportSize = {"width": 1280, "height": 800}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests; each has a context of its own."""
    path = chromium()
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield launched
        await launched.close()


@pytest_asyncio.fixture(loop_scope="session")
async def address(house: FakeHouse, tmp_path: Path) -> AsyncIterator[str]:
    """As `url`, on the loop that the browser's tests share."""
    async with open_page(house.services, PageSettings(tmp_path / "files")) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, address: str, house: FakeHouse) -> AsyncIterator[Page]:
    """The page in a wide window, as Citra, in #general. A script's error fails the test."""
    context = await browser.new_context(viewport=WIDE, reduced_motion="reduce")
    opened = await context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda fault: faults.append(str(fault)))
    await enter(opened, address, house.visitors)
    yield opened
    await context.close()
    assert faults == []


Typed = Callable[..., tuple[int, str]]


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Typed:
    """The exit code of `moot` with these words, and all that it prints, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))

    def type_(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["moot", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(ended.value.code or 0), out + err

    return type_
