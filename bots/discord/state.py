"""What Discord's events tell of guilds, channels, roles and people, into the directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from bots.discord.directory import Directory
from bots.discord.wire import (
    WireChannel,
    WireGuild,
    WireMemberChange,
    WireRoleChange,
    WireThreadList,
)

_CHANNELS = {"CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE"}
_GONE = {"CHANNEL_DELETE", "THREAD_DELETE"}
_ROLES = {"GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE"}
_MEMBERS = {"GUILD_MEMBER_ADD", "GUILD_MEMBER_UPDATE"}


def learn(
    directory: Directory, name: str, data: Mapping[str, Any]
) -> WireGuild | WireChannel | None:
    """Take in an event; return a guild or a channel that is there now.

    Raises ValueError on an event that Discord doesn't write.
    """
    try:
        return _learned(directory, name, data)
    except ValidationError as error:
        fields = sorted({".".join(map(str, e["loc"])) for e in error.errors()})
        raise ValueError(f"{name} can't be read: {', '.join(fields)}") from None


def _learned(
    directory: Directory, name: str, data: Mapping[str, Any]
) -> WireGuild | WireChannel | None:
    if name in ("GUILD_CREATE", "GUILD_UPDATE"):
        guild = WireGuild.model_validate(data)
        if guild.unavailable or name == "GUILD_UPDATE":  # an update tells no channels
            return None
        directory.learn_guild(guild)
        return guild
    if name in _CHANNELS:
        channel = WireChannel.model_validate(data)
        directory.learn_channel(channel)
        return channel
    if name == "THREAD_LIST_SYNC":
        listed = WireThreadList.model_validate(data)
        for thread in listed.threads:
            directory.learn_channel(thread, listed.guild_id)
    elif name in _GONE:
        directory.forget_channel(str(data.get("id")))
    elif name in _ROLES:
        directory.learn_role(WireRoleChange.model_validate(data))
    elif name in _MEMBERS:
        change = WireMemberChange.model_validate(data)
        directory.learn_member(change.guild_id, change)
    return None
