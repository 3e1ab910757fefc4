"""Slack: a bot over slack-bolt, in Socket Mode or over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import structlog
from aiohttp import web

from bots.bot import PlatformCapabilities, Reaction, Receive
from bots.kit.lanes import together
from bots.kit.naming import Named, by_names
from bots.markdown.split import split
from bots.slack.api import SlackApi, SlackRefused
from bots.slack.backfill import Backfill, Cursors
from bots.slack.check import account, app_token_refused, findings
from bots.slack.connection import bolt, http_handler, keep_connected, open_socket
from bots.slack.directory import Directory
from bots.slack.events import (
    SOURCE,
    Account,
    ButtonPress,
    CommandUse,
    DeletedMessage,
    NewMessage,
    PlatformEvent,
    RenamedRoom,
    heard,
)
from bots.slack.files import Files
from bots.slack.inbound import EventConverter
from bots.slack.posts import PersonaPosts, Posts
from bots.slack.reactions import Reactions
from bots.slack.text import LIMIT_BYTES, mrkdwn, size_bytes
from contract.agent import Question
from contract.chat import Destination, Room, Speaker
from contract.errors import ConfigError, PlatformError, Rejected

log = structlog.stdlib.get_logger("moot.bots")

_MOST_MEMBERS = 100
_GRACE_S = 2.0  # for events under way when the bot is stopped; the rest Slack sends again


class SlackBot:
    """One Slack app in one workspace.

    token: the bot's (`xoxb-…`). app_token: for Socket Mode (`xapp-…`). signing_secret: for HTTP.
    path: where Slack calls us in HTTP mode; the gateway's server mounts `routes()`. files_dir:
    where files of people's messages are kept. own_dir: where it keeps how far it has read.
    is_named: whether a text names one of the personas; default: by the names above. now: the time
    in seconds since 1970.
    """

    platform = SOURCE
    manners = PlatformCapabilities(draft_interval_s=1.0, max_posts=10, thread_replies=True)

    def __init__(
        self,
        *,
        personas: Sequence[str],
        token: str,
        files_dir: Path,
        own_dir: Path,
        name: str = SOURCE,
        mode: Literal["socket", "http"] = "socket",
        app_token: str = "",
        signing_secret: str = "",
        api_url: str = "https://slack.com/api/",
        path: str = "/slack/events",
        require_mention: bool = True,
        is_named: Named | None = None,
        most_file_bytes: int = 20_000_000,
        now: Callable[[], float] = time.time,
    ) -> None:
        missing = {"socket": ("app_token", app_token), "http": ("signing_secret", signing_secret)}
        for key, value in (("token", token), missing[mode]):
            if not value.strip():
                raise ConfigError(f"Slack bot {name!r}: {key} is missing (mode {mode!r} needs it)")
        self.name, self._mode = name, mode
        self.personas: Sequence[str] = tuple(personas)
        self._path, self._app_token, self._api_url = path, app_token, api_url
        self._api = SlackApi(token, api_url, now=now)
        self._directory = Directory(self._api, now=now)
        voices = PersonaPosts(self._api, lambda: self._directory.own)
        self._files = Files(self._api, voices, files_dir, most_file_bytes)
        self._posts = Posts(self._api, voices)
        self._reader = EventConverter(
            self._directory,
            self._files,
            self.personas,
            is_named=is_named or by_names(self.personas),
            require_mention=require_mention,
        )
        self._signs = Reactions(self._api, began=now())
        self._app = bolt(token, signing_secret, self._take)
        self._handle = http_handler(self._app, signing_secret, now)
        self._now = now
        cursors = Cursors(own_dir / "slack_cursors.json")
        self._backfill = Backfill(self._api, self._directory, cursors, self._take, now=now)
        self._receive: Receive | None = None
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._taking: set[asyncio.Task[Any]] = set()

    @property
    def own_ids(self) -> frozenset[str]:
        """The account's user id and its bot id."""
        own = self._directory.own
        return frozenset(f"{SOURCE}:{id_}" for id_ in (own.user_id, own.bot_id) if id_)

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when Slack won't have us."""
        try:
            own = await account(self._api, self.name)
            self._directory.introduce(own)
            self._receive = receive
            way = self._run_socket if self._mode == "socket" else self._run_http
            await together({self.name: way(), f"{self.name} backfill": self._backfill.run()})
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of what is open. `run` does it at its end; a call after that opens it anew."""
        await self._settle()
        await self._directory.close()
        await self._api.close()

    async def check(self) -> Sequence[str]:
        """What Slack says is missing."""
        api = SlackApi(self._app_token, self._api_url, now=self._now)
        socket = api if self._mode == "socket" else None
        try:
            return await findings(self._api, socket, self._directory, self._path, self.name)
        finally:
            await api.close()
            await self.close()

    async def _run_http(self) -> None:
        self._backfill.cut()
        self._backfill.connected()
        await asyncio.Event().wait()

    async def _run_socket(self) -> None:
        api = SlackApi(self._app_token, self._api_url, now=self._now)
        try:
            async with open_socket(self._app, self._app_token, self._api_url) as client:
                try:
                    told = self._backfill
                    await keep_connected(client, api, cut=told.cut, connected=told.connected)
                finally:
                    await self._settle()  # while there is a socket to acknowledge on
        except SlackRefused as error:
            raise app_token_refused(error, self.name) from error
        finally:
            await api.close()

    async def _settle(self) -> None:
        """Take no more events, and let those being taken come to their end."""
        self._receive = None
        if self._taking:
            await asyncio.wait(self._taking, timeout=_GRACE_S)

    def routes(self) -> list[web.RouteDef]:
        """What the gateway's server mounts in HTTP mode; nothing in Socket Mode."""
        return [web.post(self._path, self._handle)] if self._mode == "http" else []

    # ── Events ──────────────────────────────────────────────────────────────────────────

    async def _take(self, payload: Mapping[str, Any]) -> None:
        """Hand one payload on; return when it is on disk. What raises here, Slack sends again."""
        receive, task = self._receive, asyncio.current_task()
        if receive is None or task is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        try:
            found = heard(payload, self._directory.own)
        except ValueError as error:
            log.warning("event.unreadable", bot=self.name, reason=error)
            return
        self._taking.add(task)
        try:
            await self._hand_on(found, receive)
        except Rejected as error:
            log.warning("event.skipped", bot=self.name, reason=f"it is left out: {error}")
        finally:
            self._taking.discard(task)

    async def _hand_on(self, found: PlatformEvent | None, receive: Receive) -> None:
        if found is None:
            return
        if isinstance(found, RenamedRoom):
            self._directory.forget_room(found.channel)
        elif isinstance(found, CommandUse | ButtonPress):
            await receive(await self._reader.event(found))
        else:
            async with self._turns[found.channel]:  # in a room, one after the other
                await receive(await self._reader.event(found))
            if isinstance(found, NewMessage):
                self._backfill.took(found.channel, found.ts, found.thread_ts)
            elif isinstance(found, DeletedMessage):
                self._backfill.removed(found.channel, found.ts)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post."""
        return split(text, LIMIT_BYTES, size_bytes)

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; return its timestamp."""
        posted = await self._posts.post(place, mrkdwn(text), key)
        self._backfill.posted(place.room.external_id, place.thread_id)
        return posted

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace an own message's text; a question loses its buttons."""
        await self._posts.edit(place, message_id, mrkdwn(text))

    async def delete(self, place: Destination, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place, message_id)

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The timestamp of the own message that `key` made, by its metadata; else of one that
        carries no key, is not known, and is not older than `since`.
        """
        own = await self._own()
        return await self._posts.find(place, key, since, known, own)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment; return the file's id (Slack tells no message's)."""
        return await self._files.upload(place, name, data, mrkdwn(comment))

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with buttons, and with `!1`, `!2` for those who type."""
        return await self._posts.ask(place, question, key)

    async def _own(self) -> Account:
        """Who we are; asked once more where nothing ran yet."""
        if not self._directory.own.user_id:
            self._directory.introduce(await account(self._api, self.name))
        return self._directory.own

    # ── Signs and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """A status under the thread ("" ends it). Never raises."""
        await self._signs.status(place, status)

    async def mark(self, place: Destination, message_id: str, mark: Reaction) -> None:
        """A reaction on somebody's message. Never raises."""
        await self._signs.mark(place, message_id, mark)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when Slack doesn't tell."""
        try:
            return await self._directory.members(room.external_id, _MOST_MEMBERS)
        except SlackRefused as error:
            log.info("roster.failed", bot=self.name, reason=error)
            return []
