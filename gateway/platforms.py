"""The bots that moot.toml names, and the page's."""

from __future__ import annotations

from collections.abc import Mapping

from bots.bot import Bot
from bots.web import WebBot
from contract import ConfigError
from gateway.config import BotTable, Config, secret
from gateway.personas import Personas

SLACK_API = "https://slack.com/api/"


def make_bots(
    config: Config,
    environment: Mapping[str, str],
    personas: Personas,
) -> dict[str, Bot]:
    """Every bot by its name; "web" is the page's. Raises ConfigError for a missing secret."""
    bots: dict[str, Bot] = {"web": WebBot(personas.names)}
    for number, table in enumerate(config.bots):
        name = table.name or table.platform
        if name in bots:
            raise ConfigError(f"bots.{number}.name: {name!r} is taken; give each bot its own name")
        bots[name] = _slack(name, table, config, environment)
    return bots


def _slack(
    name: str,
    table: BotTable,
    config: Config,
    environment: Mapping[str, str],
) -> Bot:
    from bots.slack import SlackBot  # slack-bolt takes 0.3 s to import

    def needed(key: str) -> str:
        value = secret(environment, key, name)
        if value is None:
            raise ConfigError(f"bots ({name}): set {key} in the environment")
        return value

    socket = table.mode == "socket"
    return SlackBot(
        name=name,
        personas=table.personas,
        mode=table.mode,
        api_url=table.api_url or SLACK_API,
        token=needed("SLACK_BOT_TOKEN"),
        app_token=needed("SLACK_APP_TOKEN") if socket else "",
        signing_secret="" if socket else needed("SLACK_SIGNING_SECRET"),
        files_dir=config.gateway.data_dir / "files",
        require_mention=table.require_mention,
    )
