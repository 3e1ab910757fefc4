"""The bot's ear at the homeserver: sync after sync, and none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from pydantic import ValidationError

from bots.matrix.api import CLIENT, MatrixApi, TokenRefused
from bots.matrix.backfill import FILTER, FIRST_FILTER, Backfill, Cursor
from bots.matrix.directory import Directory
from bots.matrix.events import parsed
from bots.matrix.inbound import EventHandler
from bots.matrix.invites import Invites
from bots.matrix.posts import Posts
from bots.matrix.wire import WireJoined, WireSync
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_SYNC_MS = 30_000  # how long the server may keep a sync open when nothing happens
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 15.0  # between tries to reach the server


class SyncLoop:
    """bot: its name."""

    def __init__(
        self,
        api: MatrixApi,
        directory: Directory,
        posts: Posts,
        *,
        cursor: Cursor,
        backfill: Backfill,
        handler: EventHandler,
        bot: str,
    ) -> None:
        self._api, self._directory, self._posts = api, directory, posts
        self._cursor, self._backfill, self._handler, self._bot = cursor, backfill, handler, bot

    async def run(self, invites: Invites) -> None:
        """Sync for ever. The token goes on only when all that came with it is on disk."""
        await self._persist(lambda: self._late(None))
        while True:
            answer = await self._synced(self._cursor.place.since)
            sessions = await self._keys_heard(answer)
            await invites.take(answer.rooms.invite)
            await self._persist(lambda a=answer: self._take(a))  # type: ignore[misc]
            invites.look()
            await self._persist(lambda s=sessions: self._late(s))  # type: ignore[misc]
            self._cursor.advance(answer.next_batch, answer.rooms.join, answer.rooms.leave)
            await self._cursor.save()
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
                log.warning("bot.unreachable", bot=self._bot, reason=error, in_s=round(wait_s, 3))
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
                if error.outcome == "refused" or isinstance(error, TokenRefused):
                    raise
                log.warning("bot.unreachable", bot=self._bot, reason=error, in_s=round(wait_s, 3))
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
        return await self._posts.encryption.take(
            answer.to_device.events,
            answer.device_one_time_keys_count,
            {*lists.changed, *lists.left},
        )

    async def _take(self, answer: WireSync) -> None:
        """Deliver what a sync brought; rooms side by side, a room's events one after the other."""
        known = set(self._cursor.place.rooms)
        since = self._cursor.place.since
        rooms = [
            self._take_room(room_id, joined, since, is_new=room_id not in known)
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
        since: str | None,
        *,
        is_new: bool,
    ) -> None:
        events = (event for raw in joined.state.events if (event := parsed(raw)))
        self._directory.apply(room_id, events)
        for raw in await self._backfill.heard(room_id, joined, since, is_new=is_new):
            await self._handler.handle(room_id, raw)

    async def _late(self, sessions: frozenset[str] | None) -> None:
        """Deliver what waited for these sessions' keys; None: try all."""
        for item in list(self._cursor.waiting):
            if sessions is not None and item.session not in sessions:
                continue
            if await self._posts.opened(item.room_id, item.event) is not None:
                await self._handler.handle(item.room_id, item.event, is_late=True)
                await self._cursor.done(item)
