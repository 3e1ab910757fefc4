"""Reads the history of the channels: what a bot missed since its cursors, and a thread's context.

A resumed session brings by itself what was missed; a new one begins with nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import structlog
from pydantic import ValidationError

from bots.discord.api import ARCHIVES, DiscordApi, DiscordRefused
from bots.discord.cursors import Cursors
from bots.discord.directory import HAVE_THREADS, TEXT, THREADS, Directory
from bots.discord.events import NewMessage, moment, person
from bots.discord.wire import WireChannel, WireGuild, WireMessage
from bots.kit.directory import SHOWN, thread_block
from bots.kit.lanes import Lanes
from bots.kit.recent import Lookup
from bots.kit.retry import PatientCalls
from contract.chat import SLASH, Speaker
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")


Take = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Takes one message of the history; returns when it is on disk."""

_TRIES, _LONGEST_WAIT_S = 6, 30.0  # then the bot's supervisor has it

_BEGINNING = 21  # the first message in a thread's history: it quotes the one that it began under
_PATIENCE_S = 2.0


class Backfill:
    """directory: a channel's room; what happens in a room is taken in its order."""

    def __init__(
        self,
        api: DiscordApi,
        cursors: Cursors,
        lanes: Lanes,
        take: Take,
        directory: Directory,
    ) -> None:
        self._api, self._cursors, self._lanes, self._take = api, cursors, lanes, take
        self._room_id, self._learn = directory.room_id, directory.learn_channel
        self._calls = PatientCalls(tries=_TRIES, longest_s=_LONGEST_WAIT_S, now=time.time)
        self._behind: dict[str, str] = {}  # channels not yet caught up, and after what to read

    def heard(self, channel: str, message: str, guild: str | None) -> None:
        """A message is told, and not yet taken: in a channel of which nothing was known it is read
        from there, whatever comes of it."""
        if channel not in self._behind and self._cursors.last(channel) is None:
            self._cursors.advance(channel, str(int(message) - 1), guild)

    def taken(self, channel: str, message: str, guild: str | None) -> None:
        """A message from an event was taken; while older ones are missing the cursor stays."""
        if channel not in self._behind:
            self._cursors.advance(channel, message, guild)

    def begin(self) -> None:
        """A new session: all channels may be behind. Those without a guild are read at once."""
        known = self._cursors.channels()
        self._behind = {channel: cursor.last for channel, cursor in known.items()}
        for channel, cursor in known.items():
            if cursor.guild is None:
                self._catch_up(channel, None)

    def rest(self) -> None:
        """Read what no guild has told of."""
        known = self._cursors.channels()
        for channel in list(self._behind):
            self._catch_up(channel, known[channel].guild if channel in known else None)

    def arrived(self, guild: WireGuild) -> None:
        """A guild was told, with its channels and how far each of them is."""
        floor = self._cursors.newest(guild.id)
        for channel in (*guild.channels, *guild.threads):
            if channel.type in TEXT | THREADS:
                self._look_at(channel, guild.id, floor)
        if floor is not None:
            parents = [channel.id for channel in guild.channels if channel.type in HAVE_THREADS]
            since = self._cursors.unarchive(guild.id, floor)
            look = partial(self._unarchive, guild.id, parents, since)
            self._lanes.put(f"archive {guild.id}", look)

    async def _unarchive(self, guild: str, parents: Sequence[str], floor: str) -> None:
        """Read the threads that were begun and archived meanwhile: no guild tells of them."""
        for parent in parents:
            for kind in ARCHIVES:
                try:
                    found = await self._calls.answered(
                        partial(self._api.archived, kind, parent, moment(None, floor))
                    )
                except DiscordRefused as error:
                    log.info("history.unreadable", channel=parent, reason=error)
                    continue
                for thread in found:
                    self._read_thread(thread, guild, floor)
        self._cursors.unarchived(guild)

    def _read_thread(self, thread: WireChannel, guild: str, floor: str) -> None:
        """Read a thread that is new to us, if something was said in it after `floor`."""
        if thread.type not in THREADS or self._cursors.last(thread.id) is not None:
            return
        self._learn(thread, guild)
        self._cursors.advance(thread.id, floor, guild)
        if int(thread.last_message_id or 0) > int(floor):
            self._behind[thread.id] = floor
            self._catch_up(thread.id, guild)

    def appeared(self, channel: WireChannel, guild: str | None) -> None:
        """A channel or thread is new; what was said in a thread before we heard of it counts: who
        mentions a bot in a private one lets it in."""
        floor = self._cursors.newest(guild or "")
        if guild is not None and floor is not None and channel.type in THREADS:
            self._read_thread(channel, guild, floor)
        elif channel.type in TEXT | THREADS and self._cursors.last(channel.id) is None:
            self._cursors.advance(channel.id, floor or "0", guild)

    def _look_at(self, channel: WireChannel, guild: str, floor: str | None) -> None:
        if self._cursors.last(channel.id) is None:
            if floor is None:  # our first time here: what was said before is none of our business
                self._begin_at_newest(channel, guild)
                return
            self._cursors.advance(channel.id, floor, guild)
            self._behind[channel.id] = floor
        if channel.id not in self._behind:
            return
        if channel.last_message_id == self._behind[channel.id]:
            del self._behind[channel.id]  # nothing was said
        else:
            self._catch_up(channel.id, guild)

    def _begin_at_newest(self, channel: WireChannel, guild: str) -> None:
        if channel.tells_newest:
            self._cursors.advance(channel.id, channel.last_message_id or "0", guild)
            return

        async def ask() -> None:
            try:
                found = await self._api.call(
                    "GET",
                    "/channels/{channel_id}/messages",
                    query={"limit": 1},
                    channel_id=channel.id,
                )
            except PlatformError as error:
                log.info("history.none", channel=channel.id, reason=error)
                return
            newest = found[0].get("id") if isinstance(found, list) and found else "0"
            self._cursors.advance(channel.id, str(newest), guild)

        self._lanes.put(self._room_id(channel.id), ask)

    def _catch_up(self, channel: str, guild: str | None) -> None:
        self._lanes.put(self._room_id(channel), lambda: self._read(channel, guild))

    async def _read(self, channel: str, guild: str | None) -> None:
        wait_s = 1.0
        for tries in range(_TRIES):
            if channel not in self._behind:
                return
            try:
                await self._read_on(channel, guild)
                self._behind.pop(channel, None)
                return
            except DiscordRefused as error:
                log.info("history.unreadable", channel=channel, reason=error)
                if error.status == 404:
                    self._cursors.forget(channel)
                self._behind.pop(channel, None)
                return
            except PlatformError as error:
                if tries == _TRIES - 1:
                    raise
                retry_s = error.retry_after_s if error.outcome == "retry" else wait_s
                log.warning("history.retry", channel=channel, in_s=round(retry_s, 1), reason=error)
                await asyncio.sleep(min(retry_s, _LONGEST_WAIT_S))
                wait_s *= 2

    async def _read_on(self, channel: str, guild: str | None) -> None:
        count = 0
        async for message in self._api.messages(channel, self._behind[channel]):
            told = {**message, "channel_id": channel}
            if guild is not None:
                told["guild_id"] = guild
            await self._take(told)
            self._behind[channel] = str(message["id"])
            self._cursors.advance(channel, str(message["id"]), guild)
            count += 1
        if count:
            log.info("history.read", channel=channel, messages=count)


