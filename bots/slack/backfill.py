"""Reads what was said while there was no connection: Socket Mode repeats only what was under way.

After each connection every room's history is read from where all was taken, with the threads that
went on, and handed on as if Slack had just told it. What comes twice does no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel, ConfigDict

from bots.kit.cursor import State, States
from bots.kit.recent import Recent
from bots.kit.retry import PatientCalls
from bots.slack.api import NO_METHOD, SlackApi, SlackRefused
from bots.slack.directory import Directory
from bots.slack.wire import Ts
from contract.chat import RoomKind
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


START = "0"
"""A room's cursor when there was nothing in it at the first look."""

_THREADS = 100  # the last ones that somebody spoke in; each may cost a call after a cut

Message = Mapping[str, Any]
T = TypeVar("T")

# How far behind the cursor roots are looked at for replies that came after it.
_LOOK_BACK_S = 2 * 24 * 3600.0
_PAGE, _PAGES = 200, 25
# conversations.history, .replies and users.conversations are of tier 3, at least 50 calls a minute;
# the rest is left to people who wait for an answer.
_PACE = (30, 60.0)

Take = Callable[[Mapping[str, Any]], Awaitable[None]]

# Slack repeats an event that wasn't acknowledged for about five minutes, past later ones.
_LATE_S = 300.0
_AGAIN_S = 300.0  # until rooms whose history could not be read are tried once more
_SAVE_S = 5.0
_REMEMBERED = 5_000
_TYPES: dict[RoomKind, str] = {"dm": "im", "gdm": "mpim", "room": "channel"}
_GONE = {"channel_not_found", "not_in_channel", "is_archived"}


class _State(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    began: Ts = START
    settled: bool = False
    rooms: dict[str, Ts] = {}
    threads: list[tuple[str, Ts]] = []


class Cursors:
    """Places in each room: the ts up to which all was taken, and the threads last spoken in.

    began: when the bot was started for the first time. settled: every room of that time has its
    cursor; a new one is a room that it came into later.
    """

    def __init__(self, states: States) -> None:
        self._kept = State(states, "slack_cursors", _State)
        self.began, self.settled = START, False
        self._rooms: dict[str, str] = {}
        self._threads: Recent[tuple[str, str], None] = Recent(_THREADS)

    async def load(self) -> None:
        """Read what an earlier process wrote. Raises MootError."""
        state = await self._kept.load(otherwise="what was missed until now isn't looked for")
        if state is None:
            return
        self.began, self.settled = state.began, state.settled
        self._rooms = dict(state.rooms)
        self._threads.update(dict.fromkeys(state.threads))

    async def save(self) -> None:
        """Keep all this over a restart; without it more is read than is needed, some other time."""
        threads = list(self._threads)
        await self._kept.keep(
            _State(began=self.began, settled=self.settled, rooms=self._rooms, threads=threads)
        )

    def of(self, room: str) -> str | None:
        """The room's cursor; for a room that it came into later that of the last one that spoke;
        None at the very first start.
        """
        latest = max(self._rooms.values(), key=float, default=START) if self.settled else START
        return self._rooms.get(room) or (None if latest == START else latest)

    def advance(self, room: str, ts: str) -> None:
        """All up to `ts` was taken."""
        if float(ts) >= float(self._rooms.get(room, START)):
            self._rooms[room] = ts

    def forget(self, room: str) -> None:
        """The bot is no longer in the room."""
        self._rooms.pop(room, None)

    def rooms(self) -> Sequence[str]:
        """All known ones; the one that spoke last comes first."""
        return sorted(self._rooms, key=lambda room: float(self._rooms[room]), reverse=True)

    def spoke(self, room: str, thread: str) -> None:
        """Somebody said something in a thread."""
        self._threads[room, thread] = None

    def threads(self, room: str) -> Sequence[str]:
        """The room's threads in which somebody spoke lately."""
        return [thread for where, thread in self._threads if where == room]


class HistoryPages:
    """now: the time in seconds since 1970."""

    def __init__(
        self,
        api: SlackApi,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = api
        calls = PatientCalls(tries=6, longest_s=60.0, pace=_PACE, now=now, sleep=sleep)
        self.answered = calls.answered

    async def messages(self, channel: str, since: str) -> list[Message]:
        """The room's messages after `since`, and on the same pages some from before.

        Raises PlatformError.
        """
        found: list[Message] = []
        args: dict[str, object] = {"oldest": earlier(since, _LOOK_BACK_S), "limit": _PAGE}
        for _ in range(_PAGES):
            page = await self._call("conversations.history", channel=channel, **args)
            found += page.get("messages") or ()
            args["cursor"] = _next(page)
            if not args["cursor"] or not all(after(ts, since) for ts in stamps(page)):
                return found
        log.warning("history.cut", channel=channel, messages=len(found))
        return found

    async def before(self, channel: str, latest: str) -> Mapping[str, Any]:
        """The page of the room's messages that ends at `latest`. Raises PlatformError."""
        return await self._call(
            "conversations.history", channel=channel, latest=latest, limit=_PAGE
        )

    async def replies(self, channel: str, root: str, since: str) -> list[Message]:
        """The thread's replies after `since`, behind its root; nothing where it is gone.

        Raises PlatformError.
        """
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
        return [m for m in found if m.get("ts") == root or after(str(m.get("ts") or 0), since)]

    async def _call(self, method: str, /, **args: object) -> Mapping[str, Any]:
        return await self.answered(lambda: self._api.call(method, **args))


def stamps(page: Mapping[str, Any]) -> list[str]:
    return [str(message["ts"]) for message in page.get("messages") or () if message.get("ts")]


def _next(page: Mapping[str, Any]) -> str | None:
    return str((page.get("response_metadata") or {}).get("next_cursor") or "") or None


def after(ts: str, since: str) -> bool:
    return float(ts) > float(since)


def earlier(ts: str, by_s: float) -> str:
    return f"{max(float(ts) - by_s, 0.0):.6f}"


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
        # The last messages that are on disk, by room and ts, and the thread of each.
        self.taken: Recent[tuple[str, str], str | None] = Recent(_REMEMBERED)
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
        self.taken[channel, ts] = thread
        if thread:
            self._cursors.spoke(channel, thread)
        if self._complete and channel not in self._behind:
            self._cursors.advance(channel, earlier(ts, _LATE_S))

    # ── What it does ────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Catch up after each connection, until cancelled."""
        await self._cursors.load()
        if self._cursors.began == START:
            self._cursors.began = f"{self._now():.6f}"
            await self._cursors.save()
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
                await self._cursors.save()
        finally:
            await asyncio.shield(self._cursors.save())

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
            await self._cursors.save()
        self._cursors.settled |= not self._behind
        self._complete = cuts == self._cuts

    def _tell_refused(self, error: SlackRefused) -> None:
        """Once for each reason: it stays until somebody changes something at Slack's."""
        if error.code not in self._told:
            self._told.add(error.code)
            log.warning("history.off", reason=error)

    async def _rooms(self) -> dict[str, RoomKind | None]:
        """The rooms the bot is in, as far as Slack says, and those it knew; the liveliest first."""
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
        known = {ts: thread for (room, ts), thread in self.taken.items() if room == channel}
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
        if after(ts, since) and (channel, ts) not in self.taken:
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
