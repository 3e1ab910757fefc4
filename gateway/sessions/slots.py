"""How many programs live at the same time: who comes first gets the next place."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable


class SessionSlots:
    """Places for living programs, and the line of those who wait for one.

    make_room: called when the line grows; True when enough places are about to be left.
    """

    def __init__(self, most: int, make_room: Callable[[], bool]) -> None:
        self.most = most
        self._make_room = make_room
        self._taken = 0
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return sum(not place.done() for place in self._line)

    async def take(self, waits: Callable[[], Awaitable[None]]) -> None:
        """Take a place. `waits` is called first when none is about to be left."""
        if self._taken < self.most and not self.waiting:
            self._taken += 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(mine)
        try:
            if not self._make_room():
                await waits()
            await mine
        except BaseException:
            if mine in self._line:
                self._line.remove(mine)
            else:  # it got one in the moment in which it was stopped
                self.leave()
            raise

    def leave(self) -> None:
        """Hand a place to the first in the line."""
        while self._line:
            first = self._line.popleft()
            if not first.done():
                first.set_result(None)
                return
        self._taken -= 1
