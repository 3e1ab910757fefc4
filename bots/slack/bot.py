"""Slack: a bot in Socket Mode, or over HTTP by slack-bolt."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

import structlog
from aiohttp import web

from bots.bot import PlatformCapabilities, Receive
from bots.kit.events import DeletedMessage, RenamedRoom
from bots.kit.inbound import Delivery
from bots.kit.lanes import together
from bots.kit.platform_bot import MAX_MEMBERS, BotSetup, PlatformBot
from bots.kit.recent import Recent
from bots.slack.api import SlackApi, SlackRefused
from bots.slack.backfill import Backfill, Cursors
from bots.slack.check import account, app_token_refused, findings
from bots.slack.connection import http_handler, keep_connected, open_socket
from bots.slack.directory import Directory
from bots.slack.events import (
    SOURCE,
    Account,
    ButtonPress,
    CommandUse,
    HomeUse,
    NewMessage,
    QuestionAbout,
    ShortcutUse,
    later,
    parse_event,
)
from bots.slack.files import Files
from bots.slack.inbound import EventConverter
from bots.slack.posts import PersonaPosts, Posts
from bots.slack.reactions import Reactions
from bots.slack.streams import Streams
from bots.slack.text import DIALECT
from contract.agent import Question
from contract.chat import Destination, Inbound, Room, Speaker
from contract.errors import ConfigError, PlatformError
from contract.values import dataclass
from contract.work import Draft

log = structlog.stdlib.get_logger("moot.bots")

_MAX_FILE_BYTES = 20_000_000
_QUOTED = 500  # questions of messages, which Slack may tell again


@dataclass(frozen=True, slots=True)
class SlackApp:
    """One Slack app: its secrets, and how Slack reaches it."""

    token: str
    """The bot's, `xoxb-…`."""

    app_token: str = ""
    """For Socket Mode, `xapp-…`."""

    signing_secret: str = ""
    """For HTTP."""

    mode: Literal["socket", "http"] = "socket"

    api_url: str = "https://slack.com/api/"

    path: str = "/slack/events"
    """Where Slack calls us in HTTP mode; the gateway's server mounts it."""

    def missing(self) -> str:
        """The name of the secret that its mode lacks; "": none."""
        needed = "app_token" if self.mode == "socket" else "signing_secret"
        given = {"token": self.token, needed: getattr(self, needed)}
        return next((key for key, value in given.items() if not value.strip()), "")


