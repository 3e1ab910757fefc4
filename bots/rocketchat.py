"""Rocket.Chat: a bot over the realtime API (DDP), which tells, and REST, which does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from aiohttp import web

from bots.asking import question_markdown
from bots.bot import Manners, Mark, Receive
from bots.rocketchat_account import ROLE_REMEDY, Admission, Login, lacks, rules
from bots.rocketchat_api import RocketApi, RocketRefused
from bots.rocketchat_cursor import Cursor
from bots.rocketchat_ddp import Ddp, Patience
from bots.rocketchat_directory import Directory
from bots.rocketchat_events import (
    SOURCE,
    Changed,
    Glimpse,
    Marked,
    News,
    Removed,
    Said,
    Voted,
    glimpse,
    inbound,
    news,
)
from bots.rocketchat_files import Files
from bots.rocketchat_hearing import Hearing
from bots.rocketchat_missed import Missed
from bots.rocketchat_posts import Posts
from bots.rocketchat_signs import Signs
from bots.rocketchat_text import LIMIT, size, written
from bots.rocketchat_wire import WireMessage, WireRoom
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
    Question,
    Rejected,
    Room,
    Speaker,
)

log = logging.getLogger("moot.bots")

_REMEMBERED = 5_000  # messages that may be told again: edited, pinned, reacted to
_FREE_DRAFT_S = 1.0
_LIMITED_DRAFT_S = 15.0  # ten calls a minute: two turns at a time, and their ends
_SPARE_CHARS = 100  # between what the server takes and what we send


class RocketChatBot:
    """One account on one server.

    url: the server's. login: the account's secrets. files_dir: where files of people's messages
    are kept. own_dir: what must not be forgotten over a restart. now: seconds since 1970.
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
        patience: Patience = Patience(),  # noqa: B008 - frozen
        now: Callable[[], float] = time.time,
    ) -> None:
        if not (login.token and login.user_id) and not (login.username and login.password):
            raise ConfigError(
                f"Rocket.Chat bot {name!r}: set ROCKETCHAT_TOKEN and ROCKETCHAT_USER_ID, or "
                "ROCKETCHAT_USER and ROCKETCHAT_PASSWORD, in the environment"
            )
        self.name, self.personas = name, tuple(personas)
        self._require_mention, self._patience = require_mention, patience
        self._limit = LIMIT
        self._api = RocketApi(url, now=now)
        self._admission = Admission(self._api, login, name)
        self._directory = Directory(self._api, now=now)
        self._files = Files(
            self._api, self._directory, files_dir, own_dir / "uploads.json", most_file_bytes
        )
        self._posts = Posts(self._api, self._directory)
        self._signs = Signs(self._api, self._directory)
        self._cursor = Cursor(own_dir / "cursor.json")
        self._missed = Missed(self._api, self._directory, self._cursor.rooms)
        self._hearing = Hearing(self._api, self._cursor, self._enter, self._missed, patience)
        self._seen: OrderedDict[str, Glimpse] = OrderedDict()
        self._receive: Receive | None = None
        self._told_limits = False

    @property
    def manners(self) -> Manners:
        """Fewer drafts for an account whose calls are counted."""
        free = self._directory.own.unlimited
        return Manners(_FREE_DRAFT_S if free else _LIMITED_DRAFT_S, buttons=False)

    @property
    def own_ids(self) -> frozenset[str]:
        """The account's user id."""
        user_id = self._directory.own.user_id
        return frozenset({f"{SOURCE}:{user_id}"} if user_id else ())

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when it isn't let in."""
        self._receive = receive
        try:
            await self._hearing.listen(self)
        finally:
            self._receive = None
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
        if told.most_chars:
            self._limit = max(min(LIMIT, told.most_chars - _SPARE_CHARS), told.most_chars // 2)
        if not own.unlimited and not self._told_limits:
            self._told_limits = True
            name = f"@{own.username}"
            log.warning(
                "Rocket.Chat: %s lacks the role bot: %s", name, ROLE_REMEDY.format(name=name)
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

    # ── Events ──────────────────────────────────────────────────────────────────────────

    async def message(
        self, message: WireMessage, room: WireRoom | None, *, since: datetime, missed: bool
    ) -> None:
        """Hand on what a message of the stream, or of the time before it, tells."""
        before = self._seen.get(message.id)
        found = news(message, before, self._directory.own, since=since, missed=missed)
        if found:
            where = await self._directory.room(message.rid, room)
            for one in found:
                await self._hand_on(await self._event(one, where))
        self._seen[message.id] = glimpse(message)
        self._seen.move_to_end(message.id)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    async def removed(self, rid: str, message_id: str) -> None:
        """Hand on that a message is gone."""
        await self._hand_on(Deleted(await self._directory.room(rid), message_id))

    def room_changed(self, room: WireRoom) -> None:
        """A room has a new name, or we are new in it."""
        if room.rid:
            self._directory.learn_subscription(room)
        self._directory.forget_room(room.rid or room.id or "")

    async def _hand_on(self, event: Event | None) -> None:
        if event is None or self._receive is None:
            return
        try:
            await self._receive(event)
        except Rejected as error:
            log.warning("Rocket.Chat bot %s: an event is left out: %s", self.name, error)

    async def _event(self, told: News, room: Room) -> Event | None:
        match told:
            case Said():
                return await self._inbound(told, room)
            case Changed():
                return Edited(room, told.id, told.content, told.at)
            case Removed():
                return Deleted(room, told.id)
            case Marked():
                by = await self._directory.named(told.by)
                return Pinned(room, told.id, by, told.pinned) if by else None
            case Voted():
                return await self._chosen(told)

    async def _chosen(self, vote: Voted) -> Chosen | None:
        question = self._posts.question(vote.id)
        if question is None or vote.option >= len(question.options):
            return None
        by = await self._directory.named(vote.by)
        return Chosen(question.id, vote.option, by) if by else None

    async def _inbound(self, said: Said, room: Room) -> Inbound:
        """The message with what has to be looked up for it, all at once and not for long."""
        mentioned = said.mentioned or room.kind == "dm"
        by, attachments, ours = await asyncio.gather(
            self._directory.sender(said),
            self._files.keep(said.rid, said.files),
            self._answers_us(said, known=mentioned),
        )
        mentioned = mentioned or ours
        context = await self._directory.thread_context(said) if mentioned else None
        if room.kind == "dm":
            room = replace(room, name=by.name)
        return inbound(
            said,
            room,
            by,
            mentioned=mentioned,
            attachments=attachments,
            thread_context=context,
            recipient_id=f"bot:{self.personas[0]}" if len(self.personas) == 1 else None,
            require_mention=self._require_mention,
        )

    async def _answers_us(self, said: Said, *, known: bool) -> bool:
        if known or said.thread_id is None:
            return False
        return await self._directory.ours(said.thread_id)

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post."""
        return split(text, self._limit, size)

    async def post(self, place: Place, text: str, key: str) -> str:
        """Post one piece; the same key twice is one message."""
        await self._known()
        return await self._posts.post(place, written(text), key)

    async def edit(self, place: Place, message_id: str, text: str) -> None:
        """Replace an own message's text; a question is one no longer."""
        await self._posts.edit(place, message_id, written(text))

    async def delete(self, place: Place, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place, message_id)

    async def find(
        self, place: Place, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The own message that `key` made: by its id, or by the file that was uploaded for it."""
        await self._known()
        found = await self._posts.find(place, key)
        return found or await self._files.find(place, key, since, known)

    async def upload(self, place: Place, name: str, data: bytes, comment: str, key: str) -> str:
        """Post a file with a comment; return the message's id."""
        await self._known()
        return await self._files.upload(place, name, data, written(comment), key)

    async def ask(self, place: Place, question: Question, key: str) -> str:
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

    async def typing(self, place: Place, status: str) -> None:
        """That the account types ("" ends it). Never raises."""
        await self._signs.typing(self._hearing.ddp, place, begins=bool(status))

    async def mark(self, place: Place, message_id: str, mark: Mark) -> None:
        """A reaction on somebody's message. Never raises."""
        await self._signs.mark(message_id, mark)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when the server doesn't tell."""
        try:
            return await self._directory.members(room.external_id)
        except RocketRefused as error:
            log.info("Rocket.Chat bot %s: %s", self.name, error)
            return []
