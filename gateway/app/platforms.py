"""The bots that moot.toml names, and the page's. A platform is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bots.bot import Bot, SecretSink, forget
from bots.kit.slash import SlashCommand, SlashOption
from bots.web import WebBot
from contract.errors import ConfigError
from gateway.access.access import Access
from gateway.core.addressing import named
from gateway.core.command_table import TABLE
from gateway.settings.access import EVERYBODY
from gateway.settings.bots import (
    AnyBotTable,
    BlueBubblesTable,
    DiscordTable,
    MatrixTable,
    RocketChatTable,
    SlackTable,
)
from gateway.settings.config import Config, own_secret, secret
from gateway.settings.personas.personas import Personas

SLASH_COMMANDS = tuple(
    SlashCommand(
        entry.name,
        entry.says,
        tuple(SlashOption(a.name, a.says, a.required, a.choices) for a in entry.arguments),
    )
    for entry in TABLE
)


@dataclass(frozen=True, slots=True)
class _Account:
    """Given to every maker of a bot beside its table."""

    name: str
    config: Config
    environment: Mapping[str, str]
    personas: Personas
    access: Access
    learned: SecretSink

    def secret(self, key: str) -> str:
        """Raises ConfigError when it isn't set."""
        value = self.optional(key)
        if value is None:
            raise ConfigError(f"bots ({self.name}): set {key} in the environment")
        return value

    def optional(self, key: str) -> str | None:
        return secret(self.environment, key, self.name)

    def own(self, key: str) -> str | None:
        """None when it isn't set for this very bot."""
        return own_secret(self.environment, key, self.name)

    def named(self, served: Sequence[str]) -> Callable[[str], bool]:
        """True if a text names one of these personas, by name or alias, as they are then."""
        return lambda text: bool(named(text, self.personas.of(served)))

    @property
    def files_dir(self) -> Path:
        """Where files of people's messages are kept."""
        return self.config.gateway.data_dir / "files"

    @property
    def own_dir(self) -> Path:
        """Where the bot keeps what it must not forget; made when it is needed."""
        return self.config.gateway.data_dir / "bots" / self.name


def make_bots(
    config: Config,
    environment: Mapping[str, str],
    personas: Personas,
    access: Access | None = None,
    learned: SecretSink = forget,
) -> dict[str, Bot]:
    """Every bot by its name; "web" is the page's. Raises ConfigError for a missing secret.

    access: with the roles that are kept; without it moot.toml's are known. learned: told of the
    secrets that a login gives.
    """
    access = access or Access(config.access)
    bots: dict[str, Bot] = {"web": WebBot(personas.names)}
    for number, table in enumerate(config.bots):
        name = table.name or table.platform
        if name in bots:
            raise ConfigError(f"bots.{number}.name: {name!r} is taken; give each bot its own name")
        bots[name] = _make(table, _Account(name, config, environment, personas, access, learned))
    return bots


def _make(table: AnyBotTable, account: _Account) -> Bot:
    match table:
        case SlackTable():
            return _slack(table, account)
        case RocketChatTable():
            return _rocketchat(table, account)
        case DiscordTable():
            return _discord(table, account)
        case MatrixTable():
            return _matrix(table, account)
        case BlueBubblesTable():
            return _bluebubbles(table, account)


def _slack(table: SlackTable, account: _Account) -> Bot:
    from bots.slack.bot import SlackBot  # slack-bolt takes 0.3 s to import

    socket = table.mode == "socket"
    return SlackBot(
        name=account.name,
        personas=table.personas,
        mode=table.mode,
        api_url=table.api_url,
        token=account.secret("SLACK_BOT_TOKEN"),
        app_token=account.secret("SLACK_APP_TOKEN") if socket else "",
        signing_secret="" if socket else account.secret("SLACK_SIGNING_SECRET"),
        files_dir=account.files_dir,
        own_dir=account.own_dir,
        require_mention=table.require_mention,
        is_named=account.named(table.personas),
    )


def _rocketchat(table: RocketChatTable, account: _Account) -> Bot:
    from bots.rocketchat.bot import RocketChatBot
    from bots.rocketchat.check import Login

    # A password that is this bot's own goes before a token that is everybody's.
    by_password = account.own("ROCKETCHAT_PASSWORD") and not account.own("ROCKETCHAT_TOKEN")
    return RocketChatBot(
        name=account.name,
        personas=table.personas,
        url=table.url,
        login=Login(
            "" if by_password else account.optional("ROCKETCHAT_USER_ID") or "",
            "" if by_password else account.optional("ROCKETCHAT_TOKEN") or "",
            account.optional("ROCKETCHAT_USER") or "",
            account.optional("ROCKETCHAT_PASSWORD") or "",
        ),
        files_dir=account.files_dir,
        own_dir=account.own_dir,
        learned=account.learned,
        require_mention=table.require_mention,
    )


def _discord(table: DiscordTable, account: _Account) -> Bot:
    from bots.discord.bot import DiscordBot  # discord.py takes 0.5 s to import

    return DiscordBot(
        name=account.name,
        personas=table.personas,
        token=account.secret("DISCORD_TOKEN"),
        api_url=table.api_url,
        gateway_url=table.gateway_url,
        commands=SLASH_COMMANDS if table.slash_commands else (),
        files_dir=account.files_dir,
        own_dir=account.own_dir,
        require_mention=table.require_mention,
    )


def _matrix(table: MatrixTable, account: _Account) -> Bot:
    from bots.matrix.bot import MatrixBot  # matrix-nio takes 0.3 s to import
    from bots.matrix.check import Credentials

    listed = any(grant.people - {EVERYBODY} for grant in account.access.configured)
    token = account.optional("MATRIX_TOKEN") or ""
    return MatrixBot(
        name=account.name,
        personas=table.personas,
        url=table.url,
        credentials=Credentials(
            token,
            user="" if token else account.secret("MATRIX_USER"),
            password="" if token else account.secret("MATRIX_PASSWORD"),
        ),
        own_dir=account.own_dir,
        files_dir=account.files_dir,
        invited_by=follows(table.invites, account.access),
        unlisted=table.invites == "people" and not listed,
        encryption=table.encryption,
        learned=account.learned,
        require_mention=table.require_mention,
    )


def follows(invites: str, access: Access) -> Callable[[str], bool]:
    """Whose invitations are followed, by their sender ids. invites: see MatrixTable."""
    if invites == "people":
        return access.is_named  # it asks each time: roles are given while Moot runs
    return lambda _: invites == "everybody"


def _bluebubbles(table: BlueBubblesTable, account: _Account) -> Bot:
    from bots.bluebubbles.bot import BlueBubblesBot

    gateway = account.config.gateway
    return BlueBubblesBot(
        name=account.name,
        personas=table.personas,
        url=table.url,
        password=account.secret("BLUEBUBBLES_PASSWORD"),
        secret=account.optional("BLUEBUBBLES_SECRET"),
        webhook_url=table.webhook_url,
        listen_host=gateway.host,
        listen_port=gateway.port,
        files_dir=account.files_dir,
        own_dir=account.own_dir,
        learned=account.learned,
        require_mention=table.require_mention,
        is_named=account.named(table.personas),
    )
