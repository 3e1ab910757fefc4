"""`moot run` that speaks German, as somebody in a Slack reads it."""

from __future__ import annotations

from pathlib import Path

from tests.doubles.service import service
from tests.doubles.slack import ASH, BOT_USER, DM, GENERAL, SlackDouble
from tests.test_access_whole import CONFIG, has

GERMAN = CONFIG.replace("[access]", 'language = "de"\n[access]')


async def test_refusals_and_replies_are_in_the_language_of_the_room(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config = GERMAN.format(owner=ASH, api_url=slack.api_url)
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **secrets) as at:
            await slack.delivery.connected()
            await slack.say("hello?", channel=DM)
            [refusal] = await has(slack, 1)
            assert refusal.startswith("Ich kenne dich noch nicht.")
            assert "`!pair " in refusal

            async def asked(command: str, count: int) -> str:
                await slack.say(f"<@{BOT_USER}> {command}", user=ASH)
                return (await has(slack, count, GENERAL))[-1]

            helped = await asked("!help all", 1)
            assert "Moot selbst" in helped
            assert "`!status`" in helped
            assert "nichts zu tun" in await asked("!status", 2)
            assert "Ab jetzt" not in await asked("!language klingon", 3)
            chosen = await asked("!language ja", 4)
            assert "日本語" in chosen
            assert "作業なし" in await asked("!status", 5)
            await at.kill()
            await at.start()
            await slack.delivery.connected()
            assert "作業なし" in await asked("!status", 6)
            assert "Deutsch" in await asked("!language default", 7)
