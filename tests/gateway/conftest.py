"""The page on a random port of loopback, over a house that records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from gateway.page import PageSettings, open_page
from tests.doubles.house import FakeHouse


@pytest.fixture
def house() -> FakeHouse:
    return FakeHouse()


@pytest.fixture
async def url(house: FakeHouse, tmp_path: Path) -> AsyncIterator[str]:
    settings = PageSettings(tmp_path / "files", most_body_bytes=100_000, most_file_bytes=200_000)
    async with open_page(house, settings) as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(url) as session:
        yield session
