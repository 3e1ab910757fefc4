"""Asks Slack who the app is and what it lacks, for `moot check` and at the start."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from bots.slack.api import DEAD_TOKEN, SlackApi, SlackRefused
from bots.slack.directory import Directory
from bots.slack.events import Account
from contract.errors import ConfigError, PlatformError

log = structlog.stdlib.get_logger("moot.bots")


# Without these nothing works; what else is missing is done without, and told once.
_NEEDED = {"chat:write"}

SCOPES = {
    "app_mentions:read": "it doesn't hear who mentions it",
    "assistant:write": "it isn't among Slack's agents, which have a stop button",
    "channels:history": "it reads neither messages nor threads of public channels",
    "channels:read": "it doesn't know the names of public channels and who is in them",
    "chat:write": "it can't post",
    "chat:write.customize": "personas that share the app all speak under its name",
    "commands": "there is no /moot",
    "files:read": "files that people share stay unread",
    "files:write": "it can't send long answers as files",
    "groups:history": "it reads neither messages nor threads of private channels",
    "groups:read": "it doesn't know the names of private channels and who is in them",
    "im:history": "it hears no direct messages",
    "im:read": "direct messages that it missed are not looked for",
    "mpim:history": "it hears no group direct messages",
    "mpim:read": "it doesn't know who is in a group direct message",
    "pins:read": "messages that people pin become no landmarks",
    "reactions:read": "a 📌 on a message makes no landmark",
    "reactions:write": "it can't mark messages as seen, working, done",
    "users:read": "people appear under their ids",
}
"""Every bot scope of the manifest in docs/slack.md, and what doesn't work without it."""


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
    if scopes and (lost := sorted(SCOPES.keys() - scopes)):
        log.warning("bot.scopes_missing", bot=bot, scopes=", ".join(lost))
    return Account(
        str(answer["user_id"]),
        str(answer.get("bot_id") or ""),
        str(answer.get("user") or ""),
        scopes,
        str(answer.get("team_id") or ""),
    )


def missing_scopes(own: Account, bot: str) -> Sequence[str]:
    """One line for each scope that the token lacks; none where Slack doesn't tell."""
    return [
        f"Slack bot {bot!r}: the scope {scope} is missing, so {lost}: add it under OAuth & "
        "Permissions and install the app again"
        for scope, lost in SCOPES.items()
        if not own.may(scope)
    ]


def app_token_refused(error: SlackRefused, bot: str) -> ConfigError | SlackRefused:
    """The refusal of a socket, as a sentence about the token if the token is its reason."""
    if error.code not in DEAD_TOKEN | {"missing_scope"}:
        return error
    return ConfigError(
        f"Slack bot {bot!r}: the app token is refused ({error.code}): it begins with xapp- and has "
        "the scope connections:write"
    )


async def findings(
    api: SlackApi, socket: SlackApi | None, directory: Directory, path: str, bot: str
) -> Sequence[str]:
    """One line with its remedy for each thing that is missing.

    socket: calls with the app's token, None in HTTP mode. Raises MootError when Slack won't have us
    at all.
    """
    own = await account(api, bot)
    directory.introduce(own)
    missing = [*missing_scopes(own, bot), *await _absence(directory, bot)]
    if socket is None:
        return [*missing, _request_url(path, bot)]
    await _check_app_token(socket, bot)
    return missing


async def _check_app_token(api: SlackApi, bot: str) -> None:
    """Ask for a ticket to a socket, which runs out by itself. Raises MootError without one."""
    try:
        await api.call("apps.connections.open")
    except SlackRefused as error:
        raise app_token_refused(error, bot) from error


async def _absence(directory: Directory, bot: str) -> Sequence[str]:
    """One line when the bot is in no channel."""
    own = directory.own
    if not (own.may("channels:read") and own.may("groups:read")):
        return ()  # said already, and the channels can't be told for sure
    try:
        if await directory.joined("public_channel", "private_channel"):
            return ()
    except PlatformError as error:
        log.info("channels.unknown", bot=bot, reason=error)
        return ()
    name = own.name or "its-name"
    return (f"Slack bot {bot!r} is in no channel yet: type /invite @{name} in one",)


def _request_url(path: str, bot: str) -> str:
    """A line on what no one can ask Slack in HTTP mode."""
    return (
        f"Slack bot {bot!r} waits for Slack to call POST {path}: Slack doesn't tell whether this "
        "address is set as Request URL under both Event Subscriptions and Interactivity"
    )
