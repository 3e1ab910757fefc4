"""The names of Discord's guilds, channels and people: heard in events, else looked up once.

Room = the channel; a thread is a place in its channel's room, as in Slack: what is said in it
belongs to the room, and its id (Discord gives a thread a channel's id) is the thread's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from pydantic import ValidationError

from bots.discord.api import PAGE, DiscordApi
from bots.discord.events import SOURCE, Channel, Person, person, speaker
from bots.discord.wire import (
    WireChannel,
    WireGuild,
    WireMember,
    WireMemberChange,
    WireRole,
    WireRoleChange,
    WireThreadList,
)
from bots.kit.directory import LookupDirectory
from bots.kit.events import faulty_fields
from bots.kit.recent import Recent
from contract.chat import Room, RoomKind, Speaker
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")


_DM, _GROUP_DM = 1, 3
THREADS, FORUMS = {10, 11, 12}, {15, 16}
HAVE_THREADS = {0, 5, *FORUMS}  # text, announcement, forum, media
TEXT = {0, 2, 5, 13}  # text, voice, announcement, stage: each has a chat
_PATIENCE_S = 5.0  # for a thread's channel: without it a message would land in another scope
_MEMBERS = 10_000  # whose nicknames are kept
_AT_ONCE = 50
VIEW_CHANNEL, ADMINISTRATOR = 1 << 10, 1 << 3

_CHANNEL_EVENTS = {"CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE"}
_GONE_EVENTS = {"CHANNEL_DELETE", "THREAD_DELETE"}
_ROLE_EVENTS = {"GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE"}
_MEMBER_EVENTS = {"GUILD_MEMBER_ADD", "GUILD_MEMBER_UPDATE"}


@dataclass(frozen=True, slots=True)
class _Nick:
    """Somebody in a guild. name: what they are called there."""

    name: str
    roles: tuple[str, ...]


class Directory(LookupDirectory):
    """Channels, roles and names of people."""

    def __init__(
        self,
        api: DiscordApi,
        *,
        now: Callable[[], float],
        patience_s: float = 1.0,
        room_patience_s: float = _PATIENCE_S,
    ) -> None:
        super().__init__(now=now, patience_s=patience_s)
        self._api = api
        self.own_id = ""
        self._channels: dict[str, WireChannel] = {}
        self._roles: dict[str, dict[str, WireRole]] = {}
        self._guild_names: dict[str, str] = {}
        self._members: Recent[tuple[str, str], _Nick] = Recent(_MEMBERS)
        self._rooms = self.lookup("channel", self._fetch_channel, patience_s=room_patience_s)
        self._nicks = self.lookup("member", self._fetch_member)
        self.rosters = False  # whether the members intent was granted

    # ── What events tell ────────────────────────────────────────────────────────────────

    def learn_guild(self, guild: WireGuild) -> None:
        self._guild_names[guild.id] = guild.name or guild.id
        self._roles[guild.id] = {role.id: role for role in guild.roles}
        for channel in (*guild.channels, *guild.threads):
            self.learn_channel(channel, guild.id)

    async def learn_members(self, guild: WireGuild) -> None:
        """Take in who is there, a few at a time: each costs 0.02 ms."""
        for start in range(0, len(guild.members), _AT_ONCE):
            for told in guild.members[start : start + _AT_ONCE]:
                try:
                    self.learn_member(guild.id, WireMember.model_validate(told))
                except ValidationError:
                    continue
            await asyncio.sleep(0)

    def learn_channel(self, channel: WireChannel, guild: str | None = None) -> None:
        known = channel
        if channel.guild_id is None and guild is not None:
            known = channel.model_copy(update={"guild_id": guild})
        self._channels[channel.id] = known
        self._rooms.learn(channel.id, known)

    def forget_channel(self, channel: str) -> None:
        self._channels.pop(channel, None)
        self._rooms.forget(channel)

    def learn_role(self, change: WireRoleChange) -> None:
        self._roles.setdefault(change.guild_id, {})[change.role.id] = change.role

    def learn_member(self, guild: str, member: WireMember | WireMemberChange) -> None:
        if member.user is not None:
            shown = person(member.user, WireMember(nick=member.nick, roles=member.roles))
            self._members[guild, shown.id] = _Nick(shown.name, tuple(member.roles))

    # ── Rooms ───────────────────────────────────────────────────────────────────────────

    def known(self, channel: str) -> WireChannel | None:
        return self._channels.get(channel)

    def is_thread(self, channel: str) -> bool:
        found = self._channels.get(channel)
        return found is not None and found.type in THREADS

    def room_id(self, channel: str) -> str:
        """The channel itself, or that of a known thread."""
        found = self._channels.get(channel)
        return found.parent_id if found and found.type in THREADS and found.parent_id else channel

    async def channel(self, channel: str) -> WireChannel | None:
        return await self._rooms.get(channel)

    async def place(
        self, where: Channel, channel_type: int | None = None
    ) -> tuple[Room, str | None]:
        """The room of an event, and its thread's id if it happened in one."""
        channel, guild = where.id, where.guild
        found = self.known(channel)
        if found is None and guild is None and channel_type == _DM:
            found = WireChannel(id=channel, type=_DM)
            self.learn_channel(found)
        found = found or await self.channel(channel)
        if found is None:
            kind: RoomKind = "dm" if guild is None else "room"
            return Room(f"{SOURCE}:{channel}", channel, kind), None
        if found.type in THREADS and found.parent_id:
            parent = self.known(found.parent_id) or await self.channel(found.parent_id)
            name = parent.name if parent and parent.name else found.parent_id
            return Room(f"{SOURCE}:{found.parent_id}", name, "room"), channel
        kind = {_DM: "dm", _GROUP_DM: "gdm"}.get(found.type, "room")  # type: ignore[assignment]
        return Room(f"{SOURCE}:{channel}", found.name or channel, kind), None

    async def _fetch_channel(self, channel: str) -> WireChannel:
        answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=channel)
        try:
            found = WireChannel.model_validate(answer)
        except ValidationError as error:
            raise PlatformError("a channel that can't be read", outcome="refused") from error
        self._channels[channel] = found
        return found

    # ── People ──────────────────────────────────────────────────────────────────────────

    async def speaker(self, by: Person, guild: str | None) -> Speaker:
        """Somebody, by the name and the role that they have in the guild."""
        if guild is None:
            return speaker(by)
        if by.roles is None:  # the event doesn't tell
            nick = self._members.get((guild, by.id)) or await self._nick(by, guild)
        else:
            name = by.name or (await self._nick(by, guild)).name
            nick = _Nick(name, by.roles)
            self._members[guild, by.id] = nick
        return speaker(by, nick.name, self._top_role(guild, nick.roles))

    async def _nick(self, by: Person, guild: str) -> _Nick:
        if by.is_bot and by.name:  # a webhook is nobody's account
            return _Nick(by.name, ())
        return await self._nicks.get((guild, by.id)) or _Nick(by.name, ())

    async def _fetch_member(self, key: tuple[str, str]) -> _Nick:
        guild, user = key
        answer = await self._api.call(
            "GET", "/guilds/{guild_id}/members/{user_id}", guild_id=guild, user_id=user
        )
        try:
            member = WireMember.model_validate(answer)
        except ValidationError as error:
            raise PlatformError("a member that can't be read", outcome="refused") from error
        name = person(member.user, member).name if member.user else member.nick or ""
        nick = _Nick(name, tuple(member.roles))
        self._members[guild, user] = nick
        return nick

    def _top_role(self, guild: str, role_ids: tuple[str, ...]) -> str | None:
        """The name of the highest role but @everyone, whose id is the guild's."""
        known = self._roles.get(guild, {})
        mine = [known[r] for r in role_ids if r in known and r != guild]
        top = max(mine, key=lambda role: (role.position, -int(role.id)), default=None)
        return top.name or None if top else None

    def own_roles(self, guild: str | None) -> frozenset[str]:
        """The role that Discord made for this bot: to mention it is to mention us."""
        roles = self._roles.get(guild or "", {}).values()
        return frozenset(r.id for r in roles if (r.tags or {}).get("bot_id") == self.own_id)

    # ── Rosters ─────────────────────────────────────────────────────────────────────────

    async def members(self, channel: str, most: int) -> list[Speaker]:
        """The people who may read the channel, this bot left out; empty where Discord doesn't tell.

        Only with the members intent, and where everybody in the guild may read: whom a private
        channel admits isn't worth a mistake.
        """
        found = self.known(channel)
        if found is None or not found.guild_id or not self.rosters or self._private(found):
            return []
        guild = found.guild_id
        answer = await self._api.call(
            "GET",
            "/guilds/{guild_id}/members",
            query={"limit": min(most + 1, 10 * PAGE)},
            guild_id=guild,
        )
        people = []
        for entry in answer if isinstance(answer, list) else []:
            try:
                member = WireMember.model_validate(entry)
            except ValidationError:
                continue
            if member.user and member.user.id != self.own_id:
                people.append(await self.speaker(person(member.user, member), guild))
        return people[:most]

    def _private(self, channel: WireChannel) -> bool:
        guild = channel.guild_id or ""
        everyone = self._roles.get(guild, {}).get(guild)
        if everyone is None or not int(everyone.permissions or 0) & VIEW_CHANNEL:
            return True
        mine = (o for o in channel.overwrites if o.id == guild)
        return any(int(o.deny or 0) & VIEW_CHANNEL for o in mine)


