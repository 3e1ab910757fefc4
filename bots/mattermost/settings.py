"""Mattermost in moot.toml and in `moot init`."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from bots.bot import Bot
from bots.kit.platform_bot import BotSetup
from bots.kit.platform_spec import BotTable, Host, Login, PlatformSpec, SecretField, SetupForm, Url


class MattermostTable(BotTable):
    """url: the server's. webhook_url: Moot's own address as that server reaches it; without it
    there are no buttons and no slash commands."""

    platform: Literal["mattermost"]
    url: Url = Field(validation_alias=AliasChoices("url", "api_url"))
    webhook_url: Url | None = None


def _make(setup: BotSetup, table: MattermostTable, host: Host) -> Bot:
    from bots.mattermost.bot import MattermostBot
    from bots.mattermost.connection import Callbacks

    secrets = host.secrets
    callbacks = Callbacks(
        table.webhook_url or "",
        secrets.find("MATTERMOST_SECRET"),
        secrets.optional("MATTERMOST_COMMAND_TOKEN"),
    )
    return MattermostBot(setup, table.url, secrets.required("MATTERMOST_TOKEN"), callbacks)


_FORM = SetupForm(
    logins=(Login("a bot's token", (SecretField("MATTERMOST_TOKEN", "the bot account's token"),)),),
    prefix="mattermost",
    person="mattermost:4xp9fdt77pncbef59f4k1qe83o — your user id: System Console, Users, you",
    person_looks=r"[a-z0-9]{26}",
    invite="add the bot to the team, then in a channel: /invite @{name}, and: @{name} hello",
)

PLATFORM = PlatformSpec("mattermost", "Mattermost", MattermostTable, _FORM, _make)
