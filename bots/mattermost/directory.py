"""The names of a Mattermost server: looked up once, never waited for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bots.kit.directory import SHOWN, ThreadDirectory, ThreadEnd, thread_block
from bots.kit.wire import demanded, readable
from bots.mattermost.api import MattermostApi, MattermostRefused
from bots.mattermost.events import NOTE, SOURCE, Account, NewMessage, content, millis, speaker
from bots.mattermost.wire import WireChannel, WirePost, WireUser
from contract.chat import Room, Speaker

_KINDS = {"O": "room", "P": "room", "D": "dm", "G": "gdm"}


class Directory(ThreadDirectory[NewMessage]):
    """Names of people and channels, and summaries of threads."""

    def __init__(
        self, api: MattermostApi, *, now: Callable[[], float], patience_s: float = 1.0
    ) -> None:
        super().__init__(now=now, patience_s=patience_s)
        self._api = api
        self.own = Account("")
        self._people = self.lookup("user", self._fetch_person)
        self._ids = self.lookup("user name", self._fetch_id)
        self._channels = self.lookup("channel", self._fetch_channel)

    def introduce(self, own: Account) -> None:
        """The bot's own account."""
        self.own = own
        self._people.learn(own.user_id, speaker(own.user_id, own.name, own.username, is_bot=True))

    # ── People ──────────────────────────────────────────────────────────────────────────

    async def sender(self, said: NewMessage) -> Speaker:
        if said.is_bot and (said.shown or said.sender_id.startswith("webhook-")):
            return speaker(said.sender_id, said.shown, "", is_bot=True)
        person = await self.person(said.sender_id)
        return replace(person, kind="bot", mention=None) if said.is_bot else person

    async def person(self, user_id: str) -> Speaker:
        """Somebody by id; under the id alone where the server doesn't tell more in time."""
        return await self._people.get(user_id) or speaker(user_id, "", "", is_bot=False)

    async def mentioned(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The ids of those whom a text names; `all` and the like, which call many, as they are."""
        found = await asyncio.gather(*(self._ids.get(name) for name in names))
        return tuple(filter(None, found))

    def forget_person(self, user_id: str) -> None:
        self._people.forget(user_id)

    async def members(self, channel: str, most: int) -> list[Speaker]:
        """The first ones in the channel, this bot left out. Raises PlatformError."""
        listed = await self._api.get("users", in_channel=channel, per_page=most)
        found = readable(WireUser, listed)
        return [_person(user) for user in found if user.id != self.own.user_id]

    async def _fetch_person(self, user_id: str) -> Speaker:
        return _person(await self._user("users", user_id))

    async def _fetch_id(self, name: str) -> str:
        if name in ("all", "channel", "here"):
            return name
        try:
            return (await self._user("users", "username", name)).id
        except MattermostRefused as error:
            if error.status != 404:
                raise
            return ""  # nobody's name

    async def _user(self, *path: str) -> WireUser:
        return demanded(WireUser, await self._api.get(*path), "Mattermost: a user")

    # ── Channels ────────────────────────────────────────────────────────────────────────

    async def room(self, channel: str) -> Room:
        """The room. One of an unknown kind is treated like a direct message, which is closed."""
        told = await self._channels.get(channel) or WireChannel(id=channel)
        name = told.display_name or told.name or channel
        return Room(f"{SOURCE}:{channel}", name, _KINDS.get(told.type, "unknown"))

    async def joined(self) -> list[str]:
        """The account's channels, whose names are learned with them. Raises PlatformError."""
        listed: Any = await self._api.get("users", "me", "channels")
        found = readable(WireChannel, listed)
        for channel in found:
            self._channels.learn(channel.id, channel)
        return [channel.id for channel in found]

    def forget_room(self, channel: str) -> None:
        self._channels.forget(channel)

    async def _fetch_channel(self, channel: str) -> WireChannel:
        told = await self._api.get("channels", channel)
        return demanded(WireChannel, told, "Mattermost: a channel")

    # ── Threads ─────────────────────────────────────────────────────────────────────────

    async def _fetch_thread(self, thread: ThreadEnd[NewMessage]) -> str:
        until = thread.until
        told = await self._api.get(
            "posts",
            thread.id,
            "thread",
            perPage=SHOWN + 5,
            direction="up",
            fromCreateAt=millis(until.at),
            fromPost=until.id,
        )
        earlier = [
            post
            for post in posts_of(told)
            if not post.type.startswith("system_")
            and post.id != until.id
            and post.create_at <= millis(until.at)
            and not post.prop(NOTE)
        ]
        by = await asyncio.gather(*(self._author(post) for post in earlier))
        lines = [(one, content(post)) for one, post in zip(by, earlier, strict=True)]
        return thread_block(lines) or ""

    async def _author(self, post: WirePost) -> Speaker:
        if shown := post.prop("override_username"):
            return speaker(post.user_id, shown, "", is_bot=True)
        return await self.person(post.user_id)


def posts_of(told: Any) -> list[WirePost]:
    """The posts of a list, oldest first; those that can't be read are left out."""
    listed = told.get("posts") if isinstance(told, dict) else None
    found = readable(WirePost, list(listed.values()) if isinstance(listed, dict) else None)
    return sorted(found, key=lambda post: post.create_at)


def _person(user: WireUser) -> Speaker:
    name = user.nickname or f"{user.first_name} {user.last_name}".strip()
    return speaker(user.id, name, user.username, is_bot=user.is_bot)
