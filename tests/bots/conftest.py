import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bots.discord import DiscordBot
from bots.rocketchat import RocketChatBot
from bots.rocketchat_account import Login
from bots.slack import SlackBot
from tests.doubles.discord import DiscordDouble
from tests.doubles.inbox import Inbox
from tests.doubles.matrix_stage import Stage
from tests.doubles.rocketchat import CLAUDE, RocketChatDouble
from tests.doubles.slack import SlackDouble
from tests.doubles.synapse import Person, Synapse

MakeSlackBot = Callable[..., SlackBot]


@pytest.fixture
async def slack() -> AsyncIterator[SlackDouble]:
    async with SlackDouble.open() as double:
        double.delivery.ack_s = 0.3
        double.delivery.retry_delays_s = (0.0, 0.01, 0.01)
        yield double


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def slack_bot(slack: SlackDouble, tmp_path: Path) -> MakeSlackBot:
    def make(**changes: Any) -> SlackBot:
        values: dict[str, Any] = {
            "personas": ["claude"],
            "token": slack.bot_token,
            "app_token": slack.app_token,
            "signing_secret": slack.signing_secret,
            "api_url": slack.api_url,
            "files_dir": tmp_path / "files",
            "own_dir": tmp_path / "own",
        }
        return SlackBot(**(values | changes))

    return make


MakeDiscordBot = Callable[..., DiscordBot]


@pytest.fixture
async def discord_double() -> AsyncIterator[DiscordDouble]:
    async with DiscordDouble.open() as double:
        yield double


@pytest.fixture
def discord_bot(discord_double: DiscordDouble, tmp_path: Path) -> MakeDiscordBot:
    def make(**changes: Any) -> DiscordBot:
        values: dict[str, Any] = {
            "personas": ["claude"],
            "token": discord_double.token,
            "api_url": discord_double.api_url,
            "files_dir": tmp_path / "files",
            "own_dir": tmp_path / "own",
            "rest_s": 0.0,
        }
        return DiscordBot(**(values | changes))

    return make


MakeRocketChatBot = Callable[..., RocketChatBot]


@pytest.fixture
async def rocketchat() -> AsyncIterator[RocketChatDouble]:
    async with RocketChatDouble.open() as double:
        yield double


@pytest.fixture
def rocketchat_bot(rocketchat: RocketChatDouble, tmp_path: Path) -> MakeRocketChatBot:
    def make(**changes: Any) -> RocketChatBot:
        values: dict[str, Any] = {
            "personas": ["claude"],
            "url": rocketchat.base,
            "login": Login(user_id=CLAUDE, token="token-claude"),
            "files_dir": tmp_path / "files",
            "own_dir": tmp_path / "own",
        }
        return RocketChatBot(**(values | changes))

    return make


@pytest.fixture
def stage(homeserver: Synapse, tmp_path: Path) -> Stage:
    """A bot with an account of its own on a real Synapse, and two people."""
    name = f"claude{secrets.token_hex(3)}"
    homeserver.register(name)
    return Stage(homeserver, tmp_path, name, Person(homeserver, "andi"), Person(homeserver, "budi"))
