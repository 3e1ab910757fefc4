"""[[bots]] in moot.toml: a table a platform. Secrets stand in the environment, never here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field


def _address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(f"{value!r} is not an address, e.g. https://chat.example.org")
    return value.rstrip("/")


Url = Annotated[str, AfterValidator(_address)]


class BotTable(BaseModel):
    """The keys of every platform's table.

    name: default the platform's; each bot has its own. personas: the first one answers when no name
    was said. require_mention: false: it answers every message of its rooms.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = None
    personas: Annotated[tuple[str, ...], Field(min_length=1)]
    require_mention: bool = True


class SlackTable(BotTable):
    """mode: "socket" needs SLACK_APP_TOKEN, "http" SLACK_SIGNING_SECRET and POST /slack/events."""

    platform: Literal["slack"]
    api_url: str = "https://slack.com/api/"
    mode: Literal["socket", "http"] = "socket"


class RocketChatTable(BotTable):
    """url: the server's."""

    platform: Literal["rocketchat"]
    url: Url = Field(validation_alias=AliasChoices("url", "api_url"))


class DiscordTable(BotTable):
    """slash_commands: register `/stop` and the like beside `!stop`.

    api_url, gateway_url: only for another server than Discord's own.
    """

    platform: Literal["discord"]
    api_url: Url = "https://discord.com/api/v10"
    gateway_url: str | None = None
    slash_commands: bool = True


class MatrixTable(BotTable):
    """url: the homeserver's. encryption: take part in encrypted rooms.

    invites: whose invitations the bot follows: people listed under [access], everybody, nobody.
    """

    platform: Literal["matrix"]
    url: Url = Field(validation_alias=AliasChoices("url", "api_url", "homeserver"))
    encryption: bool = True
    invites: Literal["people", "everybody", "nobody"] = "people"


class BlueBubblesTable(BotTable):
    """url: the BlueBubbles server's. webhook_url: Moot's own address as that server reaches it;
    default: `listen`."""

    platform: Literal["bluebubbles"]
    url: Url = Field(validation_alias=AliasChoices("url", "api_url"))
    webhook_url: Url | None = None


AnyBotTable = Annotated[
    SlackTable | RocketChatTable | DiscordTable | MatrixTable | BlueBubblesTable,
    Field(discriminator="platform"),
]

TABLES: dict[str, type[BotTable]] = {
    "slack": SlackTable,
    "rocketchat": RocketChatTable,
    "discord": DiscordTable,
    "matrix": MatrixTable,
    "bluebubbles": BlueBubblesTable,
}
