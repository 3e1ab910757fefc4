"""`moot check` asks the platforms."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from contract.errors import ConfigError, PlatformError
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.cli.diagnosis.platforms import ask_platforms, check_platforms
from gateway.settings.config import Config, load_config
from tests.doubles.platform import FakeBot
from tests.doubles.rocketchat import CLAUDE, CODEX, RocketChatDouble
from tests.doubles.slack import SlackDouble

NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)
CONFIG = """
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
"""


async def checked(config: Config, environment: Mapping[str, str]) -> list[Finding]:
    return await check_platforms(Installation(config, Path("moot.toml"), environment, NOW))


class Silent(FakeBot):
    async def check(self) -> Sequence[str]:
        await asyncio.Event().wait()
        return ()


async def test_what_is_missing_is_told_and_a_refusal_or_silence_is_a_mistake() -> None:
    bots = [
        FakeBot(name="well"),
        FakeBot(name="lacking", lacks=("the scope pins:read: add it", "no intent")),
        FakeBot(name="refused", refuses=ConfigError("the token is refused: take another")),
        FakeBot(name="down", refuses=PlatformError("503", outcome="retry", say="It is down.")),
        Silent(name="silent"),
    ]
    findings = await ask_platforms(bots, within_s=0.05)
    assert [str(finding) for finding in findings] == [
        "✓ platform: well: it lets Moot in",
        "⚠ platform: lacking: the scope pins:read: add it",
        "⚠ platform: lacking: no intent",
        "✗ platform: refused: the token is refused: take another",
        "✗ platform: down: It is down.",
        "✗ platform: silent: no answer within 0.05 s",
    ]


async def test_slack_is_asked_who_we_are_and_nothing_is_changed(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        (tmp_path / "moot.toml").write_text(CONFIG.format(api_url=slack.api_url))
        config = load_config(None, base=tmp_path)
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        findings = await checked(config, secrets)
        assert [finding.mistake for finding in findings] == [False] * len(findings)
        wrong = await checked(config, {**secrets, "SLACK_BOT_TOKEN": "xoxb-wrong"})
        assert [finding.mistake for finding in wrong] == [True]
        assert "the bot token is refused" in wrong[0].text
        assert all("xoxb-wrong" not in finding.text for finding in wrong)
        assert slack.texts() == []


async def test_a_bot_that_cannot_be_made_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text(CONFIG.format(api_url="http://127.0.0.1:9/"))
    assert await checked(load_config(None, base=tmp_path), {}) == []


async def test_a_bot_s_own_password_goes_before_a_token_that_is_for_all(tmp_path: Path) -> None:
    async with RocketChatDouble.open() as rocketchat:
        table = (
            f'[[bots]]\nplatform = "rocketchat"\nurl = "{rocketchat.base}"\npersonas = ["demo"]\n'
        )
        (tmp_path / "moot.toml").write_text(f'{table}{table}name = "two"\n', encoding="utf-8")
        config = load_config(None, base=tmp_path)
        for_all = {"ROCKETCHAT_TOKEN": "token-claude", "ROCKETCHAT_USER_ID": CLAUDE}
        own = {"ROCKETCHAT_USER_TWO": "codex", "ROCKETCHAT_PASSWORD_TWO": "password-codex"}
        findings = await checked(config, {**for_all, **own})
        assert [finding.mistake for finding in findings] == [False, False]
        assert {call.user for call in rocketchat.calls} == {CLAUDE, CODEX}
