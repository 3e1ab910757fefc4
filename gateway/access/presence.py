"""Which bots' accounts are in which rooms: those that have heard something there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection, bindparam, select, update

from contract.chat import Room
from store.database import Store
from store.schema import rooms
from store.transcript import Transcript

_HEARD_BY = select(rooms.c.heard_by).where(rooms.c.id == bindparam("of"))
_KEEP = update(rooms).where(rooms.c.id == bindparam("of")).values(heard_by=bindparam("names"))


class Presence:
    """Kept on disk: after a restart an answer may be handed over before anything is heard."""

    def __init__(self, store: Store, transcript: Transcript, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._transcript = transcript
        self._clock = clock
        self._known: dict[str, frozenset[str]] = {}

    async def bots(self, room_id: str) -> frozenset[str]:
        """The names of the bots that are in a room."""
        if (known := self._known.get(room_id)) is not None:
            return known

        def work(connection: Connection) -> list[str]:
            return connection.execute(_HEARD_BY, {"of": room_id}).scalar() or []

        return self._known.setdefault(room_id, frozenset(await self._store.read(work, small=True)))

    async def heard(self, room: Room, bot: str) -> None:
        """The bot has heard something in the room. On disk soon."""
        known = await self.bots(room.id)
        if bot not in known:
            self._keep(room, known | {bot})

    async def left(self, room: Room, bot: str) -> None:
        """The platform lets the bot post there no more."""
        known = await self.bots(room.id)
        if bot in known:
            self._keep(room, known - {bot})

    def _keep(self, room: Room, names: frozenset[str]) -> None:
        self._known[room.id] = names

        def work(connection: Connection) -> None:
            self._transcript.keep_room(connection, room, self._clock())
            connection.execute(_KEEP, {"of": room.id, "names": sorted(names)})

        self._store.write_later(work)
