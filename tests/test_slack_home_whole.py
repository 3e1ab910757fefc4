"""The app's Home tab in Slack: everybody sees their own, by the rules of the commands."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.doubles.service import service
from tests.doubles.slack import ASH, BOT_USER, DM, OLIVIA, SlackDouble

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[access]
rooms = "open"
owners = ["slack:{olivia}"]
people = ["slack:{ash}"]
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
ASHS_DM = "D0ASH0001"
STRANGER = "U0MALLORY"


def home(slack: SlackDouble, user: str) -> str:
    return "\n".join(block["text"]["text"] for block in slack.homes[user]["blocks"])


async def opened(slack: SlackDouble, user: str, channel: str) -> str:
    async with asyncio.timeout(30):
        await slack.open_home(user, channel).over.wait()
    return home(slack, user)


async def test_everybody_sees_their_own_status_usage_and_memory(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        slack.users[STRANGER] = {**slack.users[ASH], "id": STRANGER, "name": "mallory"}
        for channel, user in ((ASHS_DM, ASH), ("D0MALLORY", STRANGER)):
            slack.channels[channel] = {**slack.channels[DM], "id": channel, "user": user}
            slack.members[channel] = [user, BOT_USER]
        config = CONFIG.format(api_url=slack.api_url, olivia=OLIVIA, ash=ASH)
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **tokens) as moot:
            await slack.delivery.connected()
            await slack.say("!share I drink green tea.", OLIVIA, channel=DM)
            async with asyncio.timeout(60):
                while not any(text.startswith("Shared") for text in slack.texts(DM)):
                    await asyncio.sleep(0.05)
            olivias = await opened(slack, OLIVIA, DM)
            assert "@demo: nothing to do" in olivias
            assert "You today: 0 questions" in olivias
            assert "What @demo knows of you" in olivias
            assert "green tea" in olivias
            ashs = await opened(slack, ASH, ASHS_DM)
            assert "I know nothing of you here." in ashs
            assert "green tea" not in ashs
            assert "green tea" not in await opened(slack, STRANGER, "D0MALLORY")
            before = dict(slack.homes)
            await slack.open_home(OLIVIA, tab="messages").over.wait()
            assert slack.homes == before
            assert moot.leaks("green tea") == []
