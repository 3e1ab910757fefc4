"""The whole way: a Slack, `moot run`, the demo agent in its terminal, and a bad day."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from tests.doubles.service import Service, service
from tests.doubles.slack import BOT_USER, Fault, SlackDouble

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[access]
rooms = "open"
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""


def secrets(slack: SlackDouble) -> dict[str, str]:
    return {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}


def channels(slack: SlackDouble, count: int) -> list[str]:
    names = [f"C0ROOM{number:03}" for number in range(count)]
    for name in names:
        slack.channels[name] = {**slack.channels["C0GENERAL"], "id": name, "name": name.lower()}
        slack.members[name] = list(slack.members["C0GENERAL"])
    return names


def answers(slack: SlackDouble) -> Counter[tuple[str, str]]:
    """How often each mention was answered, by its channel and ts."""
    return Counter(
        (channel, message["thread_ts"])
        for channel, messages in slack.messages.items()
        for message in messages.values()
        if message.get("user") == BOT_USER and message["text"].startswith("word ")
    )


async def mention(slack: SlackDouble, channel: str, number: int, times: int = 1) -> str:
    return await slack.say(f"<@{BOT_USER}> echo word {number}", channel=channel, times=times)


async def answered(slack: SlackDouble, asked: list[tuple[str, str]], within_s: float) -> None:
    """Wait until every mention has its answer."""
    async with asyncio.timeout(within_s):
        while not answers(slack).keys() >= set(asked):
            await asyncio.sleep(0.05)


async def settled(slack: SlackDouble) -> None:
    """Wait until nothing more is posted."""
    before = -1
    while before != (before := sum(len(m) for m in slack.messages.values())):
        await asyncio.sleep(0.7)


@pytest.mark.parametrize("deliveries", [1, 3])
async def test_every_mention_is_answered_once_and_in_order(tmp_path: Path, deliveries: int) -> None:
    async with SlackDouble.open() as slack:
        rooms = channels(slack, 12)
        async with service(
            tmp_path, CONFIG.format(api_url=slack.api_url), **secrets(slack)
        ) as moot:
            await slack.delivery.connected()
            asked = []
            for number in range(48):
                channel = rooms[number % 12]
                asked.append((channel, await mention(slack, channel, number, deliveries)))
            burst = [("C0GENERAL", await mention(slack, "C0GENERAL", n)) for n in range(40)]
            await answered(slack, asked + burst, 60)
            await settled(slack)
            assert set(answers(slack).values()) == {1}
            assert slack.texts() == [f"word {number}" for number in range(40)]
            assert moot.leaks("word 1") == []


async def test_a_cut_socket_rate_limits_and_failing_posts_lose_and_double_nothing(
    tmp_path: Path,
) -> None:
    async with SlackDouble.open() as slack:
        rooms = channels(slack, 6)
        async with service(tmp_path, CONFIG.format(api_url=slack.api_url), **secrets(slack)):
            await slack.delivery.connected()
            for kind, when in (
                ("429", "before"),
                ("500", "before"),
                ("500", "after"),
                ("cut", "before"),
                ("cut", "after"),
            ):
                slack.fail("chat.postMessage", Fault(kind, when), 2)  # type: ignore[arg-type]
            asked = []
            for number in range(30):
                channel = rooms[number % 6]
                asked.append((channel, await mention(slack, channel, number)))
                if number == 15:
                    slack.delivery.cut()
                await asyncio.sleep(0.02)
            await answered(slack, asked, 60)
            await settled(slack)
            assert set(answers(slack).values()) == {1}


async def test_what_a_cut_and_a_stop_hid_is_answered_once_each(tmp_path: Path) -> None:
    """Ten mentions in a cut, ten while the process is down, of each ten some within a thread."""
    async with SlackDouble.open() as slack:
        slack.delivery.forgetful = True
        rooms = channels(slack, 3)
        async with service(
            tmp_path, CONFIG.format(api_url=slack.api_url), **secrets(slack)
        ) as moot:
            await slack.delivery.connected()
            asked = [(room, await mention(slack, room, 99)) for room in rooms]
            await answered(slack, asked, 60)
            root = asked[0]

            async def missed() -> None:
                for number in range(8):
                    channel = rooms[number % 3]
                    asked.append((channel, await mention(slack, channel, number)))
                for number in (8, 9):
                    text = f"<@{BOT_USER}> echo reply {number}"
                    await slack.say(text, channel=root[0], thread_ts=root[1])

            slack.fail("conversations.history", Fault("429"), 2)
            slack.delivery.cut()
            await missed()
            await answered(slack, asked, 60)
            await settled(slack)
            await moot.stop()
            await missed()
            await moot.start()
            await answered(slack, asked, 60)
            await settled(slack)
            assert set(answers(slack).values()) == {1}
            replies = [text for text in slack.texts(root[0]) if text.startswith("reply ")]
            assert replies == ["reply 8", "reply 9"] * 2


async def test_over_http_every_mention_is_answered_once_and_a_forged_one_never(
    tmp_path: Path,
) -> None:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(api_url=slack.api_url) + "\n"
        config = config.replace('personas = ["demo"]', 'personas = ["demo"]\nmode = "http"')
        keys = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_SIGNING_SECRET": slack.signing_secret}
        async with service(tmp_path, config, **keys) as moot:
            slack.delivery.events_url = f"{moot.url}slack/events"
            asked = [("C0GENERAL", await mention(slack, "C0GENERAL", n, 2)) for n in range(8)]
            async with aiohttp.ClientSession() as client:
                forged = {"X-Slack-Signature": "v0=00", "X-Slack-Request-Timestamp": "1"}
                url = slack.delivery.events_url
                async with client.post(url, json={"type": "x"}, headers=forged) as response:
                    assert response.status == 401
            await answered(slack, asked, 60)
            await settled(slack)
            assert set(answers(slack).values()) == {1}


async def kill_at_random(
    slack: SlackDouble, moot: Service, rooms: list[str], kills: int, chance: random.Random
) -> list[tuple[str, str]]:
    """Mentions while the process is killed and started again; returns those asked."""
    asked: list[tuple[str, str]] = []
    for _ in range(kills):
        await slack.delivery.connected()
        for _ in range(chance.randrange(4, 20)):
            channel = chance.choice(rooms)
            asked.append((channel, await mention(slack, channel, len(asked))))
            await asyncio.sleep(chance.uniform(0, 0.03))
        await asyncio.sleep(chance.uniform(0, 0.4))
        await moot.kill()
        await moot.start()
    return asked


async def test_kill_9_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    chance = random.Random(8377)
    async with SlackDouble.open() as slack:
        rooms = channels(slack, 5)
        config = CONFIG.format(api_url=slack.api_url)
        async with service(tmp_path, config, **secrets(slack)) as moot:
            asked = await kill_at_random(slack, moot, rooms, 5, chance)
            await answered(slack, asked, 60)
            await settled(slack)
            assert set(answers(slack).values()) == {1}
            assert "Traceback" not in moot.log()
