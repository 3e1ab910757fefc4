"""How far the messages of a server have been taken, kept over a restart."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from bots.files import write
from bots.rocketchat_wire import moment

log = logging.getLogger("moot.bots")

_MOST_ROOMS = 2_000


class Cursor:
    """Up to `since`, by the server's clock, every message is on disk; rooms: id to type ("c").

    Messages are taken side by side: it never passes one that is still under way.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: dict[int, datetime] = {}
        self._numbers = itertools.count()
        self._newest: datetime | None = None
        self.rooms: dict[str, str] = {}
        self._saved = ""
        self._writing: asyncio.Task[None] | None = None
        self._read()

    def _read(self) -> None:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            self._newest = moment(kept["since"])
            self.rooms = {str(rid): str(kind) for rid, kind in kept["rooms"].items()}
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("%s can't be read, what was missed is not asked for: %s", self._path, error)

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
        """Write it down, if it has changed; one after the other, as a thread can't be cancelled."""
        if self._writing is not None:
            await asyncio.wait({self._writing})
        if (since := self.since) is None:
            return
        rooms = dict(list(self.rooms.items())[-_MOST_ROOMS:])
        text = json.dumps({"since": since.isoformat(), "rooms": rooms})
        if text == self._saved:
            return
        work = asyncio.to_thread(write, self._path, text.encode())
        self._writing = asyncio.create_task(work, name="write Rocket.Chat's cursor")
        try:
            await asyncio.shield(self._writing)
            self._saved = text
        except OSError as error:
            log.error("%s can't be written: %s", self._path, error)
