"""How far a bot has read in each channel, kept on disk: what it missed is read after that."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bots.files import write

log = logging.getLogger("moot.bots")

# A cursor that is behind costs a second delivery, which the gateway drops; so it may rest.
_WRITE_AFTER_S = 0.5


@dataclass(slots=True)
class Cursor:
    """last: id of the newest message that was taken. guild: None for a direct message."""

    last: str
    guild: str | None = None


class Cursors:
    """The cursors of one account, and what else it must not forget: the commands it registered."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._channels: dict[str, Cursor] = {}
        self.account = self.commands = ""
        self._writing: asyncio.Task[None] | None = None
        self._dirty = False

    async def load(self, account: str) -> None:
        """Read what an earlier process left; that of another account is let go."""
        try:
            kept = json.loads(await asyncio.to_thread(self._path.read_text, "utf-8"))
            same = kept["account"] == account
            channels = {str(k): Cursor(**v) for k, v in kept["channels"].items()} if same else {}
            commands = str(kept["commands"]) if same else ""
        except FileNotFoundError:
            channels, commands = {}, ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("%s can't be read (%s): what was missed is not", self._path, error)
            channels, commands = {}, ""
        self.account, self._channels, self.commands = account, channels, commands

    async def close(self) -> None:
        """Leave everything on disk."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            self._writing = None
        if self._dirty:
            await self._write()

    def last(self, channel: str) -> str | None:
        found = self._channels.get(channel)
        return found.last if found else None

    def channels(self) -> dict[str, Cursor]:
        return dict(self._channels)

    def newest(self, guild: str) -> str | None:
        """The newest message that was taken in a guild; None: we have not been there."""
        found = [c.last for c in self._channels.values() if c.guild == guild]
        return max(found, key=int, default=None)

    def advance(self, channel: str, message: str, guild: str | None) -> None:
        """That message was taken, and all before it in its channel."""
        known = self._channels.get(channel)
        if known is not None and int(message) <= int(known.last):
            return
        self._channels[channel] = Cursor(message, guild or (known.guild if known else None))
        self._later()

    def forget(self, channel: str) -> None:
        if self._channels.pop(channel, None):
            self._later()

    def registered(self, commands: str) -> None:
        self.commands = commands
        self._later()

    def _later(self) -> None:
        self._dirty = True
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon(), name="write cursors")

    async def _write_soon(self) -> None:
        while self._dirty:
            await asyncio.sleep(_WRITE_AFTER_S)
            await self._write()

    async def _write(self) -> None:
        self._dirty = False
        channels = {channel: asdict(cursor) for channel, cursor in self._channels.items()}
        kept: dict[str, Any] = {"account": self.account, "commands": self.commands}
        data = json.dumps({**kept, "channels": channels}).encode()
        try:
            await asyncio.to_thread(write, self._path, data)
        except OSError as error:
            self._dirty = True
            log.warning("%s can't be written: %s", self._path, error)
            await asyncio.sleep(_WRITE_AFTER_S)
