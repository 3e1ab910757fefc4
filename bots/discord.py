"""Discord: a bot over discord.py, in guilds, threads and direct messages."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from bots.bot import Manners, Mark, Receive
from bots.discord_account import Account, account, intents, missing
from bots.discord_api import OFFICIAL, DiscordApi
from bots.discord_commands import acknowledge, register
from bots.discord_cursors import Cursors
from bots.discord_directory import Directory
from bots.discord_events import (
    SOURCE,
    Commanded,
    Echo,
    Heard,
    PinSign,
    Pressed,
    Removed,
    Said,
    Strange,
    Updated,
    addressed,
    heard,
    inbound,
    moment,
    said,
)
from bots.discord_files import Files
from bots.discord_lanes import Lanes
from bots.discord_pins import Notes
from bots.discord_posts import Posts
from bots.discord_reader import Reader
from bots.discord_signs import Signs
from bots.discord_socket import keep_connected
from bots.discord_state import learn
from bots.discord_text import LIMIT, size, written
from bots.discord_threads import Threads
from bots.discord_wire import WireChannel, WireGuild
from bots.split import split
from contract import (
    Chosen,
    ConfigError,
    Deleted,
    Edited,
    Event,
    Inbound,
    Pinned,
    Place,
    PlatformError,
    Question,
    Rejected,
    Room,
    Speaker,
)

log = logging.getLogger("moot.bots")

_MOST_MEMBERS = 100
_GUILDS_S = 3.0  # for the guilds to be told after READY; what none told of is read then
_PIN_S = 1.0  # for the message that says who pinned


class DiscordBot:
    """One Discord application with its bot account, in all the guilds that invited it.

    own_dir: where the bot keeps how far it has read. commands: slash commands and what they do;
    none: those registered before are taken back. gateway_url: only where the server at `api_url`
    can't tell. rest_s: before a session is begun anew. now: the time in seconds since 1970.
    """

    platform = SOURCE
    # Five edits in five seconds and channel, all answers in it together.
    manners = Manners(draft_interval_s=1.5, max_posts=10, thread_replies=True)

    def __init__(
        self,
        *,
        personas: Sequence[str],
        token: str,
        files_dir: Path,
        own_dir: Path,
        name: str = SOURCE,
        api_url: str = OFFICIAL,
        gateway_url: str | None = None,
        commands: Mapping[str, str] | None = None,
        require_mention: bool = True,
        most_file_bytes: int = 25_000_000,
        rest_s: float = 5.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not token.strip():
            raise ConfigError(f"Discord bot {name!r}: token is missing")
        self.name = name
        self.personas: Sequence[str] = tuple(personas)
        self._require_mention, self._rest_s = require_mention, rest_s
        self._commands = commands or {}
        self._api = DiscordApi(token, api_url, gateway_url)
        self._directory = Directory(self._api, now=now)
        self._threads = Threads(self._api, self._directory, now=now)
        self._files = Files(self._api, files_dir, most_file_bytes)
        self._posts = Posts(self._api, self._directory)
        self._signs = Signs(self._api, self._posts)
        self._cursors = Cursors(own_dir / "cursors.json")
        self._notes = Notes()
        self._receive: Receive | None = None
        self._lanes: Lanes | None = None
        self._reader: Reader | None = None
        self._waits: set[asyncio.Task[None]] = set()

    @property
    def own_ids(self) -> frozenset[str]:
        """The account's id."""
        own = self._directory.own_id
        return frozenset({f"{SOURCE}:{own}"} if own else ())

    def routes(self) -> list[web.RouteDef]:
        """Discord is called, it doesn't call."""
        return []

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when Discord won't have
        us."""
        try:
            own = await self._introduced()
            await self._cursors.load(own.id)
            self._receive, self._lanes = receive, Lanes()
            self._reader = Reader(
                self._api, self._cursors, self._lanes, self._read_back, self._directory.room_id
            )
            await register(self._api, own.application_id, self._commands, self._cursors)
            await self._listen(intents(own), self._lanes)
        finally:
            await self.close()

    async def _listen(self, wanted: int, lanes: Lanes) -> None:
        """Until the connection is refused, or something can't be taken."""
        listening = asyncio.create_task(
            keep_connected(self._api, wanted, self._hear, self.name, rest_s=self._rest_s),
            name=f"discord gateway {self.name}",
        )
        try:
            await asyncio.wait({listening, lanes.failed}, return_when=asyncio.FIRST_COMPLETED)
            if lanes.failed.done():
                lanes.failed.result()
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def _introduced(self) -> Account:
        own = await account(self._api, self.name)
        self._directory.own_id, self._directory.application_id = own.id, own.application_id
        self._directory.rosters = own.members
        return own

    async def close(self) -> None:
        """Let go of what is open. `run` does it at its end; a call after that opens it anew."""
        for task in list(self._waits):
            task.cancel()
        if self._lanes is not None:
            await self._lanes.close()
        self._receive = self._lanes = self._reader = None
        await self._cursors.close()
        await self._directory.close()
        await self._threads.close()
        await self._api.close()

    async def check(self) -> Sequence[str]:
        """What Discord says is missing: an intent, a guild, a permission."""
        try:
            return await missing(self._api, self.name)
        finally:
            await self.close()

    # ── Events ──────────────────────────────────────────────────────────────────────────

    def _hear(self, name: str, data: Mapping[str, Any]) -> None:
        """Take one event of the gateway, in its order."""
        lanes, reader = self._lanes, self._reader
        if lanes is None or reader is None:
            return
        if name == "READY":
            log.info("Discord bot %s is connected", self.name)
            reader.begin()
            self._later(_GUILDS_S, self._catch_up_rest)
            return
        try:
            told = learn(self._directory, name, data)
            found = heard(name, data, self._directory.own_id)
        except ValueError as error:
            log.warning("Discord bot %s: %s", self.name, error)
            return
        if isinstance(told, WireGuild):
            reader.arrived(told)
        elif isinstance(told, WireChannel):
            reader.appeared(told, told.guild_id)
        if name == "MESSAGE_CREATE":
            room = self._directory.room_id(str(data["channel_id"]))
            lanes.put(room, lambda: self._take_message(found, data))
        elif isinstance(found, Pressed | Commanded | Strange):
            lanes.put(f"interaction {found.interaction}", lambda: self._interact(found))
        elif found is not None and not isinstance(found, Echo):
            room = self._directory.room_id(found.channel)
            lanes.put(room, lambda: self._take(found))

    async def _catch_up_rest(self) -> None:
        if self._reader is not None:
            self._reader.rest()

    async def _take_message(self, found: Heard | None, data: Mapping[str, Any]) -> None:
        if found is not None:
            await self._take(found)
        if self._reader is not None:
            guild = data.get("guild_id")
            self._reader.taken(
                str(data["channel_id"]), str(data["id"]), str(guild) if guild else None
            )

    async def _read_back(self, data: Mapping[str, Any]) -> None:
        """Take a message of the history."""
        try:
            found = said(data, self._directory.own_id)
        except ValidationError as error:
            log.warning("a message of the history can't be read: %s", error.error_count())
            return
        if found is not None:
            await self._take(found)

    async def _take(self, found: Heard) -> None:
        """Hand one on; return when it is on disk."""
        if isinstance(found, Echo):
            self._posts.echoed(found.channel, found.id, found.nonce)
            return
        events = await self._events(found)
        for event in events:
            await self._give(event)

    async def _give(self, event: Event) -> None:
        receive = self._receive
        if receive is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        try:
            await receive(event)
        except Rejected as error:
            log.warning("Discord bot %s: an event is left out: %s", self.name, error)

    async def _events(self, found: Heard) -> list[Event]:
        match found:
            case Said():
                return [await self._inbound(found)]
            case Removed():
                room, _ = await self._directory.place(found.channel, found.guild)
                return [Deleted(room, message) for message in found.ids]
            case Updated():
                return await self._update(found)
            case PinSign():
                return [await self._pinned(found)] if self._notes.pinned(found) else []
        return []

    async def _update(self, update: Updated) -> list[Event]:
        if self._notes.edited(update):
            room, _ = await self._directory.place(update.channel, update.guild)
            assert update.content is not None
            assert update.edited_at is not None
            return [Edited(room, update.id, update.content, update.edited_at)]
        if self._notes.pin_of(update) is not None:
            self._later(_PIN_S, lambda: self._pin_of(update))
        return []

    async def _pin_of(self, update: Updated) -> None:
        """The pin of an update, where nothing has said since then who pinned."""
        sign, lanes = self._notes.pin_of(update), self._lanes
        if sign is not None and lanes is not None:
            lanes.put(self._directory.room_id(sign.channel), lambda: self._take(sign))

    async def _pinned(self, sign: PinSign) -> Pinned:
        room, _ = await self._directory.place(sign.channel, sign.guild)
        return Pinned(
            room, sign.id, await self._directory.speaker(sign.by, sign.guild), sign.pinned
        )

    async def _inbound(self, message: Said) -> Inbound:
        """The message with what has to be looked up for it, and not for long."""
        room, thread = await self._directory.place(
            message.channel, message.guild, message.channel_type
        )
        mentioned = addressed(message, room, self._directory.own_roles(message.guild))
        if thread is None:
            self._posts.saw(message.id)
        self._notes.read(message.id, message.content)
        by, attachments, context = await asyncio.gather(
            self._directory.speaker(message.by, message.guild),
            self._files.keep(message.channel, message.files),
            self._threads.context(message, thread) if mentioned else _nothing(),
        )
        if room.kind == "dm":
            room = replace(room, name=by.name)
        return inbound(
            message,
            room,
            by,
            mentioned=mentioned,
            thread_id=thread,
            attachments=attachments,
            thread_context=context,
            recipient_id=f"bot:{self.personas[0]}" if len(self.personas) == 1 else None,
            require_mention=self._require_mention,
        )

    async def _interact(self, found: Pressed | Commanded | Strange) -> None:
        """Acknowledge at once (Discord waits three seconds), and hand it on."""
        text = f"`{found.text}`" if isinstance(found, Commanded) else ""
        telling = acknowledge(self._api, found.interaction, found.token, text)
        await asyncio.gather(telling, self._interacted(found))

    async def _interacted(self, found: Pressed | Commanded | Strange) -> None:
        if isinstance(found, Pressed):
            by = await self._directory.speaker(found.by, found.guild)
            await self._give(Chosen(found.question_id, found.option, by))
        elif isinstance(found, Commanded):
            self._posts.saw(found.interaction, exists=False)
            at = moment(None, found.interaction)
            command = Said(
                found.channel, found.guild, found.interaction, found.by, found.text, at, True
            )
            await self._give(await self._inbound(command))

    def _later(self, wait_s: float, work: Callable[[], Awaitable[None]]) -> None:
        async def wait() -> None:
            await asyncio.sleep(wait_s)
            await work()

        task = asyncio.create_task(wait(), name=f"discord later {self.name}")
        self._waits.add(task)
        task.add_done_callback(self._waits.discard)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post."""
        return split(text, LIMIT, size)

    async def post(self, place: Place, text: str, key: str) -> str:
        """Post one piece; return its id. The account speaks: Discord lets it have no other name."""
        return await self._posts.post(place, written(text), key)

    async def edit(self, place: Place, message_id: str, text: str) -> None:
        """Replace an own message's text; a question loses its buttons."""
        await self._posts.edit(place, message_id, written(text))

    async def delete(self, place: Place, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place, message_id)

    async def find(
        self, place: Place, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The id of the own message that `key` made, by its nonce; else of one that nothing says
        is another's, is not known, and is not older than `since`.
        """
        if not self._directory.own_id:
            await self._introduced()
        return await self._posts.find(place, key, since, known)

    async def upload(self, place: Place, name: str, data: bytes, comment: str, key: str) -> str:
        """Post a file with a comment; return the message's id."""
        return await self._posts.upload(place, name, data, written(comment), key)

    async def ask(self, place: Place, question: Question, key: str) -> str:
        """Post a question with buttons, and with `!1`, `!2` for those who type."""
        return await self._posts.ask(place, question, key)

    # ── Signs and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Place, status: str) -> None:
        """That the bot types, for ten seconds. Never raises."""
        if status:
            await self._signs.typing(place)

    async def mark(self, place: Place, message_id: str, mark: Mark) -> None:
        """A reaction on somebody's message. Never raises."""
        if self._posts.exists(message_id):
            await self._signs.mark(place, message_id, mark)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when Discord doesn't tell."""
        try:
            return await self._directory.members(room.external_id, _MOST_MEMBERS)
        except PlatformError as error:
            log.info("Discord bot %s: %s", self.name, error)
            return []


async def _nothing() -> None:
    """What a message that isn't for us was said after is nobody's business."""
