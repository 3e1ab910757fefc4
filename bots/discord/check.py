"""Asks Discord who the bot is and what it may; each refusal comes with its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import discord

from bots.discord.api import DiscordApi, DiscordRefused
from bots.discord.connection import token_refused
from contract.errors import PlatformError
from contract.values import dataclass

# Flags of an application: granted to a large bot, or switched on for one in less than 100 guilds.
_MEMBERS = 1 << 14 | 1 << 15
_CONTENT = 1 << 18 | 1 << 19

_PORTAL = "https://discord.com/developers/applications"

PERMISSIONS = {
    "view_channel": "see channels",
    "send_messages": "answer",
    "send_messages_in_threads": "answer in threads",
    "read_message_history": "reply, and read what was missed",
    "add_reactions": "mark messages",
    "attach_files": "send long answers as files",
}
BEGIN_THREADS = {"create_public_threads": "begin threads"}


@dataclass(frozen=True, slots=True)
class Account:
    """The bot's own account. members: it may ask who is in a guild. content: it may read what
    people say; None: Discord doesn't tell."""

    id: str
    name: str
    application_id: str
    members: bool
    content: bool | None


async def account(api: DiscordApi, bot: str) -> Account:
    """The account of a bot's token. Raises ConfigError when the token is no good."""
    try:
        me = await api.call("GET", "/users/@me")
    except DiscordRefused as error:
        if error.status == 401:
            raise token_refused(bot) from error
        raise
    application = await _application(api)
    told = application.get("flags")
    flags = told if isinstance(told, int) else 0
    return Account(
        id=str(me.get("id") or ""),
        name=str(me.get("global_name") or me.get("username") or ""),
        application_id=str(application.get("id") or me.get("id") or ""),
        members=bool(flags & _MEMBERS),
        content=bool(flags & _CONTENT) if isinstance(told, int) else None,
    )


async def _application(api: DiscordApi) -> Mapping[str, Any]:
    for path in ("/applications/@me", "/oauth2/applications/@me"):
        try:
            found = await api.call("GET", path)
        except DiscordRefused:
            continue
        if isinstance(found, dict):
            return found
    return {}


def intents(own: Account) -> int:
    """The intents to ask the gateway for.

    Who may not have the content of messages asks for it all the same: Discord then says no instead
    of sending empty texts.
    """
    wanted = discord.Intents.none()
    wanted.guilds = wanted.guild_messages = wanted.dm_messages = True
    wanted.guild_reactions = wanted.dm_reactions = wanted.message_content = True
    wanted.members = own.members
    return wanted.value


def permissions(needed: Iterable[str] = PERMISSIONS) -> int:
    """The bits of an invitation."""
    return discord.Permissions(**dict.fromkeys(needed, True)).value


def invite_url(own: Account, needed: Iterable[str] = PERMISSIONS) -> str:
    return (
        f"https://discord.com/oauth2/authorize?client_id={own.application_id}"
        f"&scope=bot+applications.commands&permissions={permissions(needed)}"
    )


async def missing(api: DiscordApi, bot: str, *, threads: bool = False) -> list[str]:
    """One line for each thing that the bot lacks, with its remedy. threads: it begins some."""
    needed = PERMISSIONS | (BEGIN_THREADS if threads else {})
    own = await account(api, bot)
    lines = []
    if own.content is False:
        lines.append(
            f"Discord bot {bot!r}: the intent MESSAGE CONTENT is off: switch it on at "
            f"{_PORTAL}/{own.application_id}/bot, under Privileged Gateway Intents"
        )
    try:
        guilds = await api.call("GET", "/users/@me/guilds")
    except PlatformError as error:
        return [*lines, f"Discord bot {bot!r}: its guilds are not told: {error}"]
    found = [guild for guild in guilds if isinstance(guild, dict)]
    if not found:
        lines.append(f"Discord bot {bot!r} is in no guild: invite it: {invite_url(own, needed)}")
    for guild in found:
        if lacking := _lacking(guild, needed):
            what = ", ".join(f"{name} ({needed[name]})" for name in lacking)
            lines.append(
                f"Discord bot {bot!r} lacks in {guild.get('name') or guild.get('id')}: {what}: "
                f"add it to its role, or invite it again: {invite_url(own, needed)}"
            )
    return lines


def _lacking(guild: Mapping[str, Any], needed: Iterable[str]) -> list[str]:
    told = str(guild.get("permissions") or "")
    if not told.isdigit():
        return []
    has = discord.Permissions(int(told))
    if has.administrator:
        return []
    return [name for name in needed if not getattr(has, name)]
