"""What the bot must not forget over a restart: how far it has heard, what it still waits for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict

from bots.kit.json_state import JsonState

log = structlog.stdlib.get_logger("moot.bots")

_MOST_WAITING = 500  # events of at most 64 KB whose key isn't there
_MOST_PINS = 1_000
_MOST_MOVED = 100


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
    """Where the bot is, in memory and on disk. user_id: of another account's nothing is known."""

    def __init__(self, folder: Path, user_id: str) -> None:
        self._kept = JsonState(folder / "cursor.json", SyncPosition)
        self._kept_waiting = JsonState(folder / "waiting.json", _Waitings)
        place = self._kept.load(otherwise="what was missed is not looked for")
        waiting = self._kept_waiting.load(otherwise="what had no key is given up")
        self.place = place if place and place.user_id == user_id else SyncPosition(user_id=user_id)
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
        """It was read, or there is nothing more to wait for."""
        self.waiting = [other for other in self.waiting if other is not item]
        await self._save_waiting()

    async def _save_waiting(self) -> None:
        await self._kept_waiting.save(_Waitings(events=self.waiting))