class SlackBot(PlatformBot):
    """One Slack app in one workspace."""

    platform = SOURCE
    capabilities = PlatformCapabilities(
        draft_interval_s=1.0, max_posts=5, thread_replies=True, nests_fences=False, whispers=True
    )

    own_ids: frozenset[str] = frozenset()

    _posts: Posts
    _reactions: Reactions

    def __init__(self, setup: BotSetup, app: SlackApp) -> None:
        if key := app.missing():
            raise ConfigError(
                f"Slack bot {setup.name!r}: {key} is missing (mode {app.mode!r} needs it)"
            )
        super().__init__(setup, DIALECT)
        self._slack_app = app
        self._api = SlackApi(app.token, app.api_url, now=setup.now)
        self._directory = Directory(self._api, now=setup.now)
        persona_posts = PersonaPosts(self._api, self._directory)
        self._posts = Posts(self._api, persona_posts)
        self._streams = Streams(self._api, persona_posts, self._directory)
        max_bytes = setup.max_file_bytes or _MAX_FILE_BYTES
        self._files = Files(self._api, persona_posts, setup.files_dir, max_bytes)
        self._converter = EventConverter(setup, self._directory, self._files)
        self._reactions = Reactions(self._api, began=setup.now())
        self._delivery = Delivery(setup.name)
        self._parts = (self._delivery, self._directory, self._api)
        self._on_way: defaultdict[str, dict[str, asyncio.Future[None]]] = defaultdict(dict)
        self._quoted: Recent[str, None] = Recent(_QUOTED)
        self._cursors = cursors = Cursors(setup.states)
        self._backfill = Backfill(self._api, self._directory, cursors, self._take, now=setup.now)

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when Slack won't have us."""
        try:
            await self._introduced()
            self._delivery.open(receive)
            listen = self._run_socket if self._slack_app.mode == "socket" else self._run_http
            await together({self.name: listen(), f"{self.name} backfill": self._backfill.run()})
        finally:
            await self.close()

    async def _introduced(self) -> Account:
        """Ask Slack who we are."""
        own = await account(self._api, self.name)
        self._directory.introduce(own)
        self.own_ids = frozenset(f"{SOURCE}:{id_}" for id_ in own.ids)
        return own

    async def check(self) -> Sequence[str]:
        """One line for each thing that Slack says is missing."""
        app = self._slack_app
        api = SlackApi(app.app_token, app.api_url, now=self.setup.now)
        socket = api if app.mode == "socket" else None
        try:
            return await findings(self._api, socket, self._directory, app.path, self.name)
        finally:
            await api.close()
            await self.close()

    async def _run_http(self) -> None:
        self._backfill.cut()
        self._backfill.connected()
        await asyncio.Event().wait()

    async def _run_socket(self) -> None:
        app, told = self._slack_app, self._backfill
        api = SlackApi(app.app_token, app.api_url, now=self.setup.now)
        try:
            async with open_socket(self._take, app.app_token, app.api_url) as client:
                try:
                    await keep_connected(client, api, cut=told.cut, connected=told.connected)
                finally:
                    await self._delivery.close()  # while there is a socket to acknowledge on
        except SlackRefused as error:
            raise app_token_refused(error, self.name) from error
        finally:
            await api.close()

    def routes(self) -> list[web.RouteDef]:
        """The path that Slack calls in HTTP mode; nothing in Socket Mode."""
        app = self._slack_app
        if app.mode != "http":
            return []
        handle = http_handler(app.token, app.signing_secret, self._take, self.setup.now)
        return [web.post(app.path, handle)]

    # ── Events ──────────────────────────────────────────────────────────────────────────

    async def _take(self, payload: Mapping[str, Any]) -> None:
        """Hand one payload on; return when it is on disk. What raises here, Slack sends again."""
        with self._delivery.taking():
            try:
                found = parse_event(payload, self._directory.own)
            except ValueError as error:
                log.warning("event.unreadable", bot=self.name, reason=error)
                return
            match found:
                case None:
                    return
                case RenamedRoom():
                    self._directory.forget_room(found.room)
                case HomeUse():
                    show = partial(self._posts.show_home, found.user_id)
                    await self._delivery.give(await self._converter.home(found, show))
                case ShortcutUse():
                    await self._posts.open_modal(found)
                case QuestionAbout():
                    await self._take_question(found)
                case NewMessage():
                    await self._take_message(found)
                case CommandUse() | ButtonPress():
                    await self._delivery.give(await self._converter.event(found))
                case _:
                    async with self._delivery.in_room(found.room.id):
                        await self._arrived(found.room.id)
                        await self._delivery.give(await self._converter.event(found))
                        if isinstance(found, DeletedMessage):
                            self._backfill.taken.pop((found.room.id, found.id), None)

    async def _take_message(self, said: NewMessage) -> None:
        """Hand a message on, behind those that were said before it in its room.

        What a person says outside of threads asks nothing of the messages before it, and nothing
        is waited for between its room and the store's queue: it goes on while those are still on
        their way to the disk, in commits that they share. Everything else waits for them.
        """
        room, first = said.room.id, None
        async with self._delivery.in_room(room):
            if (room, said.id) in self._backfill.taken:
                return  # a mention comes twice, and what was not acknowledged too
            if (first := self._on_way[room].get(said.id)) is None:
                message = await self._converter.message(said)
                if said.is_bot or said.thread_id or said.files:
                    await self._arrived(room)
                    await self._hand_on(said, message)
                    return
        if first is None:
            await self._hand_on(said, message)
            return
        await asyncio.wait({first})
        if (room, said.id) not in self._backfill.taken:
            raise PlatformError("it was not taken when it came first", outcome="retry")

    async def _hand_on(self, said: NewMessage, message: Inbound) -> None:
        room, arrived = said.room.id, asyncio.get_running_loop().create_future()
        if not said.is_bot:
            self._streams.asked[room, said.thread_id or said.id] = said.sender_id
        self._on_way[room][said.id] = arrived
        try:
            await self._delivery.give(message)
        finally:
            del self._on_way[room][said.id]
            arrived.set_result(None)
        self._backfill.took(room, said.id, said.thread_id)

    async def _arrived(self, room: str) -> None:
        """Return when the room's messages that were handed on are on disk."""
        if self._on_way[room]:
            await asyncio.wait(set(self._on_way[room].values()))

    async def _take_question(self, asked: QuestionAbout) -> None:
        """A question of a message: answered in that message's thread, below the question."""
        message = await self._converter.question(asked)
        if asked.id not in self._quoted:
            self._quoted[asked.id] = None
            try:
                await self._posts.quote(message)
            except SlackRefused:
                return  # they were told
        self._streams.asked[asked.room.id, asked.thread_id or ""] = asked.sender_id
        await self._delivery.give(message)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post one piece; return its timestamp."""
        posted = await self._posts.post(place, text, key)
        if place.thread_id:
            self._cursors.spoke(place.room.external_id, place.thread_id)
        return posted

    async def draft(self, place: Destination, draft: Draft, key: str) -> str:
        """Begin a stream; where Slack allows none, post the draft."""
        message_id = await self._streams.begin(place, draft, key)
        return message_id or await self.post(place, draft.text, key)

    async def redraft(self, place: Destination, message_id: str, draft: Draft) -> None:
        """Append what is new to a stream; edit any other draft."""
        if not await self._streams.go_on(place, message_id, draft):
            await self._posts.edit(place, message_id, draft.text)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Complete a stream; replace the text of any other own message. A question loses its
        buttons."""
        if not await self._streams.finish(place, message_id, text):
            await self._posts.edit(place, message_id, text)

    async def delete(self, place: Destination, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        self._streams.forget(place, message_id)
        await self._posts.delete(place, message_id)

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The timestamp of the own message that `key` made, by its metadata; else of one that
        carries no key, is not known, and is not older than `since`.
        """
        known_own = self._directory.own
        own = known_own if known_own.user_id else await self._introduced()
        return await self._posts.find(place, key, since, known, own)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        """Post a file with a comment; return the file's id (Slack tells no message's)."""
        return await self._files.upload(place, name, data, self.dialect.write(comment))

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """Post a question with buttons, and with `!1`, `!2` for those who type."""
        return await self._posts.ask(place, question, key)

    def follows(self, message_id: str, sent_at: datetime, post_id: str) -> bool | None:
        """By the time stamps, which Slack gives both; a slash command has none."""
        return later(message_id, post_id)

    # ── Reactions and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Destination, status: str) -> None:
        """A status under the thread ("" ends it). Never raises."""
        await self._reactions.status(place, status)

    async def roster(self, room: Room) -> Sequence[Speaker]:
        return await self._directory.members(room.external_id, MAX_MEMBERS)
