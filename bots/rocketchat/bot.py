"""Rocket.Chat: a bot over the realtime API (DDP), which tells, and REST, which does."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime

import structlog

from bots.bot import PlatformCapabilities, Receive
from bots.kit.cursor import Cursor
from bots.kit.inbound import Delivery
from bots.kit.platform_bot import MAX_MEMBERS, BotSetup, PlatformBot
from bots.rocketchat.api import RocketApi
from bots.rocketchat.backfill import Backfill
from bots.rocketchat.check import ROLE_REMEDY, Credentials, SignIn, lacks, rules
from bots.rocketchat.connection import MessageStreams
from bots.rocketchat.ddp import Ddp, DdpTimeouts
from bots.rocketchat.directory import Directory
from bots.rocketchat.events import SOURCE, Account
from bots.rocketchat.files import Files
from bots.rocketchat.inbound import EventHandler
from bots.rocketchat.posts import Posts
from bots.rocketchat.reactions import Reactions
from bots.rocketchat.text import DIALECT
from contract.agent import Question
from contract.chat import Deleted, Destination, Edited, Room, Speaker
from contract.errors import ConfigError, PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_MAX_FILE_BYTES = 20_000_000
_FREE_DRAFT_S = 1.0
_LIMITED_DRAFT_S = 15.0  # ten calls a minute: two turns at a time, and their ends
_LOOK_S = 3.0  # for a message whose turn begins
_SPARE_CHARS = 100  # between what the server takes and what we send


class RocketChatBot(PlatformBot):
    """One account on one server. login: the account's secrets."""

    platform = SOURCE
    own_ids: frozenset[str] = frozenset()

    _posts: Posts
    _reactions: Reactions

    def __init__(
        self,
        setup: BotSetup,
        url: str,
        login: Credentials,
        timeouts: DdpTimeouts = DdpTimeouts(),  # noqa: B008 - frozen
    ) -> None:
        if not (login.token and login.user_id) and not (login.username and login.password):
            raise ConfigError(
                f"Rocket.Chat bot {setup.name!r}: set ROCKETCHAT_TOKEN and ROCKETCHAT_USER_ID, or "
                "ROCKETCHAT_USER and ROCKETCHAT_PASSWORD, in the environment"
            )
        super().__init__(setup, DIALECT)
        self._timeouts = timeouts
        self._api = RocketApi(url, now=setup.now)
        self._sign_in = SignIn(self._api, login, setup.name, setup.secret_found)
        self._directory = Directory(self._api, now=setup.now)
        self._files = Files(
            self._api,
            self._directory,
            setup.files_dir,
            setup.states,
            setup.max_file_bytes or _MAX_FILE_BYTES,
        )
        self._uploads = self._files
        self._posts = Posts(self._api, self._directory)
        self._reactions = Reactions(self._api, self._directory)
        self._delivery = Delivery(setup.name)
        self._parts = (self._delivery, self._directory, self._api)
        self._handler = EventHandler(
            setup, self._delivery, self._directory, self._files, self._posts
        )
        cursor = Cursor(setup.states)
        missed = Backfill(self._api, self._directory, cursor, setup.now)
        self._streams = MessageStreams(self._api, timeouts, self._enter, missed, self._delivery)
        self._told_limits = False

    @property
    def capabilities(self) -> PlatformCapabilities:
        """Fewer drafts for an account whose calls are counted."""
        free = self._directory.own.unlimited
        draft_s = _FREE_DRAFT_S if free else _LIMITED_DRAFT_S
        return PlatformCapabilities(draft_s, nests_fences=False)

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when it isn't let in."""
        self._delivery.open(receive)
        try:
            await self._streams.listen(self._handler)
        finally:
            await self.close()

    async def _enter(self, ddp: Ddp) -> str:
        """Log a connection in, and learn who we are and what the server allows."""
        user_id = await self._sign_in.enter(ddp)
        own = await self._introduced()
        told = await rules(self._api)
        self._reactions.real_names = bool(told.real_names and own.name)
        self.fit(told.most_chars, _SPARE_CHARS)
        if not own.unlimited and not self._told_limits:
            self._told_limits = True
            name = f"@{own.username}"
            log.warning(
                "bot.no_role", reason=f"{name} lacks the role bot: {ROLE_REMEDY.format(name=name)}"
            )
        return own.user_id or user_id

    async def findings(self) -> Sequence[str]:
        """One line for each thing that the server says is missing."""
        async with Ddp.open(self._api.http(), self._api.url, self._timeouts) as ddp:
            await self._sign_in.enter(ddp)
        own = await self._sign_in.account()
        return await lacks(self._api, own, self.personas)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; the same key twice is one message."""
        await self._known()
        return await super().post(place, text, key)

    async def note(self, place: Destination, text: str, key: str) -> str:
        """Post an attachment without a message."""
        await self._known()
        return await super().note(place, text, key)

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
        return await super().upload(place, name, data, comment, key)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with buttons under it; without, the reactions 1️⃣, 2️⃣ choose."""
        asked = await super().ask(place, question, key)
        self._posts.remember(asked, question)
        if not await self._posts.offer(place, asked, question):
            await self._reactions.offer(asked, len(question.options))
        return asked

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace an own message's text; a question loses its buttons."""
        await self._known()
        await self._posts.withdraw(place, message_id)
        await super().edit(place, message_id, text)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """By the times, which the server gives both."""
        return self._posts.is_before(sent_at, post_id)

    async def changed(self, room: Room, message_id: str) -> Edited | Deleted | None:
        """Asked for: deletions are told a room at a time, and many rooms take their time."""
        try:
            async with asyncio.timeout(_LOOK_S):
                return await self._directory.changed(room, message_id)
        except (PlatformError, TimeoutError) as error:
            log.info("message.not_looked_up", room=room.id, reason=error)
            return None

    async def _known(self) -> None:
        """A message's id is made from our own: asked for where nothing ran yet."""
        if not self._directory.own.user_id:
            await self._introduced()

    async def _introduced(self) -> Account:
        own = await self._sign_in.account()
        self._directory.introduce(own)
        self.own_ids = frozenset({f"{SOURCE}:{own.user_id}"} if own.user_id else ())
        return own

    # ── Reactions and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """That the account types ("" ends it). Never raises."""
        await self._reactions.typing(self._streams.ddp, place, begins=bool(status))

    async def roster(self, room: Room) -> Sequence[Speaker]:
        return await self._directory.members(room.external_id, MAX_MEMBERS)
