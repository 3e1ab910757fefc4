"""What the bot must not forget over a restart: how far it has heard, what it still waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from bots.matrix_account import write_private

T = TypeVar("T", bound=BaseModel)

log = logging.getLogger("moot.bots")

_MOST_WAITING = 500  # events of at most 64 KB whose key isn't there
_MOST_PINS = 1_000


class Invite(BaseModel):
    model_config = ConfigDict(frozen=True)

    by: str
    direct: bool = False


class Pin(BaseModel):
    """A 📌 that lies on a message."""

    model_config = ConfigDict(frozen=True)

    room_id: str
    target: str


class Waiting(BaseModel):
    """An encrypted event whose key isn't there (yet)."""

    model_config = ConfigDict(frozen=True)

    room_id: str
    event: dict[str, Any]

    @property
    def session(self) -> str:
        return str((self.event.get("content") or {}).get("session_id"))


class Place(BaseModel):
    """since: the sync token up to which every event was received; None: it never was connected.
    rooms: those it was in then."""

    user_id: str = ""
    since: str | None = None
    rooms: list[str] = []
    invites: dict[str, Invite] = {}
    pins: dict[str, Pin] = {}


class _Waitings(BaseModel):
    events: list[Waiting] = []


class Cursor:
    """Where the bot is, in memory and on disk. user_id: of another account's nothing is known."""

    def __init__(self, folder: Path, user_id: str) -> None:
        self._path, self._waiting_path = folder / "cursor.json", folder / "waiting.json"
        self.place = _read(self._path, Place)
        if self.place.user_id != user_id:
            self.place = Place(user_id=user_id)
        self.waiting = _read(self._waiting_path, _Waitings).events

    async def save(self) -> None:
        while len(self.place.pins) > _MOST_PINS:
            del self.place.pins[next(iter(self.place.pins))]
        data = self.place.model_dump_json().encode()
        await asyncio.to_thread(write_private, self._path, data)

    async def wait_for(self, room_id: str, event: Mapping[str, Any]) -> None:
        """Keep an event until its key comes."""
        known = {item.event.get("event_id") for item in self.waiting}
        if event.get("event_id") in known:
            return
        self.waiting.append(Waiting(room_id=room_id, event=dict(event)))
        if len(self.waiting) > _MOST_WAITING:
            gone = self.waiting.pop(0)
            log.warning("an event in %s is given up: its key never came", gone.room_id)
        await self._save_waiting()

    async def done(self, item: Waiting) -> None:
        """It was read, or there is nothing more to wait for."""
        self.waiting = [other for other in self.waiting if other is not item]
        await self._save_waiting()

    async def _save_waiting(self) -> None:
        data = _Waitings(events=self.waiting).model_dump_json().encode()
        await asyncio.to_thread(write_private, self._waiting_path, data)


def _read(path: Path, model: type[T]) -> T:
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return model()
    except ValidationError:
        log.warning("%s can't be read: what it held is begun anew", path.name)
        return model()
