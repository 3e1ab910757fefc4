"""Places for living programs."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable

from gateway.sessions.capacity import Capacity


class SessionSlots:
    """Places for living programs, and the line of those who wait for one. Programs go by name.

    capacity: how many there are. known: waited for when the line grows, until that is no guess.
    make_room: called then; True when enough places are about to be left. leaving: programs that are
    being ended.
    """

    def __init__(
        self,
        capacity: Capacity,
        known: Callable[[], Awaitable[None]],
        make_room: Callable[[], bool],
    ) -> None:
        self.capacity = capacity
        self._known = known
        self._make_room = make_room
        self.leaving: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._line: deque[tuple[str, asyncio.Future[None]]] = deque()

    @property
    def most(self) -> int:
        """The number of programs that may live at a time, as things are."""
        return self.capacity.most(self._taken)

    @property
    def waiting(self) -> int:
        """The number of those that wait for a place."""
        return sum(not place.done() for _, place in self._line)

    def short(self) -> bool:
        """Whether somebody waits, and would still when those that leave are gone."""
        waits = Counter(program for program, place in self._line if not place.done())
        return bool(waits) and not self.capacity.fits(self._taken - self.leaving + waits)

    def exceeded(self) -> bool:
        """Whether there are too many, also when those that leave are gone."""
        return self.capacity.exceeded(self._taken - self.leaving)

    async def take(self, program: str, waits: Callable[[], Awaitable[None]]) -> None:
        """Take a place. `waits` is called first when none is about to be left."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((program, mine))
        self.admit()
        try:
            if not mine.done():
                await self._known()
            if not mine.done() and not self._make_room():
                await waits()
            await mine
        except BaseException:
            mine.cancel()
            if mine.cancelled():
                self.admit()
            else:  # it got one in the moment in which it was stopped
                self.leave(program)
            raise

    def leave(self, program: str) -> None:
        """Leave a place, to the first in the line."""
        self._taken[program] -= 1
        self.admit()

    def admit(self) -> None:
        """Give places to the first in the line, as many as there are."""
        while self._line:
            program, first = self._line[0]
            if not first.done():
                if not self.capacity.fits(self._taken + Counter((program,))):
                    return
                self._taken[program] += 1
                first.set_result(None)
            self._line.popleft()
