"""Discord in moot.toml and in `moot init`."""

from __future__ import annotations

from typing import Literal

from bots.bot import Bot
from bots.kit.platform_bot import BotSetup
from bots.kit.platform_spec import BotTable, Host, Login, PlatformSpec, SecretField, SetupForm, Url


class DiscordTable(BotTable):
    """slash_commands: register `/stop` and the like beside `!stop`. threads: answer each question
    in a thread of its own.

    api_url, gateway_url: only for another server than Discord's own.
    """

    platform: Literal["discord"]
    api_url: Url = "https://discord.com/api/v10"
    gateway_url: str | None = None
    slash_commands: bool = True
    threads: bool = False


def _make(setup: BotSetup, table: DiscordTable, host: Host) -> Bot:
    from bots.discord.bot import DiscordBot

    return DiscordBot(
        setup,
        host.secrets.required("DISCORD_TOKEN"),
        api_url=table.api_url,
        gateway_url=table.gateway_url,
        commands=host.commands if table.slash_commands else (),
        threads=table.threads,
    )


_FORM = SetupForm(
    logins=(
        Login(
            "a bot token", (SecretField("DISCORD_TOKEN", "the bot's token, without Bot before it"),)
        ),
    ),
    prefix="discord",
    person="discord:80351110224678912 — Settings, Advanced, Developer Mode; then right-click "
    "your name, Copy User ID",
    person_looks=r"\d+",
    invite="invite it to your server ({docs}), then in a channel: @{name} hello",
    url_key="api_url",
    needs_url=False,
)

PLATFORM = PlatformSpec("discord", "Discord", DiscordTable, _FORM, _make)
