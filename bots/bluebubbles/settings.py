"""BlueBubbles in moot.toml and in `moot init`."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from bots.bot import Bot
from bots.kit.platform_bot import BotSetup
from bots.kit.platform_spec import BotTable, Host, Login, PlatformSpec, SecretField, SetupForm, Url


class BlueBubblesTable(BotTable):
    """url: the BlueBubbles server's. webhook_url: Moot's own address as that server reaches it;
    default: `listen`."""

    platform: Literal["bluebubbles"]
    url: Url = Field(validation_alias=AliasChoices("url", "api_url"))
    webhook_url: Url | None = None


def _make(setup: BotSetup, table: BlueBubblesTable, host: Host) -> Bot:
    from bots.bluebubbles.backfill import OwnAddress
    from bots.bluebubbles.bot import BlueBubblesBot

    return BlueBubblesBot(
        setup,
        table.url,
        host.secrets.required("BLUEBUBBLES_PASSWORD"),
        OwnAddress(table.webhook_url, host.listen),
        secret=host.secrets.find("BLUEBUBBLES_SECRET"),
    )


_FORM = SetupForm(
    logins=(
        Login(
            "the password",
            (SecretField("BLUEBUBBLES_PASSWORD", "the server's password", r".+"),),
        ),
    ),
    prefix="bb",
    person="bb:+15550001111 — the number or address you write from",
    invite="write to its account in Messages; in a group: @{name} hello",
)

PLATFORM = PlatformSpec("bluebubbles", "iMessage (BlueBubbles)", BlueBubblesTable, _FORM, _make)
