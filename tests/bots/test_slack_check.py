"""`check` asks Slack what is missing, and says each thing in one line with its remedy."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bots.slack.bot import SlackBot
from bots.slack.check import SCOPES
from contract.errors import ConfigError, PlatformError
from tests.doubles.slack import BOT_USER, Fault, SlackDouble
from tests.doubles.slack_app import EVERY_SCOPE

MakeSlackBot = Callable[..., SlackBot]
DOCS = Path(__file__).parents[2] / "docs" / "slack.md"


def manifests() -> list[dict[str, Any]]:
    text = DOCS.read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [yaml.safe_load(block) for block in blocks]


def test_the_manifest_asks_for_the_scopes_that_the_check_looks_for() -> None:
    manifest, http = manifests()
    assert manifest["oauth_config"]["scopes"]["bot"] == sorted(SCOPES)
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert http["settings"]["socket_mode_enabled"] is False
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert http["settings"]["event_subscriptions"]["bot_events"] == events
    assert {"app_mention", "message.im", "pin_added", "reaction_removed"} <= set(events)


def test_the_page_says_what_each_scope_is_for() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for scope in SCOPES:
        assert f"| `{scope}` |" in text


async def test_an_app_that_has_everything_misses_nothing(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    assert set(SCOPES) <= EVERY_SCOPE
    assert await slack_bot().check() == []
    assert {call.method for call in slack.calls} == {
        "auth.test",
        "apps.connections.open",
        "users.conversations",
    }


@pytest.mark.parametrize("scope", sorted(SCOPES.keys() - {"chat:write"}))
async def test_a_missing_scope_is_named_with_what_it_costs(
    slack: SlackDouble, slack_bot: MakeSlackBot, scope: str
) -> None:
    slack.scopes.discard(scope)
    (line,) = await slack_bot().check()
    assert f"the scope {scope} is missing" in line
    assert SCOPES[scope] in line
    assert "OAuth & Permissions" in line


async def test_a_bot_in_no_channel_is_told_to_be_invited(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    for channel, members in slack.members.items():
        if slack.channel_type(channel) in ("channel", "group"):
            members.remove(BOT_USER)
    (line,) = await slack_bot().check()
    assert "in no channel" in line
    assert "/invite @claude" in line


async def test_in_http_mode_it_names_the_address_to_set(slack_bot: MakeSlackBot) -> None:
    (line,) = await slack_bot(mode="http").check()
    assert "POST /slack/events" in line
    assert "Request URL" in line


async def test_a_token_that_slack_refuses_is_an_error(slack_bot: MakeSlackBot) -> None:
    with pytest.raises(ConfigError, match="the bot token is refused"):
        await slack_bot(token="xoxb-stale").check()
    with pytest.raises(ConfigError, match="the app token is refused"):
        await slack_bot(app_token="xapp-stale").check()


async def test_a_slack_out_of_reach_is_an_error(
    slack_bot: MakeSlackBot, unused_tcp_port: int
) -> None:
    with pytest.raises(PlatformError, match="can't be reached"):
        await slack_bot(api_url=f"http://127.0.0.1:{unused_tcp_port}/api/").check()


async def test_channels_that_slack_does_not_list_are_no_finding(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    slack.fail("users.conversations", Fault("500"))
    assert await slack_bot().check() == []
