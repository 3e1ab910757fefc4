"""Rocket.Chat in moot.toml and in `moot init`."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from bots.bot import Bot
from bots.kit.platform_bot import BotSetup
from bots.kit.platform_spec import BotTable, Host, Login, PlatformSpec, SecretField, SetupForm, Url


class RocketChatTable(BotTable):
    """url: the server's."""

    platform: Literal["rocketchat"]
    url: Url = Field(validation_alias=AliasChoices("url", "api_url"))


def _make(setup: BotSetup, table: RocketChatTable, host: Host) -> Bot:
    from bots.rocketchat.bot import RocketChatBot
    from bots.rocketchat.check import Credentials

    secrets = host.secrets
    # A password that is this bot's own goes before a token that is everybody's.
    by_password = secrets.find_own("ROCKETCHAT_PASSWORD") and not secrets.find_own(
        "ROCKETCHAT_TOKEN"
    )
    credentials = Credentials(
        "" if by_password else secrets.optional("ROCKETCHAT_USER_ID"),
        "" if by_password else secrets.optional("ROCKETCHAT_TOKEN"),
        secrets.optional("ROCKETCHAT_USER"),
        secrets.optional("ROCKETCHAT_PASSWORD"),
    )
    return RocketChatBot(setup, table.url, credentials)


_FORM = SetupForm(
    logins=(
        Login(
            "a personal access token",
            (
                SecretField("ROCKETCHAT_USER_ID", "the account's user id", hidden=False),
                SecretField("ROCKETCHAT_TOKEN", "its personal access token"),
            ),
        ),
        Login(
            "a user name and its password",
            (
                SecretField("ROCKETCHAT_USER", "the account's user name", hidden=False),
                SecretField("ROCKETCHAT_PASSWORD", "its password", r".+"),
            ),
        ),
    ),
    prefix="rocketchat",
    person="rocketchat:rbAXPnMktTFbNpwtJ — Administration, Users, you: the last part of the "
    "address",
    person_looks=r"\w+",
    invite="in a channel: /invite @{name}, then: @{name} hello",
)

PLATFORM = PlatformSpec("rocketchat", "Rocket.Chat", RocketChatTable, _FORM, _make)
