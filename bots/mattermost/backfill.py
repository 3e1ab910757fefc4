"""Asks a Mattermost server for what was said while nobody listened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

import structlog

from bots.kit.retry import PatientCalls
from bots.mattermost.api import MattermostApi, MattermostRefused
from bots.mattermost.directory import Directory, posts_of
from bots.mattermost.events import PostEvent, millis, parse_missed
from bots.mattermost.wire import WirePost

log = structlog.stdlib.get_logger("moot.bots")

_MOST = 1_000  # of these posts the server tells, and not which they are
_PAGE, _PAGES = 200, 25


class Backfill:
    """Over rate limits and short outages. now: the time in seconds since 1970."""

    def __init__(
        self, api: MattermostApi, directory: Directory, *, now: Callable[[], float]
    ) -> None:
        self._api, self._directory = api, directory
        self._calls = PatientCalls(tries=7, first_s=0.2, longest_s=120.0, now=now)

    async def rooms(self) -> list[str]:
        """The account's channels. Raises PlatformError."""
        try:
            return await self._calls.answered(self._directory.joined)
        except MattermostRefused as error:
            if error.status != 404:
                raise
            return []  # how some servers say that there is none

    async def of(self, room: str, since: datetime) -> list[PostEvent]:
        """New, edited and deleted posts since then, oldest first; none of a channel that is closed
        to us by now. Raises PlatformError while the server is away."""
        since_ms = millis(since)
        try:
            found = await self._page(room, since=since_ms)
            if len(found) >= _MOST:
                found = {**found, **await self._all(room, since_ms)}
        except MattermostRefused as error:
            log.warning("history.unreadable", room=room, reason=error)
            return []
        posts = sorted(found.values(), key=lambda post: post.create_at)
        events = (parse_missed(post, self._directory.own, since_ms) for post in posts)
        return [event for event in events if event is not None]

    async def _all(self, room: str, since_ms: int) -> dict[str, WirePost]:
        """Page by page, the newest first: those that still stand."""
        found: dict[str, WirePost] = {}
        for page in range(_PAGES):
            told = await self._page(room, page=page, per_page=_PAGE, skipFetchThreads="true")
            found |= told
            if not any(post.create_at > since_ms for post in told.values()):
                break
        return found

    async def _page(self, room: str, **query: int | str) -> dict[str, WirePost]:
        asked = partial(self._api.get, "channels", room, "posts", **query)
        return {post.id: post for post in posts_of(await self._calls.answered(asked))}
