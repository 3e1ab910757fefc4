"""The names of a Slack workspace: looked up once, and never waited for long."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bots.kit.directory import SHOWN, LookupDirectory, thread_block
from bots.slack.api import NO_METHOD, SlackApi, SlackRefused
from bots.slack.events import SOURCE, Account, Channel, is_note, speaker
from bots.slack.text import typed
from contract.chat import Room, RoomKind, Speaker
from contract.values import dataclass

# A thread longer than this isn't read to its end for a summary of its newest messages.
_THREAD_PAGES, _THREAD_PAGE = 5, 200

_ROLE = 64  # as much as a label may have
# What users.conversations calls the kinds of rooms, and the scope for each.
_TYPES = {
    "public_channel": "channels:read",
    "private_channel": "groups:read",
    "mpim": "mpim:read",
    "im": "im:read",
}


@dataclass(frozen=True, slots=True)
class _Thread:
    """The end of a thread's summary: before the message `until`."""

    channel: str
    ts: str
    until: str

    def __str__(self) -> str:
        return f"{self.channel}/{self.ts}"


class Directory(LookupDirectory):
    """Names of people and rooms, and summaries of threads."""

    def __init__(self, api: SlackApi, *, now: Callable[[], float], patience_s: float = 1.0) -> None:
        super().__init__(now=now, patience_s=patience_s)
        self._api = api
        self.own = Account("", "")
        self._kinds: dict[str, RoomKind] = {}
        self._people = self.lookup("user", self._fetch_person)
        self._channels = self.lookup("channel", self._fetch_channel)
        self._threads = self.lookup("thread", self._fetch_thread, entries=256)

    def introduce(self, own: Account) -> None:
        """The bot's own account."""
        self.own = own
        name = own.name or own.user_id
        self._people.learn(own.user_id, speaker(own.user_id, name, is_bot=True))

    # ── People ──────────────────────────────────────────────────────────────────────────

    async def speaker(
        self, external_id: str, *, is_bot: bool = False, name: str | None = None
    ) -> Speaker:
        """Somebody by id. name: what the event itself says, for bots without an account."""
        if name or not external_id.startswith(("U", "W")):
            return speaker(external_id, name or external_id, is_bot=True if name else is_bot)
        person = await self._people.get(external_id)
        if person is None:
            return speaker(external_id, external_id, is_bot=is_bot)
        return replace(person, kind="bot", mention=None) if is_bot else person

    async def _fetch_person(self, user_id: str) -> Speaker:
        user = (await self._api.call("users.info", user=user_id)).get("user") or {}
        profile = user.get("profile") or {}
        names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"))
        name = next((n for n in (*names, user.get("name")) if n and n.strip()), user_id)
        is_bot = bool(user.get("is_bot")) or user_id == "USLACKBOT"
        return replace(speaker(user_id, name, is_bot=is_bot), role=None if is_bot else _role(user))

    # ── Rooms ───────────────────────────────────────────────────────────────────────────

    async def room(self, where: Channel) -> Room:
        """The room of an event. A direct message has no name of its own."""
        channel = where.id
        if where.kind is not None:
            self._kinds[channel] = where.kind
        kind = self._kinds.get(channel)
        if kind == "dm":
            return Room(f"{SOURCE}:{channel}", channel, "dm")
        found = await self._channels.get(channel)
        if found is None:
            return Room(f"{SOURCE}:{channel}", channel, kind or self._guessed(channel))
        return found if kind in (None, found.kind) else replace(found, kind=kind)

    def knows(self, where: Channel) -> bool:
        """True for a room that need not be asked for."""
        return "dm" in (where.kind, self._kinds.get(where.id)) or bool(
            self._channels.known(where.id)
        )

    def forget_room(self, channel: str) -> None:
        self._channels.forget(channel)

    @staticmethod
    def _guessed(channel: str) -> RoomKind:
        """C is a channel; G was a private channel or a group DM, and the closed one is safe."""
        return "room" if channel.startswith("C") else "gdm"

    async def _fetch_channel(self, channel: str) -> Room:
        answer = await self._api.call("conversations.info", channel=channel)
        told = answer.get("channel") or {}
        return _room(channel, told, _kind(told))

    async def joined(self, *types: str) -> Mapping[str, RoomKind]:
        """The rooms that the bot is in, of these types or all; none of those it may not list."""
        asked = [name for name in types or _TYPES if self.own.may(_TYPES[name])]
        if not asked:
            return {}
        args = {"types": ",".join(asked), "exclude_archived": True, "limit": 200}
        try:
            return await self._listed("users.conversations", args)
        except SlackRefused as error:
            if error.code not in NO_METHOD:
                raise
        # A server that is like Slack's may know this older method only.
        return await self._listed("conversations.list", args)

    async def _listed(self, method: str, args: Mapping[str, Any]) -> Mapping[str, RoomKind]:
        kinds: dict[str, RoomKind] = {}
        async for entry in self._api.pages(method, "channels", pages=100, **args):
            if entry.get("id") and entry.get("is_member") is not False:
                channel = str(entry["id"])
                self._kinds[channel] = kinds[channel] = kind = _kind(entry)
                self._channels.learn(channel, _room(channel, entry, kind))
        return kinds

    async def members(self, channel: str, most: int) -> list[Speaker]:
        """The people in the room without this bot, at most so many."""
        ids: list[str] = []
        found = self._api.pages(
            "conversations.members", "members", pages=100, channel=channel, limit=200
        )
        async for user_id in found:
            if user_id != self.own.user_id:
                ids.append(str(user_id))
            if len(ids) >= most:
                break
        await found.aclose()
        return list(await asyncio.gather(*(self.speaker(user_id) for user_id in ids)))

    # ── Threads ─────────────────────────────────────────────────────────────────────────

    async def thread_context(self, channel: str, ts: str, until: str) -> str | None:
        """The block of the thread's messages before `until`, or None; the same for one `until`."""
        return await self._threads.get(_Thread(channel, ts, until)) or None

    async def _fetch_thread(self, thread: _Thread) -> str:
        newest: deque[tuple[str, bool, str | None, str]] = deque(maxlen=SHOWN)
        found = self._api.pages(
            "conversations.replies",
            "messages",
            pages=_THREAD_PAGES,
            channel=thread.channel,
            ts=thread.ts,
            latest=thread.until,
            inclusive=False,
            limit=_THREAD_PAGE,
        )
        async for message in found:
            who = message.get("user") or message.get("bot_id")
            before = float(message.get("ts") or "inf") < float(thread.until)
            if who and before and not is_note(message):
                is_bot = bool(message.get("bot_id"))
                name = message.get("username") if is_bot else None
                newest.append((who, is_bot, name, typed(message.get("text") or "")))
        people = (self.speaker(who, is_bot=bot, name=name) for who, bot, name, _ in newest)
        speakers = await asyncio.gather(*people)
        lines = zip(speakers, (text for *_, text in newest), strict=True)
        return thread_block(list(lines)) or ""


def _kind(told: Mapping[str, Any]) -> RoomKind:
    return "dm" if told.get("is_im") else "gdm" if told.get("is_mpim") else "room"


def _room(channel: str, told: Mapping[str, Any], kind: RoomKind) -> Room:
    return Room(f"{SOURCE}:{channel}", str(told.get("name") or channel), kind)


def _role(user: Mapping[str, Any]) -> str | None:
    """A person's title; else what they are in the workspace, if it is more than a member."""
    title = " ".join(str((user.get("profile") or {}).get("title") or "").split())
    if user.get("is_owner"):
        return title[:_ROLE] or "workspace owner"
    return title[:_ROLE] or ("workspace admin" if user.get("is_admin") else None)
