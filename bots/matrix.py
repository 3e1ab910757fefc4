"""Matrix: a bot over the client-server API, in open and in encrypted rooms."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from bots.bot import Manners, Mark, Receive
from bots.matrix_account import Account, Credentials, Wallet, sign_in
from bots.matrix_api import CLIENT, MatrixApi
from bots.matrix_content import text_content
from bots.matrix_cursor import Cursor, Pin
from bots.matrix_directory import Directory
from bots.matrix_doorbell import Doorbell
from bots.matrix_encryption import Encryption
from bots.matrix_events import (
    SOURCE,
    Changed,
    Heard,
    Reacted,
    Removed,
    Repinned,
    Said,
    heard,
    inbound,
    parsed,
)
from bots.matrix_files import Files
from bots.matrix_keys import Keys
from bots.matrix_posts import Posts
from bots.matrix_signs import Signs
from bots.matrix_text import LIMIT, size
from bots.matrix_timeline import FILTER, FIRST_FILTER, Timeline
from bots.matrix_wire import WireJoined, WireSync
from bots.signs import PIN, option_of
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
_SYNC_MS = 30_000  # how long the server may keep a sync open when nothing happens
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 15.0  # between tries to reach the server


class MatrixBot:
    """One account on one homeserver.

    url: the homeserver's. credentials: a token, or a user and a password. own_dir: where it keeps
    its device, its keys and how far it has heard. invited_by: whether it follows the invitation of
    somebody (`matrix:@user:server`). files_dir: where files of people's messages are kept. now: the
    time in seconds since 1970.
    """

    platform = SOURCE
    # Synapse lets an account send one event in five seconds once a burst of ten is used up
    # (rc_message), and each edit is one.
    manners = Manners(draft_interval_s=5.0, max_posts=10, buttons=False, thread_replies=True)

    def __init__(
        self,
        *,
        personas: Sequence[str],
        url: str,
        credentials: Credentials,
        own_dir: Path,
        files_dir: Path,
        invited_by: Callable[[str], bool],
        name: str = SOURCE,
        encryption: bool = True,
        require_mention: bool = True,
        most_file_bytes: int = 20_000_000,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not credentials.token and not (credentials.user and credentials.password):
            raise ConfigError(
                f"Matrix bot {name!r}: set MATRIX_TOKEN, or MATRIX_USER and MATRIX_PASSWORD"
            )
        self.name, self._now = name, now
        self.personas: Sequence[str] = tuple(personas)
        self._credentials, self._own_dir, self._encrypts = credentials, own_dir, encryption
        self._require_mention, self._invited_by = require_mention, invited_by
        self._api = MatrixApi(url)
        self._directory = Directory(self._api, self._opened, now=now)
        self._posts = Posts(self._api, self._directory, encrypts=encryption)
        self._files = Files(self._api, files_dir, most_file_bytes)
        self._signs = Signs(self._api, self._posts, now=now)
        self._cursor: Cursor | None = None
        self._receive: Receive | None = None
        self._deaf_in: set[str] = set()  # encrypted rooms that are not read

    @property
    def own_ids(self) -> frozenset[str]:
        """The account's user id."""
        own = self._directory.own
        return frozenset({f"{SOURCE}:{own.user_id}"}) if own.user_id else frozenset()

    # ── Life ────────────────────────────────────────────────────────────────────────────

    async def run(self, receive: Receive) -> None:
        """Connect and deliver events until cancelled. Raises MootError when the server won't have
        us (any more)."""
        began_ms = self._now() * 1000
        try:
            own = await self._come_in()
            cursor = self._cursor = await asyncio.to_thread(Cursor, self._own_dir, own.user_id)
            self._receive = receive
            doorbell = Doorbell(self._api, self._directory, cursor, self._invited_by, self.name)
            timeline = Timeline(self._api, own.user_id, began_ms)
            async with doorbell.open():
                await self._listen(cursor, timeline, doorbell)
        finally:
            await self.close()

    async def _come_in(self) -> Account:
        wallet = Wallet(self._own_dir)
        own = await sign_in(self._api, wallet, self._credentials, self.name)
        await self._directory.introduce(own.user_id)
        self._signs.user_id = own.user_id
        if self._encrypts:
            await self._open_keys(own)
            assert self._posts.encryption is not None
            await self._posts.encryption.begin()
        return own

    async def _open_keys(self, own: Account) -> None:
        if not own.device_id:
            raise ConfigError(
                f"Matrix bot {self.name!r}: MATRIX_TOKEN belongs to no device, which encryption "
                "needs: log in with a password, or set `encryption = false`"
            )
        if self._posts.encryption is None:
            self._posts.encryption = Encryption(self._api, await Keys.open(self._own_dir, own))

    async def close(self) -> None:
        """Let go of what is open. `run` does it at its end; a call after that opens it anew."""
        self._receive = None
        await self._posts.close()
        await self._directory.close()
        encryption, self._posts.encryption = self._posts.encryption, None
        if encryption is not None:
            await encryption.close()
        await self._api.close()

    async def check(self) -> Sequence[str]:
        """What the homeserver says is missing."""
        try:
            own = await sign_in(self._api, Wallet(self._own_dir), self._credentials, self.name)
            return await self._missing(own)
        finally:
            await self.close()

    async def _missing(self, own: Account) -> list[str]:
        answer = await self._api.get(CLIENT + "/joined_rooms")
        rooms = [str(room) for room in answer.get("joined_rooms") or ()]
        missing = []
        if not rooms:
            missing.append(f"{own.user_id} is in no room yet: invite it to one")
        if self._encrypts:
            await self._open_keys(own)
            encryption = self._posts.encryption
            if encryption and await encryption.on_server() and not await encryption.is_itself():
                missing.append(
                    f"the keys of device {own.device_id} are lost and nobody can encrypt for it: "
                    "log in again for a new MATRIX_TOKEN (with a password Moot does it by itself "
                    f"when {self._own_dir / 'account.json'} is gone)"
                )
        else:
            closed = [room for room in rooms if (await self._directory.state(room)).encrypted]
            if closed:
                missing.append(
                    f"{len(closed)} of its rooms are encrypted and can't be read: set "
                    "`encryption = true`"
                )
        return missing

    def routes(self) -> Sequence[web.RouteDef]:
        """None: the bot calls the homeserver."""
        return ()

    # ── Listening ───────────────────────────────────────────────────────────────────────

    async def _listen(self, cursor: Cursor, timeline: Timeline, doorbell: Doorbell) -> None:
        """Sync for ever. The token goes on only when all that came with it is on disk."""
        await self._persist(lambda: self._late(cursor, None))
        while True:
            answer = await self._synced(cursor.place.since)
            sessions = await self._keys_heard(answer)
            await doorbell.rung(answer.rooms.invite)
            await self._persist(lambda a=answer: self._take(a, cursor, timeline))  # type: ignore[misc]
            await self._persist(lambda s=sessions: self._late(cursor, s))  # type: ignore[misc]
            cursor.advance(answer.next_batch, answer.rooms.join, answer.rooms.leave)
            await cursor.save()
            if self._posts.encryption:
                await self._posts.encryption.tend()

    async def _persist(self, step: Callable[[], Any]) -> None:
        """Take a step, again and again while what it needs can't be had."""
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                await step()
                return
            except PlatformError as error:
                log.warning("Matrix bot %s: %s; again in %g s", self.name, error, wait_s)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    async def _synced(self, since: str | None) -> WireSync:
        """The next sync that the server gives, over cuts and outages."""
        wait_s = _FIRST_WAIT_S
        while True:
            params: dict[str, str | int] = {"filter": FILTER if since else FIRST_FILTER}
            if since:
                params |= {"since": since, "timeout": _SYNC_MS}
            try:
                answer = await self._api.call(
                    "GET", CLIENT + "/sync", params=params, timeout_s=_SYNC_MS / 1000 + 30
                )
                return WireSync.model_validate(answer)
            except ValidationError as error:
                raise PlatformError("a sync can't be read", outcome="unknown") from error
            except PlatformError as error:
                if error.outcome == "refused" or type(error) is not PlatformError:
                    raise
                log.warning("Matrix bot %s: %s; again in %g s", self.name, error, wait_s)
                wait_s = max(wait_s, error.retry_after_s if error.outcome == "retry" else 0)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    async def _keys_heard(self, answer: WireSync) -> frozenset[str]:
        """Take what a sync holds for the keys; return the sessions whose keys have come."""
        for event in answer.account_data.events:
            if event.get("type") == "m.direct" and isinstance(event.get("content"), Mapping):
                self._directory.learn_direct(event["content"])
        if self._posts.encryption is None:
            return frozenset()
        lists = answer.device_lists
        fresh = await self._posts.encryption.take(
            answer.to_device.events,
            answer.device_one_time_keys_count,
            {*lists.changed, *lists.left},
        )
        return fresh.sessions

    async def _take(self, answer: WireSync, cursor: Cursor, timeline: Timeline) -> None:
        """Deliver what a sync brought; rooms side by side, a room's events one after the other."""
        known = set(cursor.place.rooms)
        since = cursor.place.since
        rooms = [
            self._take_room(room_id, joined, timeline, since, is_new=room_id not in known)
            for room_id, joined in answer.rooms.join.items()
        ]
        done = await asyncio.gather(*rooms, return_exceptions=True)
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
        for room_id in answer.rooms.leave:
            self._directory.forget(room_id)

    async def _take_room(
        self,
        room_id: str,
        joined: WireJoined,
        timeline: Timeline,
        since: str | None,
        *,
        is_new: bool,
    ) -> None:
        events = (event for raw in joined.state.events if (event := parsed(raw)))
        self._directory.apply(room_id, events)
        for raw in await timeline.heard(room_id, joined, since, is_new=is_new):
            await self._hear(room_id, raw)

    async def _late(self, cursor: Cursor, sessions: frozenset[str] | None) -> None:
        """Deliver what waited for these sessions' keys; None: try all."""
        for item in list(cursor.waiting):
            if sessions is not None and item.session not in sessions:
                continue
            if await self._opened(item.room_id, item.event) is not None:
                await self._hear(item.room_id, item.event)
                await cursor.done(item)

    # ── Events ──────────────────────────────────────────────────────────────────────────

    async def _opened(self, room_id: str, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return await self._posts.opened(room_id, raw)

    async def _hear(self, room_id: str, raw: Mapping[str, Any]) -> None:
        """Hand one event on; return when it is on disk, or waits there for its key."""
        plain = await self._opened(room_id, raw)
        if plain is None:
            await self._wait_for_key(room_id, raw)
            return
        event = parsed(plain)
        if event is None:
            return
        self._directory.apply(room_id, [event])
        if event.event_id:
            self._directory.wrote(event.event_id, event.sender)
        if found := heard(event, self._directory.own):
            await self._hand_on(room_id, found)

    async def _wait_for_key(self, room_id: str, raw: Mapping[str, Any]) -> None:
        if raw.get("sender") == self._directory.own.user_id:
            return
        if self._posts.encryption is None:
            if room_id not in self._deaf_in:
                log.warning("Matrix bot %s can't read the encrypted room %s", self.name, room_id)
                self._deaf_in.add(room_id)
            return
        assert self._cursor is not None
        log.info("Matrix bot %s waits for the key of an event in %s", self.name, room_id)
        await self._cursor.wait_for(room_id, raw)
        await self._posts.encryption.request(room_id, raw)

    async def _hand_on(self, room_id: str, found: Heard) -> None:
        receive = self._receive
        if receive is None:
            raise PlatformError("the bot isn't running", outcome="retry")
        for event in await self._events(room_id, found):
            try:
                await receive(event)
            except Rejected as error:
                log.warning("Matrix bot %s: an event is left out: %s", self.name, error)

    async def _events(self, room_id: str, found: Heard) -> Sequence[Event]:
        """What the gateway is told of it; often nothing."""
        if isinstance(found, Said):
            return [await self._inbound(room_id, found)]
        room = await self._directory.room(room_id)
        by = await self._directory.speaker(room_id, found.sender)
        match found:
            case Changed():
                if await self._directory.writer(room_id, found.event_id) != found.sender:
                    return []
                return [Edited(room, found.event_id, found.content, found.at)]
            case Removed():
                assert self._cursor is not None
                pin = self._cursor.place.pins.pop(found.event_id, None)
                if pin is not None:
                    return [Pinned(room, pin.target, by, pinned=False)]
                return [Deleted(room, found.event_id)]
            case Reacted():
                return self._reacted(room, found, by)
            case Repinned():
                added = [Pinned(room, one, by) for one in found.added]
                return [*added, *(Pinned(room, one, by, pinned=False) for one in found.taken)]

    def _reacted(self, room: Room, found: Reacted, by: Speaker) -> list[Event]:
        if found.emoji.replace("\ufe0f", "") == PIN:
            assert self._cursor is not None
            pin = Pin(room_id=room.external_id, target=found.target)
            self._cursor.place.pins[found.event_id] = pin
            return [Pinned(room, found.target, by)]
        question, option = self._posts.question(found.target), option_of(found.emoji)
        if question is None or option is None or option >= question[1]:
            return []
        return [Chosen(question[0], option, by)]

    async def _inbound(self, room_id: str, said: Said) -> Inbound:
        """The message with what has to be looked up for it."""
        room = await self._directory.room(room_id)
        by = await self._directory.speaker(room_id, said.sender, is_bot=said.is_bot)
        if room.kind == "dm":
            room = replace(room, name=by.name)
        mentioned = said.mentioned or room.kind == "dm" or await self._answers_us(room_id, said)
        attachments = await self._files.keep(room_id, said.file)
        context = None
        if mentioned and said.thread_id:
            context = await self._directory.thread_context(room_id, said.thread_id, said.event_id)
        self._posts.heard_in_thread(said.thread_id, said.event_id)
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

    async def _answers_us(self, room_id: str, said: Said) -> bool:
        """Whether it replies to a message of ours, or stands in a thread that one began."""
        asked = [one for one in (said.reply_to, said.thread_id) if one]
        own = self._directory.own.user_id
        return any([await self._directory.writer(room_id, one) == own for one in asked])

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def split(self, text: str) -> list[str]:
        """Markdown pieces that each fit one post."""
        return split(text, LIMIT, size)

    async def post(self, place: Place, text: str, key: str) -> str:
        """Post one piece; return its event id."""
        return await self._posts.post(place, text_content(text), key)

    async def edit(self, place: Place, message_id: str, text: str) -> None:
        """Replace an own message's text."""
        await self._posts.edit(place, message_id, text)

    async def delete(self, place: Place, message_id: str) -> None:
        """Remove an own message; no error when it is gone already."""
        await self._posts.delete(place.room.external_id, message_id)

    async def find(
        self, place: Place, key: str, since: datetime, known: Collection[str]
    ) -> str | None:
        """The event id of the own message that `key` made. `known` isn't needed: each post carries
        its key."""
        return await self._posts.find(place, key, since)

    async def upload(self, place: Place, name: str, data: bytes, comment: str, key: str) -> str:
        """Post a file with a comment as its caption; return the event's id."""
        encrypted = await self._posts.is_encrypted(place.room.external_id)
        content = await self._files.content(name, data, comment, encrypted=encrypted)
        return await self._posts.post(place, content, key)

    async def ask(self, place: Place, question: Question, key: str) -> str:
        """Post a question, with a keycap to press for each choice and `!1`, `!2` to type."""
        return await self._posts.ask(place, question, key)

    # ── Signs and people ────────────────────────────────────────────────────────────────

    async def typing(self, place: Place, status: str) -> None:
        """Show in the room that it types ("" ends it). Never raises."""
        await self._signs.typing(place.room.external_id, status)

    async def mark(self, place: Place, message_id: str, mark: Mark) -> None:
        """A reaction on somebody's message. Never raises."""
        await self._signs.mark(place, message_id, mark)

    async def members(self, room: Room) -> Sequence[Speaker]:
        """The first hundred in the room, this bot left out; empty when the server doesn't tell."""
        own = self._directory.own.user_id
        try:
            state = await self._directory.state(room.external_id)
        except PlatformError as error:
            log.info("Matrix bot %s: %s", self.name, error)
            return []
        joined = [user for user, how in state.inside.items() if how == "join" and user != own]
        return [state.speaker(user) for user in joined[:_MOST_MEMBERS]]
