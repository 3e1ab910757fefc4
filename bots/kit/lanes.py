"""Channels as lanes: what happens in one is taken one after the other, lanes go side by side."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from functools import partial

_GRACE_S = 2.0  # for what is being taken when the bot stops; the rest is read again at its start


class Lanes:
    """Runs work in the order in which it came, a lane at a time. A failure ends the bot's run."""

    def __init__(self) -> None:
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._queued: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = True
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def put(self, lane: str, work: Callable[[], Awaitable[None]]) -> None:
        """Queue some work; what is still queued when the lanes close is left undone."""
        task = asyncio.create_task(self._run(lane, work), name=f"discord {lane}")
        self._tasks.add(task)
        self._queued[lane] += 1
        task.add_done_callback(partial(self._done, lane))

    async def _run(self, lane: str, work: Callable[[], Awaitable[None]]) -> None:
        async with self._locks[lane]:
            if not self._open:
                return
            taken = False
            try:
                await work()
                taken = True
            finally:
                self._open &= taken  # a later message must not overtake the one that failed

    def _done(self, lane: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._queued[lane] -= 1
        if not self._queued[lane]:  # a button's lane is used once
            del self._queued[lane]
            self._locks.pop(lane, None)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not self.failed.done():
            self.failed.set_exception(error)

    async def close(self) -> None:
        """Take no more, and let what is being taken come to its end."""
        self._open = False
        tasks = list(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=_GRACE_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.failed.done():
            self.failed.exception()  # it was told, or nobody waits for it any more
        self.failed.cancel()
