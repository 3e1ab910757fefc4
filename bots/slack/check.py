"""What Slack says is missing, for `moot check`."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from bots.slack.account import account, app_token_refused, missing_scopes
from bots.slack.api import SlackApi, SlackRefused
from bots.slack.directory import Directory
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


async def findings(
    api: SlackApi, socket: SlackApi | None, directory: Directory, path: str, bot: str
) -> Sequence[str]:
    """What is missing, one line each with its remedy.

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
    """What nobody can ask Slack in HTTP mode."""
    return (
        f"Slack bot {bot!r} waits for Slack to call POST {path}: Slack doesn't tell whether this "
        "address is set as Request URL under both Event Subscriptions and Interactivity"
    )
