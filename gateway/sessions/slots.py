"""Places for living programs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable


class SessionSlots:
    """Places for living programs, and the line of those who wait for one.

    make_room: called when the line grows; True when enough places are about to be left. line: of
    those who wait, and of those who got a place just now.
    """

    def __init__(self, most: int, make_room: Callable[[], bool]) -> None:
        self.most = most
        self._make_room = make_room
        self.leaving = 0  # places of programs that are being ended
        self._taken = 0
        self.line: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """The number of those that wait for a place."""
        return sum(not place.done() for place in self.line)

    async def take(self, waits: Callable[[], Awaitable[None]]) -> None:
        """Take a place. `waits` is called first when none is about to be left."""
        if self._taken < self.most and not self.waiting:
            self._taken += 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.line.append(mine)
        try:
            if not self._make_room():
                await waits()
            await mine
        except BaseException:
            if mine in self.line:
                self.line.remove(mine)
            else:  # it got one in the moment in which it was stopped
                self.leave()
            raise

    def resize(self, most: int) -> None:
        """Have more places or fewer: those that are taken stay so."""
        self.most = most
        while self.line and self._taken < most:
            self._taken += 1
            self._hand_on()

    def leave(self) -> None:
        """Hand a place to the first in the line."""
        if self._taken > self.most:
            self._taken -= 1
        else:
            self._hand_on()

    def _hand_on(self) -> None:
        """Give a place that is counted as taken to the first in the line; free it if none waits."""
        while self.line:
            first = self.line.popleft()
            if not first.done():
                first.set_result(None)
                return
        self._taken -= 1
