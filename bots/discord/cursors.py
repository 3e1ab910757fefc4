"""How far a bot has read in each of Discord's channels, over a restart."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from pydantic import BaseModel, ConfigDict

from bots.kit.cursor import State, States

# A cursor that is behind costs a second delivery, which the gateway drops; so it may rest. A
# channel's first one may not: without it nothing is read there.
_WRITE_AFTER_S = 0.5


class Cursor(BaseModel):
    """last: id of the newest message that was taken. guild: None for a direct message."""

    model_config = ConfigDict(frozen=True)

    last: str
    guild: str | None = None


class _State(BaseModel):
    account: str
    commands: str = ""
    channels: dict[str, Cursor] = {}
    archives: dict[str, str] = {}


class Cursors:
    """The cursors of one account, and what else it must not forget: the commands it registered,
    and since when each guild's archived threads are still to be looked through."""

    def __init__(self, states: States) -> None:
        self._kept = State(states, "cursors", _State)
        self._channels: dict[str, Cursor] = {}
        self._archives: dict[str, str] = {}
        self.account = self.commands = ""
        self._writing: asyncio.Task[None] | None = None
        self._dirty = False
        self._urgent = asyncio.Event()

    async def load(self, account: str) -> None:
        """Read what an earlier process left; that of another account is let go."""
        kept = await self._kept.load(otherwise="what was missed is not read")
        if kept is None or kept.account != account:
            kept = _State(account=account)
        self.account, self._channels, self.commands = account, kept.channels, kept.commands
        self._archives = kept.archives

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
        if known is None:
            self._urgent.set()
        guild = guild or (known.guild if known else None)
        self._channels[channel] = Cursor(last=message, guild=guild)
        self._later()

    def forget(self, channel: str) -> None:
        if self._channels.pop(channel, None):
            self._later()

    def unarchive(self, guild: str, since: str) -> str:
        """Begin to look through a guild's archived threads; the id since when: where an earlier
        look came to no end, since then."""
        self._urgent.set()
        self._later()
        return self._archives.setdefault(guild, since)

    def unarchived(self, guild: str) -> None:
        """All of them were looked at."""
        if self._archives.pop(guild, None):
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
            with suppress(TimeoutError):
                async with asyncio.timeout(_WRITE_AFTER_S):
                    await self._urgent.wait()
            self._urgent.clear()
            await self._write()

    async def _write(self) -> None:
        self._dirty = False
        state = _State(
            account=self.account,
            commands=self.commands,
            channels=dict(self._channels),
            archives=dict(self._archives),
        )
        if not await self._kept.keep(state):
            self._dirty = True
            await asyncio.sleep(_WRITE_AFTER_S)
