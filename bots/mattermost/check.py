"""Asks Mattermost who the bot is, what the server allows, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from bots.kit.wire import demanded
from bots.mattermost.api import MattermostApi, MattermostRefused
from bots.mattermost.directory import Directory
from bots.mattermost.events import Account
from bots.mattermost.wire import WireRules, WireUser
from contract.errors import ConfigError, PlatformError

log = structlog.stdlib.get_logger("moot.bots")


async def account(api: MattermostApi, bot: str) -> Account:
    """The token's account. Raises ConfigError when the token is no good."""
    try:
        user = demanded(WireUser, await api.get("users", "me"), "Mattermost: its own account")
    except MattermostRefused as error:
        if error.status == 401:
            raise ConfigError(
                f"Mattermost bot {bot!r}: the token is refused ({error.code}): make a new one "
                "(Integrations → Bot Accounts → the bot → Create New Token), and set "
                "MATTERMOST_TOKEN"
            ) from error
        raise ConfigError(
            f"Mattermost bot {bot!r}: there is no Mattermost at {api.url} ({error.code}): set url"
        ) from error
    return Account(user.id, user.username, user.nickname or user.first_name)


async def rules(api: MattermostApi) -> WireRules:
    """The server's rules, as far as it tells them. Never raises PlatformError."""
    try:
        told = await api.get("config", "client", format="old")
        return demanded(WireRules, told, "Mattermost: its settings")
    except PlatformError as error:
        log.info("rules.unknown", reason=error)
        return WireRules()


async def findings(
    api: MattermostApi, directory: Directory, bot: str, personas: Sequence[str]
) -> list[str]:
    """One line with its remedy for each thing that is missing. Raises MootError."""
    own = await account(api, bot)
    directory.introduce(own)
    told, lines = await rules(api), list[str]()
    console = "System Console →"
    if not await directory.joined():
        lines.append(
            f"@{own.username} is in no channel yet: add it to the team, then type "
            f"/invite @{own.username} in a channel"
        )
    if len(personas) > 1 and not told.names:
        lines.append(
            f"the personas all speak under the name @{own.username}: {console} Integrations → "
            "Integration Management → Enable integrations to override usernames"
        )
    if not told.files:
        lines.append(
            f"files are refused: {console} Site Configuration → File Sharing and Downloads → "
            "Allow File Sharing"
        )
    if told.edit_s is not None and told.edit_s >= 0:
        lines.append(
            f"posts can be edited for {told.edit_s} seconds only, so the draft of a longer turn "
            f"stays as it was and its answer is posted again: {console} Site Configuration → Posts"
        )
    return lines