@dataclass(frozen=True, slots=True)
class _EarlierMessages:
    """The messages before `until`. quoted: begins a chain of replies."""

    channel: str
    guild: str | None
    until: str
    quoted: WireMessage | None = field(default=None, compare=False, repr=False)  # no log shows it


class ThreadContext:
    def __init__(
        self,
        api: DiscordApi,
        directory: Directory,
        *,
        now: Callable[[], float],
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._api, self._directory = api, directory
        self._found = Lookup("thread", self._fetch, now=now, patience_s=patience_s, entries=256)

    async def close(self) -> None:
        await self._found.close()

    async def context(self, said: NewMessage, thread: str | None) -> str | None:
        """The block of the messages before this one, or None."""
        if thread is None and said.reply_to is None:
            return None
        quoted = None
        if thread is None or (said.is_command and said.reply_to):
            quoted = said.quoted or WireMessage(id=said.reply_to or "0", channel_id=said.room.id)
        until = said.id.removeprefix(SLASH)
        return (
            await self._found.get(_EarlierMessages(said.room.id, said.room.guild, until, quoted))
            or None
        )

    async def _fetch(self, before: _EarlierMessages) -> str:
        if before.quoted is None:
            messages = await self._history(before)
        else:
            messages = await self._chain(before, before.quoted)
        lines: list[tuple[Speaker, str]] = []
        for message in messages:
            if message.author and message.content:
                bot = bool(message.author.bot) or message.webhook_id is not None
                by = person(message.author, message.member, is_bot=bot)
                lines.append((await self._directory.speaker(by, before.guild), message.content))
        return thread_block(lines) or ""

    async def _history(self, before: _EarlierMessages) -> list[WireMessage]:
        """The newest of a thread, oldest first."""
        found = await self._api.call(
            "GET",
            "/channels/{channel_id}/messages",
            query={"before": before.until, "limit": SHOWN},
            channel_id=before.channel,
        )
        messages = []
        for entry in found if isinstance(found, list) else []:
            message = _read(entry)
            if message and message.type == _BEGINNING:
                message = message.referenced_message
            if message and int(message.id) < int(before.until):
                messages.append(message)
        return sorted(messages, key=lambda m: int(m.id))[-SHOWN:]

    async def _chain(self, before: _EarlierMessages, quoted: WireMessage) -> list[WireMessage]:
        """The message that was replied to, and the one that it replied to, oldest first."""
        chain: list[WireMessage] = []
        here: WireMessage | None = quoted
        while here is not None and len(chain) < SHOWN:
            if here.author is None:
                here = await self._message(before.channel, here.id)
                if here is None:
                    break
            chain.insert(0, here)
            reference = here.message_reference
            above = reference.message_id if reference else None
            here = here.referenced_message or (
                WireMessage(id=above, channel_id=before.channel) if above else None
            )
        return chain

    async def _message(self, channel: str, message: str) -> WireMessage | None:
        try:
            found = await self._api.call(
                "GET",
                "/channels/{channel_id}/messages/{message_id}",
                channel_id=channel,
                message_id=message,
            )
        except DiscordRefused:
            return None
        except PlatformError:
            return None  # what was read until here is better than nothing
        return _read(found)


def _read(entry: object) -> WireMessage | None:
    try:
        return WireMessage.model_validate(entry)
    except ValidationError:
        return None
