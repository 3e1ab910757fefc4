"""An index that misbehaves on purpose, over another one that does its work."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory.recall.index import Hit, Index, IndexEntry, IndexFailed

Mode = Literal["honest", "everybody", "claims", "repeats", "invents", "raises", "hangs"]
MODES: tuple[Mode, ...] = ("everybody", "claims", "repeats", "invents", "raises", "hangs", "honest")
HANG_S = 3.0  # longer than recall waits
RARELY = 0.003


@dataclass
class HostileIndex:
    """Answers each search in one of the modes, at random; everything else is done as asked."""

    inner: Index
    chance: random.Random
    modes: Sequence[Mode] = MODES
    lies: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        self.name = self.inner.name

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """Hits, or what is none."""
        mode = self.chance.choice(self.modes)
        honest = await self.inner.search(query, scopes, limit)
        self.lies += mode != "honest"
        match mode:
            case "everybody":
                return [Hit(one, "room:fake:C3", 1.0) for one in await self._all()]
            case "claims":
                return [Hit(one, self.chance.choice(scopes), 1.0) for one in await self._all()]
            case "repeats":
                return [
                    Hit(one, scopes[0], 0.5 + n / 9) for one in await self._all() for n in (0, 5)
                ]
            case "invents":
                return [Hit(f"no-{n}", scopes[0], float("nan")) for n in range(50)] + honest
            case "raises":
                raise IndexFailed("on purpose")
            case "hangs" if self.chance.random() < RARELY:
                await asyncio.sleep(HANG_S)
        return honest

    async def _all(self) -> list[str]:
        return sorted(await self.inner.ids())

    async def add(self, entries: Sequence[IndexEntry]) -> None:
        """As asked."""
        await self.inner.add(entries)

    async def remove(self, ids: Sequence[str]) -> None:
        """As asked."""
        await self.inner.remove(ids)

    async def ids(self, scope: str | None = None) -> set[str]:
        """As asked."""
        return await self.inner.ids(scope)

    async def clear(self) -> None:
        """As asked."""
        await self.inner.clear()

    async def warm(self) -> None:
        """As asked."""
        await self.inner.warm()
