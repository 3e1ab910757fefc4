"""The examples of docs/api.md: each is run, and the answers that it shows are those that come."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import Connection

from gateway.web.page import PageSettings, open_page
from tests.doubles.credentials import bearer
from tests.doubles.index import WordIndex
from tests.doubles.remembered import Shelf
from tests.doubles.running import Opened, gateway
from tests.doubles.settings import settings_of

DOCS = Path(__file__).parent.parent / "docs" / "api.md"
ORIGIN = "http://127.0.0.1:8377"


@dataclass(frozen=True)
class Example:
    """A curl command, and the JSON that the page shows below it, if any."""

    path: str
    body: str | None
    shown: str | None


def examples() -> list[Example]:
    found: list[Example] = []
    for kind, text in re.findall(r"^```(\w+)\n(.*?)^```", DOCS.read_text("utf-8"), re.M | re.S):
        if kind == "json":
            found[-1] = Example(found[-1].path, found[-1].body, text)
            continue
        words = shlex.split(text)
        [url] = [word for word in words if word.startswith(ORIGIN)]
        body = words[words.index("-d") + 1] if "-d" in words else None
        found.append(Example(url.removeprefix(ORIGIN), body, None))
    return found


def remember(connection: Connection) -> None:
    shelf = Shelf(connection, "room:web:auth-team")
    shelf.fill()
    shelf.observation(id="auth_s1_20260421_001")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[tuple[aiohttp.ClientSession, Opened]]:
    async with (
        gateway(tmp_path, index=WordIndex()) as moot,
        open_page(
            replace(moot.house.services, settings=settings_of(moot, tmp_path / "moot.toml")),
            PageSettings(tmp_path / "files"),
        ) as url,
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as session,
    ):
        yield session, moot


async def test_every_example_answers_as_it_says(
    client: tuple[aiohttp.ClientSession, Opened],
) -> None:
    session, moot = client
    run = examples()
    assert len(run) >= 6
    for example in run:
        headers = {"Content-Type": "application/json"}
        method = "GET" if example.body is None else "POST"
        async with session.request(method, example.path, data=example.body, headers=headers) as got:
            assert got.status == 200, (example.path, await got.text())
            answered = await got.json()
        assert answered, example.path
        if example.path == "/api/submit":  # the room is there now
            await moot.house.memories.store.write(remember)
            assert moot.house.memories.recall is not None
            await moot.house.memories.recall.index_pending()
        if example.shown is not None:
            shown = json.loads(example.shown)
            assert told(shown) == told(answered), example.path
        if "items" in answered:
            assert answered["items"], example.path


def told(value: object, at: str = "") -> set[str]:
    """Every key of a JSON value with the keys above it, and the type of what it holds.

    Which fields a summary's record has depends on the session.
    """
    if at.endswith(".episodes[].record"):
        return {at}
    if isinstance(value, dict):
        return {key for name, held in value.items() for key in told(held, f"{at}.{name}")}
    if isinstance(value, list):
        return {key for held in value for key in told(held, f"{at}[]")}
    return {f"{at}: {type(value).__name__}"}
