"""The whole way: BlueBubbles, `moot run`, the demo agent in its terminal, and a bad day."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from tests.doubles.bluebubbles import (
    ASH,
    DM,
    GROUP,
    PASSWORD,
    SMS,
    STRANGER,
    BlueBubblesDouble,
    Fault,
)
from tests.doubles.ports import free_port
from tests.doubles.service import Service, service

CONFIG = """
[gateway]
listen = "{listen}"
data_dir = "data"
[access]
dms = "open"
rooms = "open"
approvers = ["bb:+15550001111"]
[[bots]]
platform = "bluebubbles"
personas = ["demo"]
url = "{url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""


@asynccontextmanager
async def house(
    server: BlueBubblesDouble, folder: Path, host: str = "127.0.0.1", **more: str
) -> AsyncIterator[Service]:
    """Moot, once the server knows its webhook."""
    config = CONFIG.format(url=server.url, listen=f"{host}:{free_port()}")
    async with service(folder, config, BLUEBUBBLES_PASSWORD=PASSWORD, **more) as moot:
        async with asyncio.timeout(20):
            while not server.webhooks:
                await asyncio.sleep(0.05)
        yield moot


def answers(server: BlueBubblesDouble) -> Counter[tuple[str, str]]:
    return Counter((row["chats"][0]["guid"], row["text"]) for row in server.own())


async def answered(server: BlueBubblesDouble, *wanted: tuple[str, str]) -> None:
    async with asyncio.timeout(60):
        while not answers(server).keys() >= set(wanted):
            await asyncio.sleep(0.05)


async def posted(server: BlueBubblesDouble, count: int) -> None:
    async with asyncio.timeout(30):
        while len(server.own()) < count:
            await asyncio.sleep(0.05)


async def settled(server: BlueBubblesDouble) -> None:
    """Wait until nothing more is posted."""
    before = -1
    while before != (before := len(server.messages)):
        await asyncio.sleep(0.7)


async def test_people_are_answered_once_in_each_kind_of_chat(tmp_path: Path) -> None:
    async with BlueBubblesDouble.open(times=2) as server, house(server, tmp_path) as moot:
        await server.say("echo to you")
        await server.say("lunch?", ASH, GROUP)
        await server.say("@demo echo to all", ASH, GROUP)
        await server.say("echo by SMS", STRANGER, SMS)
        await server.say("see you at 8", chat_guid=DM, from_me=True)
        note = (("note.txt", "text/plain", b"the words in the file"),)
        await answered(server, (DM, "to you"), (GROUP, "to all"), (SMS, "by SMS"))
        await server.say("files", files=note)
        async with asyncio.timeout(30):
            while not any("note.txt" in text for _, text in answers(server)):
                await asyncio.sleep(0.05)
        await settled(server)
        assert len(server.own()) == 5  # four answers, and what the owner typed
        kept = [path.read_bytes() for path in (tmp_path / "data" / "files").rglob("note.txt")]
        assert kept == [b"the words in the file"]
        assert moot.leaks("to you", "by SMS", "words in the file") == []
        assert "password=" not in moot.log()
        secret = server.webhooks[0]["url"].rpartition("/")[2]
        assert secret not in moot.log()


async def test_ten_lost_messages_and_doubtful_posts_are_answered_once(tmp_path: Path) -> None:
    async with BlueBubblesDouble.open() as server, house(server, tmp_path) as moot:
        await server.say("echo before")
        await answered(server, (DM, "before"))
        server.deaf = True
        after, cut = Fault("500", "after"), Fault("cut", "after")
        server.fail("message/text", after, Fault("500"), cut)
        lost = [f"number {number}" for number in range(10)]
        for words in lost:
            await server.say(f"echo {words}")
        await answered(server, *((DM, words) for words in lost))
        await settled(server)
        assert set(answers(server).values()) == {1}
        assert "Traceback" not in moot.log()


async def test_kill_9_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async with BlueBubblesDouble.open() as server, house(server, tmp_path) as moot:
        asked = []
        for round_ in range(3):
            for number in range(4):
                asked.append(f"number {round_}.{number}")
                await server.say(f"echo {asked[-1]}")
            await asyncio.sleep(0.25 * round_)
            await moot.kill()
            asked.append(f"while away {round_}")
            await server.say(f"echo {asked[-1]}")
            await moot.start()
        await answered(server, *((DM, words) for words in asked))
        await settled(server)
        assert set(answers(server).values()) == {1}
        assert len(server.own()) == len(asked)


async def test_elsewhere_the_webhook_is_open_and_the_page_is_not_and_a_question_is_answered(
    tmp_path: Path,
) -> None:
    async with (
        BlueBubblesDouble.open() as server,
        house(server, tmp_path, "0.0.0.0", MOOT_TOKEN="a-token-of-32-characters-or-more") as moot,
        aiohttp.ClientSession() as client,
    ):
        await server.say("permission")
        url = server.webhooks[0]["url"]
        elsewhere = {"Host": "moot.example.org"}
        async with client.post(url, json={"type": "hello-world"}, headers=elsewhere) as answer:
            assert answer.status == 200
        async with client.post(f"{url}x", json={"type": "x"}, headers=elsewhere) as answer:
            assert answer.status == 404
        async with client.get(f"{moot.url}api/rooms") as answer:
            assert answer.status == 401
        await posted(server, 1)
        await server.say("!1")
        await posted(server, 3)
        await settled(server)
        question, answered_, work = server.own()
        assert work["text"] == "1 tool"
        assert "!1" in question["text"]
        assert "!2" in question["text"]
        assert "!1" not in answered_["text"]
