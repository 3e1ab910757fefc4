"""What is wrong with a token or a scope is said in one sentence."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bots.slack.bot import SlackApp, SlackBot
from contract.errors import ConfigError
from tests.doubles.bot_setup import bot_setup
from tests.doubles.inbox import PATIENCE_S, Inbox
from tests.doubles.slack import SlackDouble

MakeSlackBot = Callable[..., SlackBot]


async def run_briefly(bot: SlackBot, inbox: Inbox) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await bot.run(inbox.receive)


async def test_a_bad_bot_token_is_one_clear_sentence(inbox: Inbox, slack_bot: MakeSlackBot) -> None:
    with pytest.raises(ConfigError, match=r"'slack': the bot token is refused \(invalid_auth\)"):
        await run_briefly(slack_bot(token="xoxb-stale"), inbox)


async def test_a_bad_app_token_is_one_clear_sentence(inbox: Inbox, slack_bot: MakeSlackBot) -> None:
    with pytest.raises(ConfigError, match=r"the app token is refused \(invalid_auth\).*xapp-"):
        await run_briefly(slack_bot(app_token="xapp-stale"), inbox)


async def test_a_bot_token_in_place_of_the_apps_is_one_clear_sentence(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    with pytest.raises(ConfigError, match="connections:write"):
        await run_briefly(slack_bot(app_token=slack.bot_token), inbox)


async def test_a_missing_scope_is_one_clear_sentence(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.scopes.discard("chat:write")
    with pytest.raises(ConfigError, match="lacks the scope chat:write"):
        await run_briefly(slack_bot(), inbox)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"token": ""}, "token"),
        ({"app_token": " "}, "app_token"),
        ({"mode": "http", "signing_secret": ""}, "signing_secret"),
    ],
)
def test_what_the_mode_needs_must_be_there(
    tmp_path: Path, changes: dict[str, str], key: str
) -> None:
    values = {"token": "xoxb", "app_token": "xapp", "signing_secret": "s", **changes}
    with pytest.raises(ConfigError, match=f"{key} is missing"):
        SlackBot(bot_setup("slack", tmp_path), SlackApp(**values))  # type: ignore[arg-type]
