"""What a bot must not forget over a restart: values with a name, its secrets, its cursors."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from bots.kit.files import write
from contract.errors import ConfigError, MootError

M = TypeVar("M", bound=BaseModel)

log = structlog.stdlib.get_logger("moot.bots")

_MOST_ROOMS = 2_000


class States(Protocol):
    """Keeps values of one bot as JSON, by their names; whichever process asks, it is the same."""

    async def read(self, name: str) -> str | None:
        """The value that was written last; None: nothing ever. Raises MootError."""

    async def write(self, name: str, value: str) -> None:
        """Keep it; it is on disk when this returns. Values of a name are taken in the order of the
        calls. Raises MootError."""

    async def left_in_file(self, name: str) -> str | None:
        """The value that an earlier version left in a file, which `write` puts away; None: there is
        none. Raises MootError."""


KeyName = tuple[str, str]
"""The kind of key that it is, and its name among these."""


class KeyRows(Protocol):
    """Keeps the keys of devices, each as a text."""

    async def load(self, device: str) -> Sequence[tuple[KeyName, str]]:
        """All of a device. Raises MootError."""

    async def save(self, device: str, rows: Mapping[KeyName, str | None]) -> None:
        """Keep these, or delete those that are None, all at once; they are on disk when this
        returns. Raises MootError."""


class KeptSecrets(Protocol):
    """Keeps secrets of one bot, each under the name of its file."""

    @property
    def rows(self) -> KeyRows | None:
        """Where keys of devices are; None: in files of the bot's own folder."""

    async def read(self, name: str) -> str | None:
        """One of them; None: there is none. Raises MootError."""

    async def write(self, name: str, value: str) -> None:
        """Keep one; it is on disk when this returns. Raises MootError."""


class FileSecrets:
    """Files that only their owner may read."""

    rows = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, name: str) -> str | None:
        return await asyncio.to_thread(read_file, self._folder / name)

    async def write(self, name: str, value: str) -> None:
        await asyncio.to_thread(write, self._folder / name, value.encode())


def read_file(path: Path) -> str | None:
    """A small file's text; None: there is none. Blocks its thread."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


class State(Generic[M]):
    """One of these values."""

    def __init__(self, states: States, name: str, model: type[M]) -> None:
        self._states = states
        self.name = name
        self._model = model
        self._text: str | None = None  # on disk
        self._behind = False  # what is on disk is older, which was told

    async def load(self, *, otherwise: str) -> M | None:
        """The value that was saved last; None: nothing ever, or, with a warning, it can't be read.
        Raises MootError.

        otherwise: what comes of that, as the log tells it.
        """
        try:
            return await self.demand()
        except ConfigError as error:
            log.warning("state.unreadable", reason=f"{error}: {otherwise}")
            return None

    async def demand(self) -> M | None:
        """The same, but what can't be read raises ConfigError."""
        text = await self._states.read(self.name)
        left = await self._states.left_in_file(self.name) if text is None else None
        if (given := left if text is None else text) is None:
            return None
        try:
            value = self._model.model_validate_json(given)
        except ValidationError:
            told = f"{self.name} of the bot can't be read: delete it to begin again"
            raise ConfigError(told) from None
        if left is not None:
            await self.save(value)
        return value

    async def save(self, value: M) -> None:
        """Write it as it is now, unless it stands there already. Raises MootError."""
        text = value.model_dump_json()
        if text != self._text:
            self._text = None  # until it is certain
            await self._states.write(self.name, text)
            self._text = text

    async def keep(self, value: M) -> bool:
        """Save it; False when that fails, and a warning the first time.

        A cursor that is behind costs a second delivery, which the gateway drops.
        """
        try:
            await self.save(value)
        except MootError as error:
            if not self._behind:
                log.warning("cursor.not_kept", reason=error)
            self._behind = True
            return False
        self._behind = False
        return True


class _Taken(BaseModel):
    since: datetime
    rooms: dict[str, str]


class Cursor:
    """Up to `since`, by the server's clock, every message is on disk; rooms: id to type ("c").

    Messages are taken side by side: it never passes one that is still under way.
    """

    def __init__(self, states: States) -> None:
        self._kept = State(states, "cursor", _Taken)
        self._loaded = False
        self._open: dict[int, datetime] = {}
        self._numbers = itertools.count()
        self._newest: datetime | None = None
        self.rooms: dict[str, str] = {}

    async def load(self) -> None:
        """Read what an earlier process left, once. Raises MootError."""
        if not self._loaded:
            if state := await self._kept.load(otherwise="what was missed is not asked for"):
                self._newest, self.rooms = state.since, {**state.rooms, **self.rooms}
            self._loaded = True

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
