"""A share of each turn of the loop, so that what comes from outside has its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import thread_time
from typing import Literal
from weakref import WeakKeyDictionary

SHARE_S = 0.003  # processor time of a turn; whoever begins within it may take a slice more


class Turnstile:
    """Lets the work of many pass, for a few milliseconds in each turn of the loop.

    What a hundred of them do at the same moment would else all fall into one turn of it, and a
    request that arrives meanwhile waits for them all. They pass in the order in which they came.
    """

    def __init__(self, at_once: int = 1) -> None:
        """at_once: so many are woken in a turn, who then go on."""
        self._at_once = at_once
        self._woken = 0  # in this turn
        self._loop = asyncio.get_running_loop()
        self._until: float | None = None  # this turn's share; None: nobody has passed in it
        self._waiting: deque[Callable[[], None]] = deque()

    def call(self, work: Callable[[], None]) -> None:
        """Do it now if there is time in this turn of the loop, else in one of the next."""
        if not self._waiting and self._opens():
            work()
        else:
            self._waiting.append(work)

    def let(self, go: Callable[[], None]) -> None:
        """Call what wakes somebody, in a turn of the loop in which there is time. Once as many are
        woken as may be at once, all that is left of it is for them."""

        def work() -> None:
            go()
            self._woke()

        self.call(work)

    def _woke(self) -> None:
        self._woken += 1
        if self._woken >= self._at_once:
            self._until = 0.0

    async def through(self) -> None:
        """Go on in a turn of the loop in which there is time: this one, or one of the next."""
        if not self._waiting and self._opens():
            self._woke()
            return
        passed: asyncio.Future[None] = self._loop.create_future()
        self.let(lambda: None if passed.done() else passed.set_result(None))
        await passed

    def _opens(self) -> bool:
        now = thread_time()
        if self._until is None:
            self._until = now + SHARE_S
            self._loop.call_soon(self._next)
        return now < self._until

    def _next(self) -> None:
        """The next turn of the loop."""
        self._until, self._woken = None, 0
        while self._waiting and self._opens():
            self._waiting.popleft()()


Kind = Literal["output", "screens", "turns"]
_AT_ONCE: dict[Kind, int] = {"turns": 6}  # they share their next commit
_of: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Turnstile]] = WeakKeyDictionary()


def turnstile(kind: Kind) -> Turnstile:
    """The running loop's. Programs whose output is not read stand still, so that need not wait for
    what is made of it; "turns" is for whoever goes on with a turn."""
    of_loop = _of.setdefault(asyncio.get_running_loop(), {})
    return of_loop.get(kind) or of_loop.setdefault(kind, Turnstile(_AT_ONCE.get(kind, 1)))
