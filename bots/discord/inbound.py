"""Discord's events as events of the contract, each room's in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import structlog
from pydantic import ValidationError

from bots.bot import Receive
from bots.discord.api import DiscordApi
from bots.discord.backfill import Backfill, ThreadContext
from bots.discord.cursors import Cursors
from bots.discord.directory import Directory, learn
from bots.discord.events import (
    SOURCE,
    Channel,
    DeletedMessages,
    MessageUpdate,
    NewMessage,
    OwnMessage,
    Person,
    PlatformEvent,
    UpdateTracker,
    moment,
    parse_event,
    parse_message,
)
from bots.discord.files import Files
from bots.discord.interactions import (
    ButtonPress,
    CommandDraft,
    CommandUse,
    Interaction,
    UnknownInteraction,
    parse_interaction,
)
from bots.discord.posts import Posts
from bots.discord.wire import WireChannel, WireGuild
from bots.kit.events import PinChange
from bots.kit.inbound import Delivery, MessageContext, inbound, named_dm
from bots.kit.lanes import Lanes
from bots.kit.platform_bot import BotSetup
from bots.kit.slash import SlashCommand, SlashOption
from contract.chat import SLASH, Chosen, Deleted, Destination, Edited, Event, Inbound, Pinned
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

# Kinds of an answer: a message; the post stays as it is; what an option may be.
_MESSAGE, _NOTHING, _SUGGESTIONS = 4, 6, 8
_MOST_SUGGESTIONS, _LONGEST_SUGGESTION = 25, 100
_EPHEMERAL = 1 << 6
_ACK_S = 3.0

_GUILDS_S = 3.0  # for the guilds to be told after READY; what none told of is read then
_PIN_S = 1.0  # for the message that says who pinned


def in_order(given: Sequence[tuple[str, str]], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The options of a command that was run, as the command has them: Discord tells them as they
    were filled in."""
    place = {name: number for number, name in enumerate(names)}
    return tuple(sorted(given, key=lambda option: place.get(option[0], len(place))))


def taken(text: str = "") -> dict[str, Any]:
    """The answer that an interaction was taken. text: shown to who ran it, to nobody else."""
    if not text:
        return {"type": _NOTHING}
    data = {"content": text[:2_000], "flags": _EPHEMERAL, "allowed_mentions": {"parse": []}}
    return {"type": _MESSAGE, "data": data}


def suggested(values: Sequence[str], typed: str) -> dict[str, Any]:
    """The answer with what an option may be: those that hold what is typed, first those that begin
    with it."""
    wanted = typed.strip().casefold()
    fitting = [v for v in values if wanted in v.casefold() and len(v) <= _LONGEST_SUGGESTION]
    fitting.sort(key=lambda value: not value.casefold().startswith(wanted))
    choices = [{"name": value, "value": value} for value in fitting[:_MOST_SUGGESTIONS]]
    return {"type": _SUGGESTIONS, "data": {"choices": choices}}


async def acknowledge(
    api: DiscordApi, interaction: str, token: str, body: Mapping[str, Any]
) -> None:
    """Answer an interaction. body: see `taken` and `suggested`."""
    try:
        await api.call(
            "POST",
            "/interactions/{interaction_id}/{interaction_token}/callback",
            body=body,
            timeout_s=_ACK_S,
            interaction_id=interaction,
            interaction_token=token,
        )
    except PlatformError as error:
        log.info("interaction.not_acknowledged", reason=error)


@dataclass(frozen=True, slots=True)
class EventContext:
    """The sources from which a message is completed."""

    api: DiscordApi
    directory: Directory
    threads: ThreadContext
    files: Files
    posts: Posts
    updates: UpdateTracker


