"""Codes from outside: typed by those who wait with them, by others, late, and a second time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.doubles.service import service
from tests.doubles.slack import ASH, BOT_USER, DM, OLIVIA, SlackDouble
from tests.test_access_whole import CONFIG, code_in, has, moot, posted, settled


async def test_who_waits_and_types_the_code_is_answered_what_they_had_asked(
    tmp_path: Path,
) -> None:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(owner=ASH, api_url=slack.api_url)
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **secrets) as at:
            await slack.delivery.connected()
            await slack.say("echo word one", channel=DM)
            code = code_in((await has(slack, 1))[0])
            for typed in (f"!pair {code}", f"moot pair {code}", f"“!pair {code.lower()}”", code):
                await slack.say(typed, channel=DM)
            await settled(slack)
            exit_code, printed = await moot(at, "pair")
            assert (exit_code, printed.count("waits")) == (0, 1), printed
            assert (await moot(at, "pair", code))[0] == 0
            await has(slack, 3)
            await settled(slack)
            assert sorted(posted(slack, DM)[1:]) == [
                "You are let in: you can talk with me here now.",
                "word one",
            ]
            await slack.say(f"<@{BOT_USER}> !pair {code}")
            async with asyncio.timeout(30):
                while not slack.whispers:
                    await asyncio.sleep(0.05)
            [(channel, told, refused)] = slack.whispers
            assert (channel, told, posted(slack, channel)) == ("C0GENERAL", OLIVIA, [])
            assert "\n" not in refused
            assert OLIVIA in refused
            code_again, printed = await moot(at, "pair", code)
            assert (code_again, "no such code waits" in printed) == (1, True), printed
