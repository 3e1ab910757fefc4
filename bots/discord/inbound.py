"""What the gateway of Discord tells, as events of the contract, each channel's in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Unpack

import structlog
from pydantic import ValidationError

from bots.bot import Receive
from bots.discord.api import DiscordApi
from bots.discord.backfill import Backfill, Cursors
from bots.discord.commands import acknowledge, in_order
from bots.discord.directory import Directory, learn
from bots.discord.events import (
    SOURCE,
    ButtonPress,
    CommandUse,
    DeletedMessage,
    MessageUpdate,
    NewMessage,
    OwnMessage,
    PinChange,
    PlatformEvent,
    UnknownInteraction,
    UpdateTracker,
    heard,
    moment,
    said,
)
from bots.discord.files import Files
from bots.discord.posts import Posts
from bots.discord.threads import ThreadContext
from bots.discord.wire import WireChannel, WireGuild
from bots.kit.inbound import MessageContext, message
from bots.kit.lanes import Lanes
from bots.kit.slash import SlashCommand
from contract.chat import Chosen, Deleted, Edited, Event, Inbound, Pinned, Room, Speaker
from contract.errors import Rejected

log = structlog.stdlib.get_logger("moot.bots")


_GUILDS_S = 3.0  # for the guilds to be told after READY; what none told of is read then
_PIN_S = 1.0  # for the message that says who pinned


def addressed(message: NewMessage, room: Room, own_roles: Collection[str]) -> bool:
    """By a mention, a reply, a mention of our own role, or in a direct message."""
    return message.mentioned or room.kind == "dm" or bool(set(message.role_ids) & set(own_roles))


def inbound(
    said: NewMessage,
    room: Room,
    by: Speaker,
    thread_id: str | None = None,
    **found: Unpack[MessageContext],
) -> Inbound:
    """The message with everything that was looked up for it."""
    return message(
        SOURCE,
        room,
        by,
        content=said.content,
        message_id=said.id,
        sent_at=said.at,
        thread_id=thread_id,
        reply_to=said.reply_to,
        **found,
    )


@dataclass(frozen=True, slots=True)
class EventContext:
    """What a message is completed from."""

    api: DiscordApi
    directory: Directory
    threads: ThreadContext
    files: Files
    posts: Posts
    notes: UpdateTracker


class EventHandler:
    """One run of the bot: from the first event to the last.

    recipient_id: of the one persona that the account serves, or None.
    """

    def __init__(
        self,
        bot: str,
        around: EventContext,
        cursors: Cursors,
        receive: Receive,
        *,
        recipient_id: str | None,
        require_mention: bool,
        commands: Sequence[SlashCommand] = (),
    ) -> None:
        self._bot, self._around, self._receive = bot, around, receive
        self._recipient_id, self._require_mention = recipient_id, require_mention
        self._api, self._directory = around.api, around.directory
        self._options = {one.name: [option.name for option in one.options] for one in commands}
        self._lanes = Lanes("discord")
        self._reader = Backfill(
            around.api, cursors, self._lanes, self._read_back, around.directory.room_id
        )
        self._waits: set[asyncio.Task[None]] = set()

    async def until_failed(self, listening: asyncio.Task[None]) -> None:
        """Wait until the connection is refused, or something can't be taken; raise why."""
        failed = self._lanes.failed
        try:
            await asyncio.wait({listening, failed}, return_when=asyncio.FIRST_COMPLETED)
            if failed.done():
                failed.result()
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def close(self) -> None:
        """Take no more; what is being taken comes to its end."""
        for task in list(self._waits):
            task.cancel()
        await self._lanes.close()

    # ── In their order ──────────────────────────────────────────────────────────────────

    def hear(self, name: str, data: Mapping[str, Any]) -> None:
        """Take one event of the gateway."""
        if name == "READY":
            log.info("bot.connected", bot=self._bot)
            self._reader.begin()
            self._later(_GUILDS_S, self._reader.rest)
            return
        if name == "RESUMED":
            log.info("bot.resumed", bot=self._bot)
            return
        try:
            told = learn(self._directory, name, data)
            found = heard(name, data, self._directory.own_id)
        except ValueError as error:
            log.warning("event.unreadable", bot=self._bot, reason=error)
            return
        if isinstance(told, WireGuild):
            self._reader.arrived(told)
            guild = told  # as a value of its own: the next event is another one
            self._lanes.put(f"members {guild.id}", lambda: self._directory.learn_members(guild))
        elif isinstance(told, WireChannel):
            self._reader.appeared(told, told.guild_id)
        self._put(name, data, found)

    def _put(self, name: str, data: Mapping[str, Any], found: PlatformEvent | None) -> None:
        if name == "MESSAGE_CREATE":
            self._in_room(str(data["channel_id"]), lambda: self._take_message(found, data))
        elif isinstance(found, ButtonPress | CommandUse | UnknownInteraction):
            self._lanes.put(f"interaction {found.interaction}", lambda: self._interact(found))
        elif found is not None and not isinstance(found, OwnMessage):
            self._in_room(found.channel, lambda: self._take(found))

    def _in_room(self, channel: str, work: Callable[[], Awaitable[None]]) -> None:
        self._lanes.put(self._directory.room_id(channel), work)

    def _later(self, wait_s: float, work: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(wait_s)
            work()

        task = asyncio.create_task(wait(), name=f"discord later {self._bot}")
        self._waits.add(task)
        task.add_done_callback(self._waits.discard)

    # ── One by one ──────────────────────────────────────────────────────────────────────

    async def _take_message(self, found: PlatformEvent | None, data: Mapping[str, Any]) -> None:
        if found is not None:
            await self._take(found)
        guild = data.get("guild_id")
        where = str(data["channel_id"]), str(data["id"]), str(guild) if guild else None
        self._reader.taken(*where)

    async def _read_back(self, data: Mapping[str, Any]) -> None:
        """Take a message of the history."""
        try:
            found = said(data, self._directory.own_id)
        except ValidationError as error:
            log.warning("message.unreadable", faults=error.error_count())
            return
        if found is not None:
            await self._take(found)

    async def _take(self, found: PlatformEvent) -> None:
        """Hand one on; return when it is on disk."""
        for event in await self._events(found):
            await self._give(event)

    async def _give(self, event: Event) -> None:
        try:
            await self._receive(event)
        except Rejected as error:
            log.warning("event.skipped", bot=self._bot, reason=f"it is left out: {error}")

    async def _events(self, found: PlatformEvent) -> Sequence[Event]:
        match found:
            case NewMessage():
                return [await self._inbound(found)]
            case OwnMessage():
                self._around.posts.echoed(found.channel, found.id, found.nonce)
            case DeletedMessage():
                room, _ = await self._directory.place(found.channel, found.guild)
                return [Deleted(room, message) for message in found.ids]
            case MessageUpdate():
                return await self._updated(found)
            case PinChange():
                return [await self._pinned(found)] if self._around.notes.pinned(found) else []
        return []

    async def _updated(self, update: MessageUpdate) -> Sequence[Event]:
        notes = self._around.notes
        if self._around.posts.made(update.id):
            update = replace(update, content=None)
        if notes.edited(update):
            room, _ = await self._directory.place(update.channel, update.guild)
            at = update.edited_at or moment(None, update.id)
            return [Edited(room, update.id, update.content or "", at)]
        if notes.pin_of(update) is not None:
            self._later(_PIN_S, lambda: self._pin_of(update))
        return []

    def _pin_of(self, update: MessageUpdate) -> None:
        """The pin of an update, where nothing has said since then who pinned."""
        if (sign := self._around.notes.pin_of(update)) is not None:
            self._in_room(sign.channel, lambda: self._take(sign))

    async def _pinned(self, sign: PinChange) -> Pinned:
        room, _ = await self._directory.place(sign.channel, sign.guild)
        by = await self._directory.speaker(sign.by, sign.guild)
        return Pinned(room, sign.id, by, sign.pinned)

    async def _inbound(self, message: NewMessage) -> Inbound:
        """The message with what has to be looked up for it, and not for long."""
        around = self._around
        room, thread = await self._directory.place(
            message.channel, message.guild, message.channel_type
        )
        mentioned = addressed(message, room, self._directory.own_roles(message.guild))
        if thread is None:
            around.posts.saw(message.id, exists=not message.is_command)
        around.notes.read(message.id, message.content)
        by, attachments, context = await asyncio.gather(
            self._directory.speaker(message.by, message.guild),
            around.files.keep(message.channel, message.files),
            around.threads.context(message, thread) if mentioned else _nothing(),
        )
        return inbound(
            message,
            replace(room, name=by.name) if room.kind == "dm" else room,
            by,
            mentioned=mentioned,
            thread_id=thread,
            attachments=attachments,
            thread_context=context,
            recipient_id=self._recipient_id,
            require_mention=self._require_mention,
        )

    # ── Buttons and commands ────────────────────────────────────────────────────────────

    async def _interact(self, found: ButtonPress | CommandUse | UnknownInteraction) -> None:
        """Acknowledge at once (Discord waits three seconds), and hand it on."""
        if isinstance(found, CommandUse):
            found = replace(found, given=in_order(found.given, self._options.get(found.name, ())))
        text = f"`{found.text}`" if isinstance(found, CommandUse) else ""
        telling = asyncio.create_task(
            acknowledge(self._api, found.interaction, found.token, text),
            name=f"discord acknowledge {self._bot}",
        )
        if isinstance(found, CommandUse):
            self._around.posts.commanded(found.interaction, found.token, telling)
        await asyncio.gather(telling, self._interacted(found))

    async def _interacted(self, found: ButtonPress | CommandUse | UnknownInteraction) -> None:
        if isinstance(found, ButtonPress):
            by = await self._directory.speaker(found.by, found.guild)
            await self._give(Chosen(found.question_id, found.option, by))
        elif isinstance(found, CommandUse):
            await self._give(await self._inbound(found.said()))


async def _nothing() -> None:
    """What was said before a message that isn't for us is not read."""
