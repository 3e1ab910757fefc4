"""Discord: a bot over discord.py, in guilds, threads and direct messages."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog

from bots.bot import PlatformCapabilities, Reaction, Receive
from bots.discord.api import OFFICIAL, DiscordApi
from bots.discord.backfill import ThreadContext
from bots.discord.check import Account, account, intents, missing
from bots.discord.connection import keep_connected
from bots.discord.cursors import Cursors
from bots.discord.directory import Directory
from bots.discord.events import SOURCE, UpdateTracker, later
from bots.discord.files import Files
from bots.discord.inbound import EventContext, EventHandler
from bots.discord.interactions import ASK, MESSAGE_MENU
from bots.discord.posts import Posts
from bots.discord.reactions import Reactions
from bots.discord.text import DIALECT
from bots.discord.threads import OwnThreads
from bots.kit.platform_bot import MAX_MEMBERS, BotSetup, PlatformBot
from bots.kit.slash import SlashCommand, SlashOption
from contract.agent import Question
from contract.chat import Destination, Room, Speaker
from contract.errors import ConfigError, PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")  # what all of ours are; Discord allows more
_DESCRIPTION, _CHOICES = 100, 25
_MENU, _MENU_NAME = 5, 32  # commands in a message's menu
_CHAT_INPUT, _STRING = 1, 3
_PERSONA = "persona"  # the name of such an option in every command

_MAX_FILE_BYTES = 25_000_000
_MOST_SENT = 10_000_000  # bytes: docs.discord.com/developers/reference, read 2026-11


def described(
    commands: Sequence[SlashCommand], personas: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The commands as Discord takes them; without any, nothing stands in a message's menu."""
    menu = [{"name": f"{ASK}{one}", "type": MESSAGE_MENU} for one in personas if commands]
    slash: list[dict[str, Any]] = [
        {
            "name": command.name,
            "type": _CHAT_INPUT,
            "description": _plain(command.says) or command.name,
            "options": [_option(option, personas) for option in command.options],
        }
        for command in sorted(commands, key=lambda command: command.name)
        if _NAME.fullmatch(command.name)
    ]
    return [*slash, *[one for one in menu if len(str(one["name"])) <= _MENU_NAME][:_MENU]]


def _option(option: SlashOption, personas: Sequence[str]) -> dict[str, Any]:
    """An option as Discord takes it; one that is a persona offers the bot's.

    Discord asks for suggestions while it is written, and takes no fixed choices beside them.
    """
    offered = option.choices or (personas if option.name == _PERSONA else ())
    told = {
        "type": _STRING,
        "name": option.name,
        "description": _plain(option.says) or option.name,
        "required": option.required,
    }
    if option.suggest is not None:
        return {**told, "autocomplete": True}
    choices = [{"name": choice, "value": choice} for choice in offered]
    return {**told, "choices": choices[:_CHOICES]} if choices else told


def _plain(text: str) -> str:
    return _cut(" ".join(text.replace("`", "").split()))


async def register(
    api: DiscordApi, application: str, body: Sequence[Mapping[str, Any]], cursors: Cursors
) -> None:
    """Tell Discord our commands, if they aren't those that it was told last.

    body: see `described`. It takes 200 new commands a day.
    """
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest() if body else ""
    if digest == cursors.commands or not application:
        return
    try:
        await api.call(
            "PUT", "/applications/{application_id}/commands", body=body, application_id=application
        )
    except PlatformError as error:
        log.warning("commands.not_registered", reason=error)
        return
    cursors.registered(digest)
    log.info("commands.registered", count=len(body))


def _cut(text: str) -> str:
    return text if len(text) <= _DESCRIPTION else text[: _DESCRIPTION - 1] + "…"


class DiscordBot(PlatformBot):
    """One Discord application with its bot account, in all the guilds that invited it.

    commands: slash commands; none: those registered before are taken back. gateway_url: only where
    the server at `api_url` can't tell. threads: begin one under each question. rest_s: before a
    session is begun again.
    """

    platform = SOURCE
    # Five edits in five seconds and channel, all answers in it together.
    capabilities = PlatformCapabilities(
        draft_interval_s=1.5,
        max_posts=10,
        thread_replies=True,
        file_bytes=_MOST_SENT,
        nests_fences=False,
    )

    own_ids: frozenset[str] = frozenset()

    _posts: Posts
    _reactions: Reactions

    def __init__(
        self,
        setup: BotSetup,
        token: str,
        *,
        api_url: str = OFFICIAL,
        gateway_url: str | None = None,
        commands: Sequence[SlashCommand] = (),
        threads: bool = False,
        rest_s: float = 5.0,
    ) -> None:
        if not token.strip():
            raise ConfigError(f"Discord bot {setup.name!r}: token is missing")
        super().__init__(setup, DIALECT)
        self._rest_s, self._commands = rest_s, tuple(commands)
        self._api = DiscordApi(token, api_url, gateway_url)
        self._directory = Directory(self._api, now=setup.now)
        self._threads = threads
        own_threads = OwnThreads(self._api, self._directory, wanted=threads)
        self._posts = Posts(self._api, self._directory, own_threads, now=setup.now)
        self._uploads = self._posts
        self._reactions = Reactions(self._api, self._posts)
        self._cursors = Cursors(setup.states)
        self._context = EventContext(
            self._api,
            self._directory,
            ThreadContext(self._api, self._directory, now=setup.now),
            Files(self._api, setup.files_dir, setup.max_file_bytes or _MAX_FILE_BYTES),
            self._posts,
            UpdateTracker(),
        )
        self._parts = (self._cursors, self._directory, self._context.threads, self._api)

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
                register(
                    self._api,
                    own.application_id,
                    described(self._commands, self.personas),
                    self._cursors,
                ),
                name=f"discord commands {self.name}",
            )
            await self._listen(receive, intents(own))
        finally:
            if registering is not None:
                registering.cancel()
                await asyncio.wait({registering})
            await self.close()

    async def _listen(self, receive: Receive, wanted: int) -> None:
        handler = EventHandler(self.setup, self._context, self._cursors, receive, self._commands)
        try:
            listening = asyncio.create_task(
                keep_connected(self._api, wanted, handler.handle, self.name, rest_s=self._rest_s),
                name=f"discord gateway {self.name}",
            )
            await handler.until_failed(listening)
        finally:
            await handler.close()

    async def _introduced(self) -> Account:
        own = await account(self._api, self.name)
        self._directory.own_id = own.id
        self.own_ids = frozenset({f"{SOURCE}:{own.id}"})
        self._directory.rosters = own.members
        return own

    async def findings(self) -> Sequence[str]:
        """One line for each thing that is missing: an intent, a guild, a permission."""
        return await missing(self._api, self.name, threads=self._threads)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The id of the own message that `key` made: by its nonce, its text or what it answers."""
        if not self._directory.own_id:
            await self._introduced()
        return await self._posts.find(place, key, since, known)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with buttons, and with `!1`, `!2` for those who type."""
        return await self._posts.ask(place, question, key)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """By the ids, which count Discord's own time, a slash command's too."""
        return later(message_id, post_id)

    # ── Reactions and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """That the bot types, for ten seconds. Never raises."""
        if status:
            await self._reactions.typing(place)

    async def react(self, place: Destination, message_id: str, reaction: Reaction) -> None:
        """A reaction on somebody's message. Never raises."""
        if self._posts.exists(message_id):
            await self._reactions.react(place, message_id, reaction)

    async def roster(self, room: Room) -> Sequence[Speaker]:
        return await self._directory.members(room.external_id, MAX_MEMBERS)
