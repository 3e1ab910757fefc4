"""What was said while there was no connection. Socket Mode repeats only what was under way.

After each connection every room's history is read from where all was taken, with the threads that
went on, and handed on as if Slack had just told it. What comes twice does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from bots.slack_api import SlackApi, SlackRefused
from bots.slack_cursors import START, Cursors
from bots.slack_directory import Directory
from contract import PlatformError, RoomKind

log = logging.getLogger("moot.bots")

Message = Mapping[str, Any]
T = TypeVar("T")
Take = Callable[[Mapping[str, Any]], Awaitable[None]]

# Slack repeats an event that wasn't acknowledged for about five minutes, past later ones.
_LATE_S = 300.0
# How far behind the cursor roots are looked at for replies that came after it.
_LOOK_BACK_S = 2 * 24 * 3600.0
_PAGE, _PAGES = 200, 25
# conversations.history, .replies and users.conversations are of tier 3, at least 50 calls a minute;
# the rest is left to people who wait for an answer.
_CALLS, _PER_S = 30, 60.0
_TRIES, _LONGEST_REST_S = 6, 60.0
_AGAIN_S = 300.0  # until rooms whose history could not be read are tried once more
_SAVE_S = 5.0
_REMEMBERED = 5_000
_TYPES: dict[RoomKind, str] = {"dm": "im", "gdm": "mpim", "room": "channel"}
_GONE = {"channel_not_found", "not_in_channel", "is_archived"}


class Backfill:
    """take: takes a payload as Slack would deliver it; returns when it is on disk."""

    def __init__(
        self,
        api: SlackApi,
        directory: Directory,
        cursors: Cursors,
        take: Take,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api, self._directory, self._sleep = api, directory, sleep
        self._cursors, self._take, self._now = cursors, take, now
        self._taken: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._calls: deque[float] = deque(maxlen=_CALLS)
        self._due = asyncio.Event()
        self._cuts = 0
        self._complete = False  # nothing is missing but in `_behind`
        self._behind: set[str] = set()

    # ── What it is told ─────────────────────────────────────────────────────────────────

    def cut(self) -> None:
        """There is no connection: from now on something may be missing."""
        self._cuts += 1
        self._complete = False

    def connected(self) -> None:
        """There is one again."""
        self._due.set()

    def took(self, channel: str, ts: str, thread: str | None) -> None:
        """A message is on disk."""
        self._taken[channel, ts] = None
        if len(self._taken) > _REMEMBERED:
            self._taken.popitem(last=False)
        if thread:
            self._cursors.spoke(channel, thread)
        if self._complete and channel not in self._behind:
            self._cursors.advance(channel, _earlier(ts, _LATE_S))

    def posted(self, channel: str, thread: str | None) -> None:
        """The bot itself said something."""
        if thread:
            self._cursors.spoke(channel, thread)

    # ── What it does ────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Catch up after each connection, until cancelled."""
        await asyncio.to_thread(self._cursors.load)
        if self._cursors.began == START:
            self._cursors.began = f"{self._now():.6f}"
            await self._save()
        clock = asyncio.get_running_loop().time
        again_at = 0.0
        try:
            while True:
                try:
                    async with asyncio.timeout(_SAVE_S):
                        await self._due.wait()
                except TimeoutError:
                    if self._behind and clock() >= again_at:
                        self._due.set()
                else:
                    self._due.clear()
                    await self._catch_up()
                    again_at = clock() + _AGAIN_S
                await self._save()
        finally:
            await asyncio.shield(self._save())

    async def _save(self) -> None:
        try:
            await self._cursors.save()
        except OSError as error:  # then more is read than is needed, some other time
            log.warning("how far Slack's rooms were read is not kept: %s", error)

    async def _catch_up(self) -> None:
        cuts = self._cuts
        self._behind.clear()
        kinds = await self._rooms()
        for channel, kind in kinds.items():
            try:
                await self._read(channel, kind)
            except SlackRefused as error:
                log.info("the history of %s is not read: %s", channel, error)
                if error.code in _GONE:
                    self._cursors.forget(channel)
            except PlatformError as error:
                log.warning("the history of %s is read later: %s", channel, error)
                self._behind.add(channel)
            await self._save()
        self._cursors.settled |= not self._behind
        self._complete = cuts == self._cuts

    async def _rooms(self) -> dict[str, RoomKind | None]:
        """Those the bot is in, as far as Slack tells, and those it knew; the liveliest first."""
        joined: Mapping[str, RoomKind] = {}
        try:
            joined = await self._answered(self._directory.joined)
        except PlatformError as error:
            log.info("only the rooms that spoke before are looked through: %s", error)
        return {room: joined.get(room) for room in (*self._cursors.rooms(), *joined)}

    async def _read(self, channel: str, kind: RoomKind | None) -> None:
        since = self._cursors.of(channel)
        if since is None:
            await self._start(channel)
            since = self._cursors.began
        found = {str(m["ts"]): m for m in await self._history(channel, since) if m.get("ts")}
        for root in self._threads(channel, found.values(), since):
            found |= {str(m["ts"]): m for m in await self._replies(channel, root, since)}
        for ts in sorted(found, key=float):
            await self._hand_on(channel, kind, found[ts], since)
        self._cursors.advance(channel, max(found, default=START, key=float))

    async def _start(self, channel: str) -> None:
        """At the very first start nothing from before it counts, replies included."""
        began = self._cursors.began
        page = await self._call("conversations.history", channel=channel, latest=began, limit=_PAGE)
        replies = (
            str(m["latest_reply"]) for m in page.get("messages") or () if m.get("latest_reply")
        )
        before = (ts for ts in (*_stamps(page), *replies) if not _after(ts, began))
        self._cursors.advance(channel, max(before, default=START, key=float))

    async def _hand_on(
        self, channel: str, kind: RoomKind | None, message: Message, since: str
    ) -> None:
        """A message that came after `since`, and an edit that did."""
        ts, edit = str(message["ts"]), message.get("edited") or {}
        place: dict[str, Any] = {"type": "message", "channel": channel}
        if kind:
            place["channel_type"] = _TYPES[kind]
        events: list[dict[str, Any]] = []
        if _after(ts, since) and (channel, ts) not in self._taken:
            events.append({**message, **place, "event_ts": ts})
        if _after(str(edit.get("ts") or START), since):
            events.append({**place, "subtype": "message_changed", "message": dict(message)})
        for event in events:
            await self._take({"type": "event_callback", "event": event})

    # ── Reading ─────────────────────────────────────────────────────────────────────────

    async def _history(self, channel: str, since: str) -> list[Message]:
        """The room's messages after `since`, and on the same pages some from before."""
        found: list[Message] = []
        args: dict[str, object] = {"oldest": _earlier(since, _LOOK_BACK_S), "limit": _PAGE}
        for _ in range(_PAGES):
            page = await self._call("conversations.history", channel=channel, **args)
            found += page.get("messages") or ()
            args["cursor"] = _next(page)
            if not args["cursor"] or not all(_after(ts, since) for ts in _stamps(page)):
                return found
        log.warning("%s: only the newest %d missed messages are read", channel, len(found))
        return found

    def _threads(self, channel: str, roots: Iterable[Message], since: str) -> list[str]:
        """Roots of threads that went on after `since`, or may have."""
        candidates = dict.fromkeys(self._cursors.threads(channel))
        for root in roots:
            ts, latest = str(root["ts"]), root.get("latest_reply")
            if latest and not _after(str(latest), since):
                candidates.pop(ts, None)
            elif latest or root.get("reply_count"):
                candidates[ts] = None
        return list(candidates)

    async def _replies(self, channel: str, root: str, since: str) -> list[Message]:
        """The thread's replies after `since`."""
        found: list[Message] = []
        args: dict[str, object] = {"ts": root, "oldest": since, "limit": _PAGE}
        try:
            for _ in range(_PAGES):
                page = await self._call("conversations.replies", channel=channel, **args)
                found += page.get("messages") or ()
                if not (cursor := _next(page)):
                    break
                args["cursor"] = cursor
        except SlackRefused as error:
            if error.code not in ("thread_not_found", "message_not_found"):
                raise
        return [m for m in found if m.get("ts") not in (None, root) and _after(str(m["ts"]), since)]

    async def _call(self, method: str, /, **args: object) -> Mapping[str, Any]:
        return await self._answered(lambda: self._api.call(method, **args))

    async def _answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer, within the pace; asked again when Slack put it off or gave none."""
        for attempt in range(_TRIES):
            await self._pace()
            try:
                return await ask()
            except SlackRefused:
                raise
            except PlatformError as error:
                if attempt == _TRIES - 1:
                    raise
                rest_s = error.retry_after_s if error.outcome == "retry" else 2.0**attempt
                log.info("reading what was missed goes on in %.0f s: %s", rest_s, error)
                await self._sleep(min(rest_s, _LONGEST_REST_S))
        raise AssertionError("the last try returns or raises")

    async def _pace(self) -> None:
        if len(self._calls) == _CALLS:
            rest_s = self._calls[0] + _PER_S - self._now()
            await self._sleep(min(max(rest_s, 0.0), _PER_S))
        self._calls.append(self._now())


def _stamps(page: Mapping[str, Any]) -> list[str]:
    return [str(message["ts"]) for message in page.get("messages") or () if message.get("ts")]


def _next(page: Mapping[str, Any]) -> str | None:
    return str((page.get("response_metadata") or {}).get("next_cursor") or "") or None


def _after(ts: str, since: str) -> bool:
    return float(ts) > float(since)


def _earlier(ts: str, by_s: float) -> str:
    return f"{max(float(ts) - by_s, 0.0):.6f}"
