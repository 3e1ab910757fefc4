"""Closes the holes in a room's timeline, and keeps how far the bot has read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict

from bots.kit.cursor import State, States
from bots.matrix.api import MatrixApi
from bots.matrix.wire import WireJoined

log = structlog.stdlib.get_logger("moot.bots")


_LIMIT = 50  # events of a room in one sync; the rest is fetched
_PAGES, _PAGE = 100, 100
_INVITE_PAGES = 5  # what was said between an invitation and the bot's coming

_QUIET: dict[str, Any] = {"presence": {"types": []}, "account_data": {"types": ["m.direct"]}}
_NOT_SAID: dict[str, Any] = {"ephemeral": {"types": []}, "account_data": {"types": []}}
FILTER = json.dumps({**_QUIET, "room": {**_NOT_SAID, "timeline": {"limit": _LIMIT}}})
FIRST_FILTER = json.dumps(
    {**_QUIET, "room": {**_NOT_SAID, "timeline": {"limit": _LIMIT}, "state": {"not_types": ["*"]}}}
)
"""Of the first sync: rooms' states are asked for when somebody speaks in them."""

_MOST_WAITING = 500  # events of at most 64 KB whose key isn't there
_MOST_PINS = 1_000
_MOST_MOVED = 100


class Backfill:
    """began_ms: when the bot was started; what is older is history for one that was never here."""

    def __init__(self, api: MatrixApi, user_id: str, began_ms: float) -> None:
        self._api, self._user_id, self._began_ms = api, user_id, began_ms

    async def heard(
        self, room_id: str, joined: WireJoined, since: str | None, *, is_new: bool
    ) -> Sequence[Mapping[str, Any]]:
        """The room's events, oldest first.

        since: the token of the sync before; None: this is the first one ever, and only what was
        said since the start counts. is_new: the bot has come since: what was said since it was
        invited counts. Raises PlatformError.
        """
        events: list[Mapping[str, Any]] = list(joined.timeline.events)
        if since is None:
            return [e for e in events if _time_ms(e) >= self._began_ms]
        if is_new:
            start = _invited(events, self._user_id)
            if start is None and joined.timeline.limited:
                events = [*await self._missed(room_id, joined, None), *events]
                start = _invited(events, self._user_id)
            return events[(0 if start is None else start) :]
        if joined.timeline.limited:
            return [*await self._missed(room_id, joined, since), *events]
        return events

    async def _missed(
        self, room_id: str, joined: WireJoined, since: str | None
    ) -> list[Mapping[str, Any]]:
        """The events before the timeline, back to the sync before or to the invitation."""
        if joined.timeline.prev_batch is None:
            return []
        pages = _PAGES if since else _INVITE_PAGES
        start = joined.timeline.prev_batch
        found = self._api.back(room_id, start=start, stop=since, pages=pages, page=_PAGE)
        events: list[Mapping[str, Any]] = []
        try:
            async for event in found:
                events.insert(0, event)
                if since is None and _invited([event], self._user_id) is not None:
                    break
        finally:
            await found.aclose()
        return events


def _invited(events: Sequence[Mapping[str, Any]], user_id: str) -> int | None:
    """The index of the first event after the last invitation (or a coming without one)."""
    start = None
    for number, event in enumerate(events, 1):
        if event.get("type") != "m.room.member" or event.get("state_key") != user_id:
            continue
        before = ((event.get("unsigned") or {}).get("prev_content") or {}).get("membership")
        now = (event.get("content") or {}).get("membership")
        if now == "invite" or (now == "join" and before not in ("invite", "join")):
            start = number
    return start


def _time_ms(event: Mapping[str, Any]) -> float:
    at = event.get("origin_server_ts")
    return float(at) if isinstance(at, (int, float)) else 0.0


class Invite(BaseModel):
    model_config = ConfigDict(frozen=True)

    by: str
    direct: bool = False


class PinReaction(BaseModel):
    """A 📌 that lies on a message."""

    model_config = ConfigDict(frozen=True)

    room_id: str
    target: str


class UndecryptedEvent(BaseModel):
    """An encrypted event whose key isn't there (yet)."""

    model_config = ConfigDict(frozen=True)

    room_id: str
    event: dict[str, Any]

    @property
    def session(self) -> str:
        return str((self.event.get("content") or {}).get("session_id"))


class SyncPosition(BaseModel):
    """since: the sync token up to which every event was received; None: it never was connected.
    rooms: those it was in then. moved: rooms that took the place of one of them."""

    user_id: str = ""
    since: str | None = None
    rooms: list[str] = []
    invites: dict[str, Invite] = {}
    pins: dict[str, PinReaction] = {}
    moved: list[str] = []


class _Waitings(BaseModel):
    events: list[UndecryptedEvent] = []


class Cursor:
    """The place in the stream, in memory and on disk. user_id: whose it is."""

    def __init__(self, states: States, user_id: str) -> None:
        self._kept = State(states, "cursor", SyncPosition)
        self._kept_waiting = State(states, "waiting", _Waitings)
        self.place = SyncPosition(user_id=user_id)
        self.waiting: list[UndecryptedEvent] = []

    async def load(self) -> None:
        """Read what an earlier process left; the place of another account is let go."""
        place = await self._kept.load(otherwise="what was missed is not looked for")
        waiting = await self._kept_waiting.load(otherwise="what had no key is given up")
        if place and place.user_id == self.place.user_id:
            self.place = place
        self.waiting = waiting.events if waiting else []

    def advance(self, since: str, joined: Iterable[str], left: Iterable[str]) -> None:
        """Everything up to this token was received."""
        self.place.since = since
        self.place.rooms = sorted({*self.place.rooms, *joined}.difference(left))

    def move(self, new_room: str, by: str) -> None:
        """A room was replaced by another one: the bot goes there too."""
        if new_room and new_room not in (*self.place.moved, *self.place.rooms):
            self.place.moved = [*self.place.moved, new_room][-_MOST_MOVED:]
            self.place.invites.setdefault(new_room, Invite(by=by))

    async def save(self) -> None:
        while len(self.place.pins) > _MOST_PINS:
            del self.place.pins[next(iter(self.place.pins))]
        await self._kept.save(self.place)

    async def wait_for(self, room_id: str, event: Mapping[str, Any]) -> None:
        """Keep an event until its key comes."""
        known = {item.event.get("event_id") for item in self.waiting}
        if event.get("event_id") in known:
            return
        self.waiting.append(UndecryptedEvent(room_id=room_id, event=dict(event)))
        if len(self.waiting) > _MOST_WAITING:
            gone = self.waiting.pop(0)
            log.warning("event.undecryptable", room=gone.room_id, reason="its key never came")
        await self._save_waiting()

    async def done(self, item: UndecryptedEvent) -> None:
        """Note that it was read, or that there is nothing more to wait for."""
        self.waiting = [other for other in self.waiting if other is not item]
        await self._save_waiting()

    async def _save_waiting(self) -> None:
        await self._kept_waiting.save(_Waitings(events=self.waiting))
