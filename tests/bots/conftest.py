import secrets
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from bots.discord.bot import DiscordBot
from bots.rocketchat.bot import RocketChatBot
from bots.slack.bot import SlackBot
from tests.doubles.discord import DiscordDouble
from tests.doubles.inbox import Inbox
from tests.doubles.matrix_stage import Stage
from tests.doubles.rocketchat import RocketChatDouble
from tests.doubles.slack import SlackDouble
from tests.doubles.stages import make_discord_bot, make_rocketchat_bot, make_slack_bot
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
    return partial(make_slack_bot, slack, tmp_path)


MakeDiscordBot = Callable[..., DiscordBot]


@pytest.fixture
async def discord_double() -> AsyncIterator[DiscordDouble]:
    async with DiscordDouble.open() as double:
        yield double


@pytest.fixture
def discord_bot(discord_double: DiscordDouble, tmp_path: Path) -> MakeDiscordBot:
    return partial(make_discord_bot, discord_double, tmp_path)


MakeRocketChatBot = Callable[..., RocketChatBot]


@pytest.fixture
async def rocketchat() -> AsyncIterator[RocketChatDouble]:
    async with RocketChatDouble.open() as double:
        yield double


@pytest.fixture
def rocketchat_bot(rocketchat: RocketChatDouble, tmp_path: Path) -> MakeRocketChatBot:
    return partial(make_rocketchat_bot, rocketchat, tmp_path)


@pytest.fixture
def stage(homeserver: Synapse, tmp_path: Path) -> Stage:
    """A bot with an account of its own on a real Synapse, and two people."""
    name = f"claude{secrets.token_hex(3)}"
    homeserver.register(name)
    return Stage(homeserver, tmp_path, name, Person(homeserver, "andi"), Person(homeserver, "budi"))
