"""A newcomer's way on each platform: `moot init`, `moot check`, `moot run`, an answered mention."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from gateway.settings.env_file import with_secrets
from tests.doubles import bluebubbles, discord, rocketchat, slack
from tests.doubles.credentials import bearer
from tests.doubles.ports import free_port
from tests.doubles.service import Service
from tests.doubles.synapse import SERVER, Person, Synapse

HOUSE = Path(__file__).parents[1]
LONGEST_S = 300.0  # what a newcomer may need in all, reading and typing included


@dataclass
class Newcomer:
    """One platform as a newcomer meets it. answers: what the bot has posted."""

    words: Sequence[str]
    environment: dict[str, str]
    ready: Callable[[], Awaitable[object]]
    ask: Callable[[], Awaitable[object]]
    answers: Callable[[], Awaitable[Sequence[str]]]
    more: Sequence[str] = field(default=("--rooms", "open", "--owner", "first"))


async def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", "from gateway.main import main; main()", *words],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MOOT_HOME": str(folder),
            "PYTHONPATH": str(HOUSE),
            **more,
        },
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


async def goes_the_way(newcomer: Newcomer, folder: Path) -> None:
    """From nothing to an answered mention; the environment is left behind after `moot init`."""
    began = time.monotonic()
    async with asyncio.timeout(LONGEST_S):
        where = ("--listen", f"127.0.0.1:{free_port()}")
        words = [*newcomer.words, *newcomer.more, "--persona", "demo", *where, "--yes"]
        made = await run(folder, "init", *words, **newcomer.environment)
        assert made.returncode == 0, made.stdout + made.stderr
        assert made.stdout.splitlines()[-2] == "Next: moot run"
        checked = await run(folder, "check")
        assert checked.returncode == 0, checked.stdout
        assert "✗" not in checked.stdout
        moot = Service(folder)
        await moot.start()
        try:
            await newcomer.ready()
            await newcomer.ask()
            while "hello from the demo" not in await newcomer.answers():
                await asyncio.sleep(0.05)
            kept = with_secrets({}, None, base=folder)
            moot.environment = dict(kept)
            assert moot.leaks() == []
        finally:
            await moot.stop()
    print(f"from nothing to an answer: {time.monotonic() - began:.1f} s")


@asynccontextmanager
async def at_slack() -> AsyncIterator[Newcomer]:
    async with slack.SlackDouble.open() as double:

        async def answers() -> Sequence[str]:
            return [m["text"] for room in double.messages.values() for m in room.values()]

        yield Newcomer(
            ("--platform", "slack", "--url", double.api_url),
            {"SLACK_BOT_TOKEN": double.bot_token, "SLACK_APP_TOKEN": double.app_token},
            double.delivery.connected,
            lambda: double.say(f"<@{slack.BOT_USER}> echo hello from the demo"),
            answers,
        )


@asynccontextmanager
async def at_rocketchat() -> AsyncIterator[Newcomer]:
    async with rocketchat.RocketChatDouble.open() as double:

        async def ask() -> None:
            double.say("@claude echo hello from the demo")

        async def answers() -> Sequence[str]:
            return [message["msg"] for message in double.messages.values()]

        yield Newcomer(
            ("--platform", "rocketchat", "--url", double.base),
            {"ROCKETCHAT_TOKEN": "token-claude", "ROCKETCHAT_USER_ID": rocketchat.CLAUDE},
            lambda: double.sockets.listening(rocketchat.CLAUDE),
            ask,
            answers,
        )


@asynccontextmanager
async def at_discord() -> AsyncIterator[Newcomer]:
    async with discord.DiscordDouble.open() as double:

        async def answers() -> Sequence[str]:
            return [post["content"] for room in double.messages.values() for post in room.values()]

        yield Newcomer(
            ("--platform", "discord", "--url", double.api_url),
            {"DISCORD_TOKEN": double.token},
            double.gateway.connected,
            lambda: double.say(f"<@{discord.BOT}> echo hello from the demo"),
            answers,
        )


@asynccontextmanager
async def at_bluebubbles() -> AsyncIterator[Newcomer]:
    async with bluebubbles.BlueBubblesDouble.open() as double:

        async def ready() -> None:
            while not double.webhooks:
                await asyncio.sleep(0.05)

        async def answers() -> Sequence[str]:
            return [row["text"] for row in double.own()]

        yield Newcomer(
            ("--platform", "bluebubbles", "--url", double.url),
            {"BLUEBUBBLES_PASSWORD": bluebubbles.PASSWORD},
            ready,
            lambda: double.say("echo hello from the demo"),
            answers,
            ("--owner", f"bb:{bluebubbles.OLIVIA}"),
        )


PLATFORMS = {
    "slack": at_slack,
    "rocketchat": at_rocketchat,
    "discord": at_discord,
    "bluebubbles": at_bluebubbles,
}


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_from_nothing_to_an_answered_mention(platform: str, tmp_path: Path) -> None:
    async with PLATFORMS[platform]() as newcomer:
        await goes_the_way(newcomer, tmp_path)


async def test_from_nothing_to_an_answered_mention_on_matrix(
    homeserver: Synapse, tmp_path: Path
) -> None:
    name = f"moot{secrets.token_hex(3)}"
    homeserver.register(name)
    bot_id = f"@{name}:{SERVER}"
    andi = Person(homeserver, f"andi{secrets.token_hex(3)}")
    room = await andi.room(bot_id, name="general")

    async def ready() -> None:
        while bot_id not in (await andi.call("GET", f"/rooms/{room}/joined_members"))["joined"]:
            await asyncio.sleep(0.05)

    async def answers() -> Sequence[str]:
        contents = [event["content"] or {} for event in await andi.events(room)]
        texts = [c.get("m.new_content", c).get("body", "") for c in contents]
        return list(texts)

    mentions = {"user_ids": [bot_id]}
    newcomer = Newcomer(
        ("--platform", "matrix", "--url", homeserver.url),
        {"MATRIX_USER": name, "MATRIX_PASSWORD": "pass"},
        ready,
        lambda: andi.say(room, "@demo echo hello from the demo", **{"m.mentions": mentions}),
        answers,
    )
    await goes_the_way(newcomer, tmp_path)


async def test_on_the_page_alone_it_takes_no_token(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as client:
        found: list[str] = []

        async def nothing() -> None:
            """The page is ready when Moot says where it is."""

        async def ask() -> None:
            listen = (tmp_path / "moot.toml").read_text().split('listen = "')[1].split('"')[0]
            person = {"source": "web", "sender_id": "web:andi", "sender_display_name": "Andi"}
            body = {
                "content": "@demo echo hello from the demo",
                "metadata": {**person, "sender_type": "human"},
                "room": "web:lobby",
                "wait": True,
            }
            headers = bearer(tmp_path)
            at = f"http://{listen}/api/submit"
            async with client.post(at, json=body, headers=headers) as answer:
                found.extend(reply["text"] for reply in (await answer.json())["replies"])

        async def answers() -> Sequence[str]:
            return found

        page = Newcomer(("--platform", "page"), {}, nothing, ask, answers)
        await goes_the_way(page, tmp_path)
