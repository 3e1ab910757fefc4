"""Rocket.Chat: a bot over the realtime API (DDP), which tells, and REST, which does."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path

import structlog
from aiohttp import web

from bots.bot import PlatformCapabilities, Reaction, Receive, SecretSink, forget
from bots.kit.questions import question_markdown
from bots.markdown.split import split
from bots.rocketchat.api import RocketApi, RocketRefused
from bots.rocketchat.backfill import Backfill, Cursor
from bots.rocketchat.check import ROLE_REMEDY, Login, SignIn, lacks, rules
from bots.rocketchat.connection import Ddp, DdpTimeouts
from bots.rocketchat.directory import Directory
from bots.rocketchat.events import SOURCE
from bots.rocketchat.files import Files
from bots.rocketchat.inbound import EventHandler
from bots.rocketchat.posts import Posts
from bots.rocketchat.reactions import Reactions
from bots.rocketchat.streams import MessageStreams
from bots.rocketchat.text import LIMIT, size, written
from contract.agent import Question
from contract.chat import Destination, Room, Speaker
from contract.errors import ConfigError

log = structlog.stdlib.get_logger("moot.bots")

_FREE_DRAFT_S = 1.0
_LIMITED_DRAFT_S = 15.0  # ten calls a minute: two turns at a time, and their ends
_SPARE_CHARS = 100  # between what the server takes and what we send


class RocketChatBot:
    """One account on one server.

    url: the server's. login: the account's secrets. files_dir: where files of people's messages
    are kept. own_dir: what must not be forgotten over a restart. now: seconds since 1970.
    learned: told of secrets that the configuration doesn't name.
    """

    platform = SOURCE

    def __init__(
        self,
        *,
        personas: Sequence[str],
        url: str,
        login: Login,
        files_dir: Path,
        own_dir: Path,
        name: str = SOURCE,
        require_mention: bool = True,
        most_file_bytes: int = 20_000_000,
        patience: DdpTimeouts = DdpTimeouts(),  # noqa: B008 - frozen
        now: Callable[[], float] = time.time,
        learned: SecretSink = forget,
    ) -> None:
        if not (login.token and login.user_id) and not (login.username and login.password):
            raise ConfigError(
                f"Rocket.Chat bot {name!r}: set ROCKETCHAT_TOKEN and ROCKETCHAT_USER_ID, or "
                "ROCKETCHAT_USER and ROCKETCHAT_PASSWORD, in the environment"
            )
        self.name, self.personas = name, tuple(personas)
        self._patience = patience
        self._limit = LIMIT
        self._api = RocketApi(url, now=now)
        self._admission = SignIn(self._api, login, name, learned)
        self._directory = Directory(self._api, now=now)
        self._files = Files(
            self._api, self._directory, files_dir, own_dir / "uploads.json", most_file_bytes
        )
        self._posts = Posts(self._api, self._directory)
        self._signs = Reactions(self._api, self._directory)
        self._cursor = Cursor(own_dir / "cursor.json")
        self._missed = Backfill(self._api, self._directory, self._cursor.rooms)
        self._hearing = MessageStreams(self._api, self._cursor, self._enter, self._missed, patience)
        self._intake = EventHandler(
            self._directory,
            self._files,
            self._posts,
            personas=self.personas,
            require_mention=require_mention,
        )
        self._told_limits = False

    @property
    def manners(self) -> PlatformCapabilities:
        """Fewer drafts for an account whose calls are counted."""
        free = self._directory.own.unlimited
        return PlatformCapabilities(_FREE_DRAFT_S if free else _LIMITED_DRAFT_S, buttons=False)

    @property
    def own_ids(self) -> frozenset[str]:
        """The account's user id."""
        user_id = self._directory.own.user_id
        return frozenset({f"{SOURCE}:{user_id}"} if user_id else ())

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when it isn't let in."""
        self._intake.receive = receive
        try:
            await self._hearing.listen(self._intake)
        finally:
            self._intake.receive = None
            await self.close()

    async def close(self) -> None:
        """Let go of what is open. `run` does it at its end; a call after that opens it anew."""
        await self._directory.close()
        await self._api.close()

    async def _enter(self, ddp: Ddp) -> str:
        """Log a connection in, and learn who we are and what the server allows."""
        user_id = await self._admission.enter(ddp)
        own = await self._admission.account()
        self._directory.introduce(own)
        told = await rules(self._api)
        self._signs.real_names = bool(told.real_names and own.name)
        if told.most_chars:
            self._limit = max(min(LIMIT, told.most_chars - _SPARE_CHARS), told.most_chars // 2)
        if not own.unlimited and not self._told_limits:
            self._told_limits = True
            name = f"@{own.username}"
            log.warning(
                "bot.no_role", reason=f"{name} lacks the role bot: {ROLE_REMEDY.format(name=name)}"
            )
        return own.user_id or user_id

    async def check(self) -> Sequence[str]:
        """What the server says is missing."""
        try:
            async with Ddp.open(self._api.http(), self._api.url, self._patience) as ddp:
                await self._admission.enter(ddp)
            own = await self._admission.account()
            return await lacks(self._api, own, self.personas)
        finally:
            await self.close()

    def routes(self) -> list[web.RouteDef]:
        """The server never calls us."""
        return []

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post."""
        return split(text, self._limit, size)

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; the same key twice is one message."""
        await self._known()
        return await self._posts.post(place, written(text), key)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace an own message's text; a question is one no longer."""
        await self._posts.edit(place, message_id, written(text))

    async def delete(self, place: Destination, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place, message_id)

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The own message that `key` made: by its id, or by the file that was uploaded for it."""
        await self._known()
        found = await self._posts.find(place, key)
        return found or await self._files.find(place, key, since, known)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment; return the message's id."""
        await self._known()
        return await self._files.upload(place, name, data, written(comment), key)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question, to be answered with `!1`, `!2` or the reactions 1️⃣, 2️⃣."""
        asked = await self.post(place, question_markdown(question), key)
        self._posts.remember(asked, question)
        await self._signs.offer(asked, len(question.options))
        return asked

    async def _known(self) -> None:
        """A message's id is made from our own: asked for where nothing ran yet."""
        if not self._directory.own.user_id:
            self._directory.introduce(await self._admission.account())

    # ── Signs and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """That the account types ("" ends it). Never raises."""
        await self._signs.typing(self._hearing.ddp, place, begins=bool(status))

    async def mark(self, place: Destination, message_id: str, mark: Reaction) -> None:
        """A reaction on somebody's message. Never raises."""
        await self._signs.mark(message_id, mark)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when the server doesn't tell."""
        try:
            return await self._directory.members(room.external_id)
        except RocketRefused as error:
            log.info("roster.failed", bot=self.name, reason=error)
            return []
