"""What a Rocket.Chat server tells only those who ask: a room's deletions, our rooms' names."""

from __future__ import annotations

import asyncio

import structlog

from bots.rocketchat.connection import Ddp
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

ROOM, USER = "stream-notify-room", "stream-notify-user"
DELETED, PRUNED = "deleteMessage", "deleteMessageBulk"

# A connection may call or subscribe 40 times in 10 s; half of it is for subscriptions.
_REST_S = 0.5
_FEW, _MOST = 8, 300  # rooms


class Subscriptions:
    """The rooms whose deletions are asked for, one after the other."""

    def __init__(self) -> None:
        self._rooms: set[str] = set()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    def clear(self) -> None:
        """A new connection has asked for nothing yet."""
        self._rooms.clear()
        while not self._waiting.empty():
            self._waiting.get_nowait()

    def add(self, rid: str) -> None:
        if rid not in self._rooms and len(self._rooms) < _MOST:
            self._rooms.add(rid)
            self._waiting.put_nowait(rid)

    async def rooms(self, ddp: Ddp) -> None:
        """For ever: subscribe to the rooms that were added."""
        while True:
            rid = await self._waiting.get()
            for what in (DELETED, PRUNED):
                await _try(ddp, ROOM, f"{rid}/{what}")
                await asyncio.sleep(_REST_S if len(self._rooms) > _FEW else 0)

    async def own(self, ddp: Ddp, own_id: str) -> None:
        for event in ("subscriptions-changed", "rooms-changed"):
            await _try(ddp, USER, f"{own_id}/{event}")


async def _try(ddp: Ddp, stream: str, event: str) -> None:
    """Subscribe; what the server doesn't give is done without."""
    try:
        await ddp.subscribe(stream, event)
    except PlatformError as error:
        log.info("watch.failed", reason=error)
