"""Whether Slack lets the app in, and as whom; every refusal is one sentence with its remedy."""

from __future__ import annotations

import logging

from bots.slack_api import DEAD_TOKEN, SlackApi, SlackRefused
from bots.slack_events import Account
from contract import ConfigError

log = logging.getLogger("moot.bots")

# Without these nothing works; what else is missing is done without, and told once.
_NEEDED = {"chat:write"}
_WANTED = {
    "app_mentions:read": "mentions",
    "channels:history": "messages and threads in channels",
    "channels:read": "the names of channels",
    "files:read": "files that people share",
    "files:write": "long answers as files",
    "im:history": "direct messages",
    "reactions:write": "marks on messages",
    "users:read": "people's names",
}


async def account(api: SlackApi, bot: str) -> Account:
    """The account of a bot's token. Raises ConfigError when the token or a scope is no good."""
    try:
        answer, scopes = await api.identity()
    except SlackRefused as error:
        raise ConfigError(
            f"Slack bot {bot!r}: the bot token is refused ({error.code}): install the app in the "
            "workspace again and take its xoxb- token"
        ) from error
    if scopes and (lacking := sorted(_NEEDED - scopes)):
        raise ConfigError(
            f"Slack bot {bot!r}: the app lacks the scope {', '.join(lacking)}: add it under OAuth "
            "& Permissions and install the app again"
        )
    if scopes and (lost := sorted(_WANTED.keys() - scopes)):
        without = "; ".join(f"{scope} ({_WANTED[scope]})" for scope in lost)
        log.warning("Slack bot %s does without these scopes: %s", bot, without)
    return Account(
        str(answer["user_id"]), str(answer.get("bot_id") or ""), str(answer.get("user") or "")
    )


def app_token_refused(error: SlackRefused, bot: str) -> ConfigError | SlackRefused:
    """The refusal of a socket, as a sentence about the token if the token is its reason."""
    if error.code not in DEAD_TOKEN | {"missing_scope"}:
        return error
    return ConfigError(
        f"Slack bot {bot!r}: the app token is refused ({error.code}): it begins with xapp- and has "
        "the scope connections:write"
    )
