"""A bot's cursors, and the rest that it must not forget: each value in a file of its own."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from bots.kit.files import write
from contract.errors import ConfigError

M = TypeVar("M", bound=BaseModel)

log = structlog.stdlib.get_logger("moot.bots")

_MOST_ROOMS = 2_000


class JsonState(Generic[M]):
    """A value as JSON on disk, written whole or not at all, readable by its owner only."""

    def __init__(self, path: Path, model: type[M]) -> None:
        self.path = path
        self._model = model
        self._lock = threading.Lock()  # a writer whose task was cancelled goes on
        self._asked = self._written = 0
        self._text: str | None = None
        self._behind = False  # what is on disk is older, which was told

    def read(self) -> M | None:
        """The value that was saved last; None: nothing ever. Raises OSError, ValidationError.

        Blocks its thread.
        """
        try:
            return self._model.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None

    def load(self, *, otherwise: str) -> M | None:
        """The value that was saved last; None, and a warning, when it can't be read.

        Blocks its thread.

        otherwise: what comes of that, as the log tells it.
        """
        try:
            return self.read()
        except (OSError, ValidationError) as error:
            log.warning(
                "state.unreadable",
                reason=f"{self.path} can't be read ({type(error).__name__}): {otherwise}",
            )
            return None

    async def demand(self) -> M | None:
        """The value that was saved last; None: nothing ever. Raises ConfigError."""
        try:
            return await asyncio.to_thread(self.read)
        except ValidationError:
            raise ConfigError(f"{self.path} can't be read: delete it to begin again") from None

    async def save(self, value: M) -> None:
        """Write it as it is now, unless it stands there already. Raises OSError.

        The last call wins, whichever thread comes first.
        """
        self._asked += 1
        await asyncio.to_thread(self._write, value.model_dump_json(), self._asked)

    async def keep(self, value: M) -> bool:
        """Save it; False when the disk fails, and a warning the first time.

        A cursor that is behind costs a second delivery, which the gateway drops.
        """
        try:
            await self.save(value)
        except OSError as error:
            if not self._behind:
                log.warning("cursor.not_kept", reason=error)
            self._behind = True
            return False
        self._behind = False
        return True

    def _write(self, text: str, number: int) -> None:
        with self._lock:
            if number < self._written:
                return
            if text != self._text:
                write(self.path, text.encode())
            self._text, self._written = text, number


class _Taken(BaseModel):
    since: datetime
    rooms: dict[str, str]


class Cursor:
    """Up to `since`, by the server's clock, every message is on disk; rooms: id to type ("c").

    Messages are taken side by side: it never passes one that is still under way.
    """

    def __init__(self, path: Path) -> None:
        self._kept = JsonState(path, _Taken)
        self._open: dict[int, datetime] = {}
        self._numbers = itertools.count()
        self._newest: datetime | None = None
        self.rooms: dict[str, str] = {}
        if state := self._kept.load(otherwise="what was missed is not asked for"):
            self._newest, self.rooms = state.since, state.rooms

    @property
    def since(self) -> datetime | None:
        """The time of the last message taken; None: nothing was ever taken."""
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
        await self._kept.keep(_Taken(since=since, rooms=rooms))
