"""Matrix in moot.toml and in `moot init`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import AliasChoices, Field

from bots.bot import Bot
from bots.kit.platform_bot import BotSetup
from bots.kit.platform_spec import BotTable, Host, Login, PlatformSpec, SecretField, SetupForm, Url


class MatrixTable(BotTable):
    """url: the homeserver's. encryption: take part in encrypted rooms.

    invites: whose invitations the bot follows: people listed under [access], everybody, nobody.
    """

    platform: Literal["matrix"]
    url: Url = Field(validation_alias=AliasChoices("url", "api_url", "homeserver"))
    encryption: bool = True
    invites: Literal["people", "everybody", "nobody"] = "people"


def _make(setup: BotSetup, table: MatrixTable, host: Host) -> Bot:
    from bots.matrix.bot import MatrixBot
    from bots.matrix.check import Credentials
    from bots.matrix.invites import welcome

    secrets = host.secrets
    token = secrets.optional("MATRIX_TOKEN")
    credentials = Credentials(
        token,
        user="" if token else secrets.optional("MATRIX_USER"),
        password=secrets.optional("MATRIX_PASSWORD"),
        recovery_key=secrets.optional("MATRIX_RECOVERY_KEY"),
    )
    invited = welcome(
        table.invites, host.is_listed, anyone_listed=host.anyone_listed, is_owner=host.is_owner
    )
    return MatrixBot(setup, table.url, credentials, invited, encryption=table.encryption)


async def _sign_in(setup: BotSetup, table: MatrixTable, say: Callable[[str], None]) -> str:
    from bots.matrix.api import MatrixApi
    from bots.matrix.check import CredentialStore, sign_in_by_browser

    api = MatrixApi(table.url)
    try:
        wallet = CredentialStore(setup.secrets)
        return (await sign_in_by_browser(api, wallet, say, setup.secret_found)).user_id
    finally:
        await api.close()


_FORM = SetupForm(
    logins=(
        Login(
            "a user name and its password",
            (
                SecretField(
                    "MATRIX_USER", "the account: claude, or @claude:example.org", hidden=False
                ),
                SecretField("MATRIX_PASSWORD", "its password", r".+"),
            ),
        ),
        Login("an access token", (SecretField("MATRIX_TOKEN", "the account's access token"),)),
    ),
    prefix="matrix",
    person="matrix:@olivia:example.org — your full Matrix id",
    person_looks=r"@[^:\s]+:\S+",
    invite="invite it to a room, then: @{name} hello",
    open_to_all={"invites": "everybody"},  # else it would be in no room at all
)

PLATFORM = PlatformSpec("matrix", "Matrix", MatrixTable, _FORM, _make, _sign_in)
