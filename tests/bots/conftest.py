import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bots.slack import SlackBot
from tests.doubles.inbox import Inbox
from tests.doubles.matrix_stage import Stage
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
        }
        return SlackBot(**(values | changes))

    return make


@pytest.fixture
def stage(homeserver: Synapse, tmp_path: Path) -> Stage:
    """A bot with an account of its own on a real Synapse, and two people."""
    name = f"claude{secrets.token_hex(3)}"
    homeserver.register(name)
    return Stage(homeserver, tmp_path, name, Person(homeserver, "andi"), Person(homeserver, "budi"))
