"""Mattermost: a bot over its websocket, which tells, REST, which does, and a webhook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from aiohttp import web

from bots.bot import PlatformCapabilities, Receive
from bots.kit.cursor import Cursor
from bots.kit.inbound import Delivery
from bots.kit.platform_bot import MAX_MEMBERS, BotSetup, PlatformBot
from bots.mattermost.api import MattermostApi
from bots.mattermost.backfill import Backfill
from bots.mattermost.check import account, findings, rules
from bots.mattermost.connection import Callbacks, EventStream, Webhook
from bots.mattermost.directory import Directory
from bots.mattermost.events import SOURCE, Account, ButtonPress, CommandUse, millis
from bots.mattermost.files import Files
from bots.mattermost.inbound import EventConverter
from bots.mattermost.posts import Posts
from bots.mattermost.reactions import Reactions
from bots.mattermost.text import DIALECT
from bots.mattermost.wire import WireRules
from contract.agent import Question
from contract.chat import Destination, Room, Speaker, stands

_MAX_FILE_BYTES = 20_000_000
_SPARE_CHARS = 80  # between what the server takes and what we send


class MattermostBot(PlatformBot):
    """One account on one server."""

    platform = SOURCE
    own_ids: frozenset[str] = frozenset()

    _posts: Posts
    _reactions: Reactions

    def __init__(
        self,
        setup: BotSetup,
        url: str,
        token: str,
        callbacks: Callbacks = Callbacks(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(setup, DIALECT)
        self._callbacks, self._rules = callbacks, WireRules()
        self._api = MattermostApi(url, token, now=setup.now)
        self._directory = Directory(self._api, now=setup.now)
        self._posts = Posts(self._api, self._me)
        max_bytes = setup.max_file_bytes or _MAX_FILE_BYTES
        self._uploads = files = Files(self._api, self._posts, setup.files_dir, max_bytes)
        self._reactions = Reactions(self._api, self._directory)
        self._delivery = Delivery(setup.name)
        self._converter = EventConverter(setup, self._directory, files)
        self._webhook = Webhook(setup, callbacks, self._take)
        self._parts = (self._delivery, self._directory, self._api)
        self._stream = EventStream(
            self._api,
            self._enter,
            self._converter,
            Backfill(self._api, self._directory, now=setup.now),
            Cursor(setup.states),
            self._delivery,
            self._directory,
        )

    @property
    def capabilities(self) -> PlatformCapabilities:
        return PlatformCapabilities(
            draft_interval_s=1.0,
            buttons=bool(self._callbacks.base),
            thread_replies=True,
            files=self._rules.files,
            file_bytes=self._rules.file_bytes,
        )

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when it isn't let in."""
        try:
            if self._callbacks.base:
                await self._webhook.open()
                self._posts.press_url = self._webhook.url(self._callbacks.base)
            self._delivery.open(receive)
            await self._stream.listen()
        finally:
            await self.close()

    async def _enter(self) -> None:
        """Learn who we are, and what the server allows."""
        await self._introduced()
        self._rules = told = await rules(self._api)
        self.fit(told.most_chars, _SPARE_CHARS)

    async def _introduced(self) -> Account:
        own = await account(self._api, self.name)
        self._directory.introduce(own)
        self.own_ids = frozenset({f"{SOURCE}:{own.user_id}"})
        return own

    async def _me(self) -> Account:
        own = self._directory.own
        return own if own.user_id else await self._introduced()

    async def findings(self) -> Sequence[str]:
        """One line for each thing that the server says is missing."""
        return await findings(self._api, self._directory, self.name, self.personas)

    # ── By webhook ──────────────────────────────────────────────────────────────────────

    def routes(self) -> list[web.RouteDef]:
        """The path that the server calls; nothing where it can't reach us."""
        return self._webhook.routes() if self._callbacks.base else []

    async def _take(self, found: ButtonPress | CommandUse) -> None:
        with self._delivery.taking():
            if (event := await self._converter.event(found)) is not None:
                await self._delivery.give(event)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The own post that says it is `key`'s."""
        return await self._posts.find(place, key, since)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with `!1`, `!2`, and with buttons where the server reaches us."""
        return await self._posts.ask(place, question, key)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """By the times, which the server gives both; a slash command has none."""
        made = self._posts.said_at(post_id)
        return millis(sent_at) > made if made is not None and stands(message_id) else None

    # ── Reactions and people ────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """That the account types. Never raises."""
        if status:
            await self._reactions.typing(place)

    async def roster(self, room: Room) -> Sequence[Speaker]:
        return await self._directory.members(room.external_id, MAX_MEMBERS)
