"""What was said while there was no connection. Socket Mode repeats only what was under way.

After each connection every room's history is read from where all was taken, with the threads that
went on, and handed on as if Slack had just told it. What comes twice does no harm.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import structlog

from bots.slack.api import NO_METHOD, SlackApi, SlackRefused
from bots.slack.cursors import START, Cursors
from bots.slack.directory import Directory
from bots.slack.history import HistoryPages, Message, after, earlier, stamps
from contract.chat import RoomKind
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

Take = Callable[[Mapping[str, Any]], Awaitable[None]]

# Slack repeats an event that wasn't acknowledged for about five minutes, past later ones.
_LATE_S = 300.0
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
        self._directory = directory
        self._history = HistoryPages(api, now=now, sleep=sleep)
        self._cursors, self._take, self._now = cursors, take, now
        self._taken: OrderedDict[tuple[str, str], str | None] = OrderedDict()  # and its thread
        self._due = asyncio.Event()
        self._cuts = 0
        self._complete = False  # nothing is missing but in `_behind`
        self._behind: set[str] = set()
        self._told: set[str] = set()

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
        self._taken[channel, ts] = thread
        if len(self._taken) > _REMEMBERED:
            self._taken.popitem(last=False)
        if thread:
            self._cursors.spoke(channel, thread)
        if self._complete and channel not in self._behind:
            self._cursors.advance(channel, earlier(ts, _LATE_S))

    def removed(self, channel: str, ts: str) -> None:
        """A message was deleted."""
        self._taken.pop((channel, ts), None)

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
            log.warning("cursor.not_kept", reason=error)

    async def _catch_up(self) -> None:
        cuts = self._cuts
        self._behind.clear()
        kinds = await self._rooms()
        for channel, kind in kinds.items():
            try:
                await self._read(channel, kind)
            except SlackRefused as error:
                if error.code in _GONE:
                    self._cursors.forget(channel)
                    continue
                self._tell_refused(error)
                if error.code in NO_METHOD:
                    break
            except PlatformError as error:
                log.warning("history.postponed", channel=channel, reason=error)
                self._behind.add(channel)
            await self._save()
        self._cursors.settled |= not self._behind
        self._complete = cuts == self._cuts

    def _tell_refused(self, error: SlackRefused) -> None:
        """Once for each reason: it stays until somebody changes something at Slack's."""
        if error.code not in self._told:
            self._told.add(error.code)
            log.warning("history.off", reason=error)

    async def _rooms(self) -> dict[str, RoomKind | None]:
        """Those the bot is in, as far as Slack tells, and those it knew; the liveliest first."""
        joined: Mapping[str, RoomKind] = {}
        try:
            joined = await self._history.answered(self._directory.joined)
        except PlatformError as error:
            log.info("rooms.unknown", reason=error)
        return {room: joined.get(room) for room in (*self._cursors.rooms(), *joined)}

    async def _read(self, channel: str, kind: RoomKind | None) -> None:
        since = self._cursors.of(channel)
        if since is None:
            await self._start(channel)
            since = self._cursors.began
        known = {ts: thread for (room, ts), thread in self._taken.items() if room == channel}
        found = _by_ts(await self._history.messages(channel, since))
        missing = _missing(found, (ts for ts, thread in known.items() if thread is None))
        for root in self._threads(channel, found.values(), since):
            replies = _by_ts(await self._history.replies(channel, root, since))
            said = (ts for ts, thread in known.items() if thread == root and after(ts, since))
            missing += _missing(replies, said)
            found |= replies
        for ts in missing:
            await self._tell_gone(channel, kind, ts)
        for ts in sorted(found, key=float):
            await self._hand_on(channel, kind, found[ts], since)
        self._cursors.advance(channel, max(found, default=START, key=float))

    async def _start(self, channel: str) -> None:
        """At the very first start nothing from before it counts, replies included."""
        began = self._cursors.began
        page = await self._history.before(channel, began)
        replies = (
            str(m["latest_reply"]) for m in page.get("messages") or () if m.get("latest_reply")
        )
        before = (ts for ts in (*stamps(page), *replies) if not after(ts, began))
        self._cursors.advance(channel, max(before, default=START, key=float))

    async def _hand_on(
        self, channel: str, kind: RoomKind | None, message: Message, since: str
    ) -> None:
        """A message that came after `since`, and an edit that did."""
        ts, edit = str(message["ts"]), message.get("edited") or {}
        place = _place(channel, kind)
        events: list[dict[str, Any]] = []
        if after(ts, since) and (channel, ts) not in self._taken:
            events.append({**message, **place, "event_ts": ts})
        if after(str(edit.get("ts") or START), since):
            events.append({**place, "subtype": "message_changed", "message": dict(message)})
        for event in events:
            await self._take({"type": "event_callback", "event": event})

    async def _tell_gone(self, channel: str, kind: RoomKind | None, ts: str) -> None:
        event = {**_place(channel, kind), "subtype": "message_deleted", "deleted_ts": ts}
        await self._take({"type": "event_callback", "event": event})

    def _threads(self, channel: str, roots: Iterable[Message], since: str) -> list[str]:
        """Roots of threads that went on after `since`, or may have."""
        candidates = dict.fromkeys(self._cursors.threads(channel))
        for root in roots:
            ts, latest = str(root["ts"]), root.get("latest_reply")
            if latest and not after(str(latest), since):
                candidates.pop(ts, None)
            elif latest or root.get("reply_count"):
                candidates[ts] = None
        return list(candidates)


def _place(channel: str, kind: RoomKind | None) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "message", "channel": channel}
    return {**told, "channel_type": _TYPES[kind]} if kind else told


def _by_ts(messages: Iterable[Message]) -> dict[str, Message]:
    return {str(message["ts"]): message for message in messages if message.get("ts")}


def _missing(found: Mapping[str, Message], known: Iterable[str]) -> list[str]:
    """Known messages that are no longer where they were, among older ones that still are.

    What shows nothing older (an empty answer, new messages alone) proves nothing.
    """
    oldest = min(found, default=None, key=float)
    return [ts for ts in known if oldest and after(ts, oldest) and ts not in found]
