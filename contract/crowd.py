"""Many who wait for the loop at once, let through a few at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Turnstile:
    """Lets `at_once` pass in a turn of the loop, in the order in which they came: each goes on with
    a millisecond or two of work, and all together would hold up whoever else waits."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._passed = 0  # in this turn of the loop
        self._waiting: deque[Callable[[], object]] = deque()

    def let(self, go: Callable[[], object]) -> None:
        """Call `go`, now or in a later turn of the loop."""
        if self._passed == 0:
            asyncio.get_running_loop().call_soon(self._turn)
        if self._passed < self._at_once:
            self._passed += 1
            go()
        else:
            self._waiting.append(go)

    async def wait(self) -> None:
        """Pass."""
        passed = asyncio.get_running_loop().create_future()
        self.let(lambda: None if passed.done() else passed.set_result(None))
        await passed

    def _turn(self) -> None:
        self._passed = 0
        for _ in range(min(self._at_once, len(self._waiting))):
            self.let(self._waiting.popleft())
