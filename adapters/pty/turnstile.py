"""One after the other through the loop, so that what comes from outside has its turn between."""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary


class Turnstile:
    """Lets one caller pass in each turn of the loop.

    A hundred that wake at the same moment would else all work in one turn of it, and a request
    that arrives meanwhile waits for them all.
    """

    def __init__(self) -> None:
        self._passed = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def through(self) -> None:
        """Wait for a turn of the loop in which nobody passed."""
        if self._passed:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        else:
            self._passed = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():  # else it was cancelled
                waiting.set_result(None)
                waiting.get_loop().call_soon(self._next)
                return
        self._passed = False


_of: WeakKeyDictionary[asyncio.AbstractEventLoop, Turnstile] = WeakKeyDictionary()


def turnstile() -> Turnstile:
    """The running loop's."""
    return _of.setdefault(asyncio.get_running_loop(), Turnstile())
