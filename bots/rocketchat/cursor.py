"""How far the messages of a server have been taken, kept over a restart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import structlog
from pydantic import BaseModel

from bots.kit.json_state import JsonState

log = structlog.stdlib.get_logger("moot.bots")

_MOST_ROOMS = 2_000


class _State(BaseModel):
    since: datetime
    rooms: dict[str, str]


class Cursor:
    """Up to `since`, by the server's clock, every message is on disk; rooms: id to type ("c").

    Messages are taken side by side: it never passes one that is still under way.
    """

    def __init__(self, path: Path) -> None:
        self._kept = JsonState(path, _State)
        self._open: dict[int, datetime] = {}
        self._numbers = itertools.count()
        self._newest: datetime | None = None
        self.rooms: dict[str, str] = {}
        if state := self._kept.load(otherwise="what was missed is not asked for"):
            self._newest, self.rooms = state.since, state.rooms

    @property
    def since(self) -> datetime | None:
        """None: nothing was ever taken."""
        times = [*self._open.values(), *([self._newest] if self._newest else [])]
        return min(times, default=None)

    def begin(self, at: datetime) -> None:
        """The first time ever: what was said before is nobody's business."""
        self._newest = at

    @contextmanager
    def taking(self, at: datetime, *, moves: bool = True) -> Iterator[None]:
        """While something of that time is taken. What fails stays open for the next run.

        moves: false where everything later may still be missing.
        """
        number = next(self._numbers)
        self._open[number] = at
        yield
        del self._open[number]
        if moves and (self._newest is None or at > self._newest):
            self._newest = at

    def settle(self, since: datetime | None) -> None:
        """Forget what is under way, and go on from `since`."""
        self._open.clear()
        self._newest = since

    async def save(self) -> None:
        """Write it down, if it has changed."""
        if (since := self.since) is None:
            return
        rooms = dict(list(self.rooms.items())[-_MOST_ROOMS:])
        try:
            await self._kept.save(_State(since=since, rooms=rooms))
        except OSError as error:
            log.error("cursor.not_kept", reason=error)
