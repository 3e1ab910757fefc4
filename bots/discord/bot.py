"""Discord: a bot over discord.py, in guilds, threads and direct messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path

import structlog
from aiohttp import web

from bots.bot import PlatformCapabilities, Reaction, Receive
from bots.discord.api import OFFICIAL, DiscordApi
from bots.discord.backfill import Cursors
from bots.discord.check import Account, account, intents, missing
from bots.discord.commands import register
from bots.discord.connection import keep_connected
from bots.discord.directory import Directory
from bots.discord.events import SOURCE, UpdateTracker
from bots.discord.files import Files
from bots.discord.inbound import EventContext, EventHandler
from bots.discord.posts import Posts
from bots.discord.reactions import Reactions
from bots.discord.text import LIMIT, size, written
from bots.discord.threads import ThreadContext
from bots.kit.slash import SlashCommand
from bots.markdown.split import split
from contract.agent import Question
from contract.chat import Destination, Room, Speaker
from contract.errors import ConfigError, PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_MOST_MEMBERS = 100


class DiscordBot:
    """One Discord application with its bot account, in all the guilds that invited it.

    own_dir: where the bot keeps how far it has read. commands: slash commands;
    none: those registered before are taken back. gateway_url: only where the server at `api_url`
    can't tell. rest_s: before a session is begun anew. now: the time in seconds since 1970.
    """

    platform = SOURCE
    # Five edits in five seconds and channel, all answers in it together.
    manners = PlatformCapabilities(draft_interval_s=1.5, max_posts=10, thread_replies=True)

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
        commands: Sequence[SlashCommand] = (),
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
        self._commands = tuple(commands)
        self._api = DiscordApi(token, api_url, gateway_url)
        self._directory = Directory(self._api, now=now)
        self._posts = Posts(self._api, self._directory, now=now)
        self._signs = Reactions(self._api, self._posts)
        self._cursors = Cursors(own_dir / "cursors.json")
        self._around = EventContext(
            self._api,
            self._directory,
            ThreadContext(self._api, self._directory, now=now),
            Files(self._api, files_dir, most_file_bytes),
            self._posts,
            UpdateTracker(),
        )

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
        registering: asyncio.Task[None] | None = None
        try:
            own = await self._introduced()
            await self._cursors.load(own.id)
            self._posts.application_id = own.application_id
            registering = asyncio.create_task(
                register(self._api, own.application_id, self._commands, self._cursors),
                name=f"discord commands {self.name}",
            )
            await self._listen(receive, intents(own))
        finally:
            if registering is not None:
                registering.cancel()
                await asyncio.wait({registering})
            await self.close()

    async def _listen(self, receive: Receive, wanted: int) -> None:
        hearing = EventHandler(
            self.name,
            self._around,
            self._cursors,
            receive,
            recipient_id=f"bot:{self.personas[0]}" if len(self.personas) == 1 else None,
            require_mention=self._require_mention,
            commands=self._commands,
        )
        try:
            listening = asyncio.create_task(
                keep_connected(self._api, wanted, hearing.hear, self.name, rest_s=self._rest_s),
                name=f"discord gateway {self.name}",
            )
            await hearing.until_failed(listening)
        finally:
            await hearing.close()

    async def _introduced(self) -> Account:
        own = await account(self._api, self.name)
        self._directory.own_id = own.id
        self._directory.rosters = own.members
        return own

    async def close(self) -> None:
        """Let go of what is open. `run` does it at its end; a call after that opens it anew."""
        await self._cursors.close()
        await self._directory.close()
        await self._around.threads.close()
        await self._api.close()

    async def check(self) -> Sequence[str]:
        """What Discord says is missing: an intent, a guild, a permission."""
        try:
            return await missing(self._api, self.name)
        finally:
            await self.close()

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post."""
        return split(text, LIMIT, size)

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; return its id. The account speaks: Discord lets it have no other name."""
        return await self._posts.post(place, written(text), key)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace an own message's text; a question loses its buttons."""
        await self._posts.edit(place, message_id, written(text))

    async def delete(self, place: Destination, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place, message_id)

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The id of the own message that `key` made: by its nonce, its text or what it answers."""
        if not self._directory.own_id:
            await self._introduced()
        return await self._posts.find(place, key, since, known)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment; return the message's id."""
        return await self._posts.upload(place, name, data, written(comment), key)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with buttons, and with `!1`, `!2` for those who type."""
        return await self._posts.ask(place, question, key)

    # ── Signs and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """That the bot types, for ten seconds. Never raises."""
        if status:
            await self._signs.typing(place)

    async def mark(self, place: Destination, message_id: str, mark: Reaction) -> None:
        """A reaction on somebody's message. Never raises."""
        if self._posts.exists(message_id):
            await self._signs.mark(place, message_id, mark)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when Discord doesn't tell."""
        try:
            return await self._directory.members(room.external_id, _MOST_MEMBERS)
        except PlatformError as error:
            log.info("roster.failed", bot=self.name, reason=error)
            return []
