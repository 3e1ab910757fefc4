"""Asks a Rocket.Chat server for what was said while nobody listened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog
from pydantic import ValidationError

from bots.kit.cursor import Cursor
from bots.kit.retry import PatientCalls
from bots.rocketchat.api import RocketApi, RocketRefused
from bots.rocketchat.directory import Directory
from bots.rocketchat.wire import WireMessage, WireRoom, message
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")


HISTORY = {"c": "channels.history", "p": "groups.history", "d": "im.history"}

# Without the role `bot` a route may be called ten times a minute: with more rooms than this only
# those are asked in which something was said.
_FEW_ROOMS = 8
_TRIES = 6
_ABREAST = 8  # rooms that are asked side by side
_PAGE, _PAGES = 100, 50


@dataclass(frozen=True, slots=True)
class MissedChanges:
    """updated: oldest first; deleted: ids."""

    updated: Sequence[WireMessage]
    deleted: Sequence[str]


class Backfill:
    """Asks for what was said since the cursor, over rate limits and short outages."""

    def __init__(
        self, api: RocketApi, directory: Directory, cursor: Cursor, now: Callable[[], float]
    ) -> None:
        self._api, self._directory, self.cursor = api, directory, cursor
        self._calls = PatientCalls(tries=7, first_s=0.2, longest_s=120.0, now=now)
        self._last_at: dict[str, datetime] = {}

    async def rooms(self) -> dict[str, str]:
        """The account's rooms, id to type; the directory learns their names."""
        try:
            listed = await self._calls.answered(partial(self._api.get, "subscriptions.get"))
        except RocketRefused as error:
            log.warning("rooms.unknown", reason=error)
            return dict(self.cursor.rooms)
        found: dict[str, str] = {}
        for room in _rooms(listed):
            if room.rid:
                self._directory.learn_subscription(room)
                found[room.rid] = room.t or self.cursor.rooms.get(room.rid, "")
        await self._look_at_rooms()
        return found

    async def _look_at_rooms(self) -> None:
        """Names, kinds and the time of the last message, if the server tells; it need not."""
        try:
            listed = await self._api.get("rooms.get")
        except PlatformError as error:
            log.info("rooms.unknown", reason=error)
            return
        for room in _rooms(listed):
            if room.id:
                self._directory.learn_room(room)
                if room.last_at:
                    self._last_at[room.id] = room.last_at

    def quiet(self, rooms: Collection[str], since: datetime) -> set[str]:
        """The rooms in which nothing was said since then, as far as the server tells."""
        return {rid for rid in rooms if self._last_at.get(rid, since) < since}

    def asked(self, rooms: Collection[str], quiet: Collection[str]) -> list[str]:
        """The rooms that are worth a question to an account whose calls may be counted."""
        every = self._directory.own.unlimited or len(rooms) <= _FEW_ROOMS
        return [rid for rid in rooms if every or rid not in quiet]

    @property
    def abreast(self) -> int:
        """So many rooms may be asked side by side."""
        return _ABREAST if self._directory.own.unlimited else 1

    async def deleted(self, rid: str, since: datetime) -> Sequence[str]:
        """Ids of the room's messages that were deleted since then. Raises PlatformError."""
        return (await self._synced(rid, since)).deleted

    async def of(self, rid: str, kind: str, since: datetime) -> MissedChanges:
        """The changes in a room since then. Raises PlatformError while the server is away."""
        try:
            return await self._synced(rid, since)
        except RocketRefused as error:
            log.info("history.other_way", reason=error)
        try:
            return await self._history(rid, kind, since)
        except RocketRefused as error:
            log.warning("history.unreadable", room=rid, reason=error)
            return MissedChanges((), ())

    async def _synced(self, rid: str, since: datetime) -> MissedChanges:
        asked = partial(self._api.get, "chat.syncMessages", roomId=rid, lastUpdate=iso(since))
        answer = await self._calls.answered(asked)
        result = answer.get("result")
        told: Mapping[str, Any] = result if isinstance(result, dict) else {}
        deleted = [entry for entry in told.get("deleted") or () if isinstance(entry, dict)]
        ids = [str(entry["_id"]) for entry in deleted if entry.get("_id")]
        return MissedChanges(_messages(told.get("updated")), ids)

    async def _history(self, rid: str, kind: str, since: datetime) -> MissedChanges:
        route, found = HISTORY.get(kind, "channels.history"), list[WireMessage]()
        for page in range(_PAGES):
            start = page * _PAGE
            asked = partial(
                self._api.get, route, roomId=rid, oldest=iso(since), count=_PAGE, offset=start
            )
            answer = await self._calls.answered(asked)
            entries = answer.get("messages") or ()
            found += _messages(entries)
            if len(entries) < _PAGE:
                break
        return MissedChanges(sorted(found, key=lambda wire: wire.ts), ())


def iso(at: datetime) -> str:
    """A time as REST takes it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _messages(entries: Any) -> list[WireMessage]:
    found = []
    for entry in entries or ():
        try:
            found.append(message(entry))
        except ValueError as error:
            log.warning("message.unreadable", reason=error)
    return sorted(found, key=lambda wire: wire.ts)


def _rooms(answer: Mapping[str, Any]) -> Iterator[WireRoom]:
    for entry in answer.get("update") or answer.get("subscriptions") or ():
        try:
            yield WireRoom.model_validate(entry)
        except ValidationError:
            continue