class EventHandler:
    """One run of the bot: from the first event to the last."""

    def __init__(
        self,
        setup: BotSetup,
        context: EventContext,
        cursors: Cursors,
        receive: Receive,
        commands: Sequence[SlashCommand] = (),
    ) -> None:
        self._setup, self._bot, self._context = setup, setup.name, context
        self._api, self._directory = context.api, context.directory
        self._commands = {one.name: one for one in commands}
        self._delivery = Delivery(setup.name)
        self._delivery.open(receive)
        self._lanes = Lanes("discord")
        self._backfill = Backfill(
            context.api, cursors, self._lanes, self._read_back, context.directory
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

    def handle(self, name: str, data: Mapping[str, Any]) -> None:
        """Take one event of the gateway."""
        if name == "READY":
            log.info("bot.connected", bot=self._bot)
            self._backfill.begin()
            self._later(_GUILDS_S, self._backfill.rest)
            return
        if name == "RESUMED":
            log.info("bot.resumed", bot=self._bot)
            return
        try:
            if name == "INTERACTION_CREATE":
                self._put_interaction(parse_interaction(data))
                return
            told = learn(self._directory, name, data)
            found = parse_event(name, data, self._directory.own_id)
        except ValueError as error:
            log.warning("event.unreadable", bot=self._bot, reason=error)
            return
        if isinstance(told, WireGuild):
            self._backfill.arrived(told)
            guild = told  # as a value of its own: the next event is another one
            self._lanes.put(f"members {guild.id}", lambda: self._directory.learn_members(guild))
        elif isinstance(told, WireChannel):
            self._backfill.appeared(told, told.guild_id)
        self._put(name, data, found)

    def _put(self, name: str, data: Mapping[str, Any], found: PlatformEvent | None) -> None:
        if name == "MESSAGE_CREATE":
            self._backfill.heard(*_where(data))
            self._in_room(str(data["channel_id"]), lambda: self._take_message(found, data))
        elif found is not None and not isinstance(found, OwnMessage):
            self._in_room(found.room.id, lambda: self._take(found))

    def _put_interaction(self, found: Interaction | None) -> None:
        if found is not None:
            self._lanes.put(f"interaction {found.interaction}", lambda: self._interact(found))

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
        self._backfill.taken(*_where(data))

    async def _read_back(self, data: Mapping[str, Any]) -> None:
        """Take a message of the history."""
        try:
            found = parse_message(data, self._directory.own_id)
        except ValidationError as error:
            log.warning("message.unreadable", faults=error.error_count())
            return
        if found is not None:
            await self._take(found)

    async def _take(self, found: PlatformEvent) -> None:
        """Hand one on; return when it is on disk."""
        for event in await self._events(found):
            await self._delivery.give(event)

    async def _events(self, found: PlatformEvent) -> Sequence[Event]:
        match found:
            case NewMessage():
                return [await self._message(found)]
            case OwnMessage():
                self._context.posts.echoed(found.channel, found.id, found.nonce)
            case DeletedMessages():
                room, _ = await self._directory.place(found.room)
                return [Deleted(room, message) for message in found.ids]
            case MessageUpdate():
                return await self._updated(found)
            case PinChange():
                return [await self._pinned(found)] if self._context.updates.pinned(found) else []
        return []

    async def _updated(self, update: MessageUpdate) -> Sequence[Event]:
        updates = self._context.updates
        if self._context.posts.made(update.id):
            update = replace(update, content=None)
        if updates.edited(update):
            room, _ = await self._directory.place(update.room)
            at = update.edited_at or moment(None, update.id)
            return [Edited(room, update.id, update.content or "", at)]
        if updates.pin_of(update) is not None:
            self._later(_PIN_S, lambda: self._pin_of(update))
        return []

    def _pin_of(self, update: MessageUpdate) -> None:
        """The pin of an update, where nothing has said since then who pinned."""
        if (sign := self._context.updates.pin_of(update)) is not None:
            self._in_room(sign.room.id, lambda: self._take(sign))

    async def _pinned(self, sign: PinChange[Channel, Person]) -> Pinned:
        room, _ = await self._directory.place(sign.room)
        by = await self._directory.speaker(sign.by, sign.room.guild)
        return Pinned(room, sign.id, by, sign.pinned)

    async def _message(self, message: NewMessage) -> Inbound:
        """The message with what has to be looked up for it, and not for long."""
        context, guild = self._context, message.room.guild
        room, thread = await self._directory.place(message.room, message.channel_type)
        own_roles = self._directory.own_roles(guild)
        mentioned = (
            message.mentioned or room.kind == "dm" or not own_roles.isdisjoint(message.role_ids)
        )
        if thread is None:
            context.posts.saw(message.id, exists=not message.is_command)
            context.posts.threads.saw(message)
        context.updates.read(message.id, message.content)
        by, attachments, before = await asyncio.gather(
            self._directory.speaker(message.by, guild),
            context.files.keep(message.room.id, message.files),
            context.threads.context(message, thread)
            if mentioned or message.quotes_us
            else _nothing(),
        )
        found = MessageContext(mentioned, message.at, thread, attachments, before)
        return inbound(self._setup, SOURCE, message, named_dm(room, by), by, found)

    # ── Buttons and commands ────────────────────────────────────────────────────────────

    async def _interact(self, found: Interaction) -> None:
        """Acknowledge at once (Discord waits three seconds), and hand it on."""
        if isinstance(found, CommandDraft):
            await self._suggest(found)
            return
        if isinstance(found, CommandUse):
            names = [option.name for option in self._options(found.name)]
            found = replace(found, given=in_order(found.given, names))
        text = f"`{found.text}`" if isinstance(found, CommandUse) else ""
        telling = asyncio.create_task(
            acknowledge(self._api, found.interaction, found.token, taken(text)),
            name=f"discord acknowledge {self._bot}",
        )
        if not isinstance(found, UnknownInteraction):
            self._context.posts.interacted(found.interaction, found.token, telling)
        if isinstance(found, CommandUse) and found.about is not None:
            self._context.posts.answers_quietly(found.about)
        await asyncio.gather(telling, self._interacted(found))

    def _options(self, command: str) -> Sequence[SlashOption]:
        known = self._commands.get(command)
        return known.options if known else ()

    async def _suggest(self, draft: CommandDraft) -> None:
        """Offer what the option that is being written may be."""
        room, _ = await self._directory.place(draft.room)
        by = await self._directory.speaker(draft.by, draft.room.guild)
        values: list[str] = []
        for option in self._options(draft.name):
            if option.name == draft.option and option.suggest is not None:
                values += option.suggest(named_dm(room, by), by)
        body = suggested(values, draft.typed)
        await acknowledge(self._api, draft.interaction, draft.token, body)

    async def _interacted(self, found: Interaction) -> None:
        if isinstance(found, ButtonPress):
            by = await self._directory.speaker(found.by, found.guild)
            place = None
            if found.room is not None:
                room, thread = await self._directory.place(found.room)
                place = Destination(room, thread, only_for=f"{SLASH}{found.interaction}")
            chosen = Chosen(found.question_id, found.option, by, found.digest, place)
            await self._delivery.give(chosen)
        elif isinstance(found, CommandUse):
            await self._delivery.give(await self._message(found.message()))


def _where(message: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Its channel, its id and its guild."""
    guild = message.get("guild_id")
    return str(message["channel_id"]), str(message["id"]), str(guild) if guild else None


async def _nothing() -> None:
    """Nothing is read of what was said before a message that isn't for us."""
