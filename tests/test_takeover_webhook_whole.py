"""The address that a server calls is good on whichever machine leads: its secret follows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
from yarl import URL

from tests.doubles.bluebubbles import PASSWORD, BlueBubblesDouble
from tests.doubles.service import Service
from tests.doubles.two import logged, two
from tests.test_bluebubbles_whole import CONFIG

LEFT = "a-secret-of-an-earlier-version"
BOT = CONFIG.partition('data_dir = "data"')[2].replace(
    'url = "{url}"', 'url = "{url}"\nwebhook_url = "http://moot.example.org"'
)


async def called(at: Service, path: str) -> int:
    """The status that a server gets that calls this path there."""
    url, body = URL(at.url).with_path(path), {"type": "hello-world"}
    async with aiohttp.ClientSession() as client, client.post(url, json=body) as answer:
        return answer.status


async def test_the_second_is_called_with_the_secret_of_the_first(tmp_path: Path) -> None:
    def earlier(folder: Path) -> None:
        own = folder / "data" / "bots" / "bluebubbles"
        own.mkdir(parents=True)
        (own / "webhook_secret").write_text(f"{LEFT}-{folder.name}\n")

    async with BlueBubblesDouble.open() as server:
        config = BOT.format(url=server.url)
        async with two(tmp_path, config, earlier, BLUEBUBBLES_PASSWORD=PASSWORD) as house:
            await logged(house.first, "webhook.registered")
            [hook] = server.webhooks
            path = URL(hook["url"]).path
            assert path == f"/bluebubbles/bluebubbles/{LEFT}-first"
            moved = house.first.folder / "data" / "bots" / "bluebubbles" / "webhook_secret.moved"
            assert moved.exists()
            assert await called(house.first, path) == 200
            await house.take_over()
            async with asyncio.timeout(20):
                while await called(house.second, path) != 200:  # until the bot has begun
                    await asyncio.sleep(0.05)
            assert [one["url"] for one in server.webhooks] == [hook["url"]]
            assert await called(house.second, f"{path.rpartition('/')[0]}/{LEFT}-second") == 404
            for at in (house.first, house.second):
                assert at.leaks(LEFT) == []
                assert "Traceback" not in at.log()
