"""docs/add-a-platform.md: its platform, as the page has it, in a whole gateway."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.doubles.ports import free_port
from tests.doubles.service import Service, service

HOUSE = Path(__file__).parents[2]
TOKEN = "relay-token"
CONFIG = """
[gateway]
listen = "127.0.0.1:{port}"
data_dir = "data"
[access]
rooms = "open"
[[bots]]
platform = "relay"
personas = ["demo"]
url = "{url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""


def blocks() -> dict[str, str]:
    """The page's blocks by the path in their first line."""
    page = (HOUSE / "docs" / "add-a-platform.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n# (\S+)\n(.*?)^```", page, re.M | re.S)
    return dict(found)


def grown(folder: Path) -> Path:
    """A tree of our bots with the page's platform among them."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HOUSE / "bots", folder / "bots", ignore=ignored)
    for path, text in blocks().items():
        target = folder / path
        if target.exists():
            table = target.read_text(encoding="utf-8")
            text = table.rstrip().removesuffix(")") + text + ")\n"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


@dataclass
class RelayDouble:
    """The chat server: one post a key."""

    url: str = ""
    posts: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[RelayDouble]:
        double, app = cls(), web.Application()
        app.router.add_get("/posts", double._list)
        app.router.add_post("/posts", double._post)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port := free_port()).start()
        double.url = f"http://127.0.0.1:{port}"
        try:
            yield double
        finally:
            await runner.cleanup()

    async def _list(self, request: web.Request) -> web.Response:
        status = 200 if request.headers.get("Authorization") == f"Bearer {TOKEN}" else 401
        return web.json_response(list(self.posts.values()), status=status)

    async def _post(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.posts.setdefault(body["key"], body)
        return web.json_response({"id": body["key"]})

    async def answers(self, count: int) -> list[dict[str, str]]:
        async with asyncio.timeout(60):
            while len(self.posts) < count:
                await asyncio.sleep(0.05)
        return list(self.posts.values())


@asynccontextmanager
async def house(double: RelayDouble, folder: Path) -> AsyncIterator[tuple[Service, str]]:
    port, tree = free_port(), grown(folder / "tree")
    config = CONFIG.format(port=port, url=double.url)
    paths = {"PYTHONPATH": f"{tree}:{HOUSE}", "RELAY_TOKEN": TOKEN}
    (folder / "home").mkdir()
    async with service(folder / "home", config, **paths) as moot:
        yield moot, f"http://127.0.0.1:{port}/relay/messages"


async def said(url: str, number: int, content: str, token: str = TOKEN) -> int:
    message = {
        "id": f"m{number}",
        "room": "kitchen",
        "sender": "olivia",
        "content": content,
        "at": f"2026-11-22T10:00:0{number}Z",
    }
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=message, headers=headers) as answer,
    ):
        return answer.status


def test_the_page_shows_the_whole_platform() -> None:
    assert blocks().keys() == {
        "bots/__init__.py",
        "bots/relay/__init__.py",
        "bots/relay/bot.py",
        "bots/relay/events.py",
        "bots/relay/settings.py",
    }


async def test_the_platform_of_the_page_answers_a_mention_once(tmp_path: Path) -> None:
    async with RelayDouble.open() as double, house(double, tmp_path) as (_, url):
        assert await said(url, 1, "hello everybody") == 200
        assert await said(url, 2, "@demo say hi") == 200
        assert await said(url, 2, "@demo say hi") == 200  # delivered again
        [answer] = await double.answers(1)
        assert answer["room"] == "kitchen"
        await asyncio.sleep(1.0)
        assert len(double.posts) == 1


async def test_the_platform_of_the_page_lets_nobody_in_without_its_token(tmp_path: Path) -> None:
    async with RelayDouble.open() as double, house(double, tmp_path) as (_, url):
        assert await said(url, 1, "@demo say hi", token="another") == 401
        async with aiohttp.ClientSession() as session:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with session.post(url, data="{}", headers=headers) as answer:
                assert answer.status == 400
                assert "room" in (await answer.json())["error"]
        assert not double.posts


@pytest.mark.parametrize("path", [path for path in blocks() if path.endswith("bot.py")])
def test_the_pages_code_is_formatted_as_ours_is(path: str) -> None:
    assert max(map(len, blocks()[path].splitlines())) <= 100