def learn(
    directory: Directory, name: str, data: Mapping[str, Any]
) -> WireGuild | WireChannel | None:
    """Take in an event; return a guild or a channel that is there now.

    Raises ValueError on an event that Discord doesn't write.
    """
    try:
        return _learned(directory, name, data)
    except ValidationError as error:
        raise ValueError(f"{name} can't be read: {faulty_fields(error)}") from None


def _learned(
    directory: Directory, name: str, data: Mapping[str, Any]
) -> WireGuild | WireChannel | None:
    if name in ("GUILD_CREATE", "GUILD_UPDATE"):
        guild = WireGuild.model_validate(data)
        if guild.unavailable or name == "GUILD_UPDATE":  # an update tells no channels
            return None
        directory.learn_guild(guild)
        return guild
    if name in _CHANNEL_EVENTS:
        channel = WireChannel.model_validate(data)
        directory.learn_channel(channel)
        return channel
    if name == "THREAD_LIST_SYNC":
        listed = WireThreadList.model_validate(data)
        for thread in listed.threads:
            directory.learn_channel(thread, listed.guild_id)
    elif name in _GONE_EVENTS:
        directory.forget_channel(str(data.get("id")))
    elif name in _ROLE_EVENTS:
        directory.learn_role(WireRoleChange.model_validate(data))
    elif name in _MEMBER_EVENTS:
        change = WireMemberChange.model_validate(data)
        directory.learn_member(change.guild_id, change)
    return None
