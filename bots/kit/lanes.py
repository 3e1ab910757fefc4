"""The order in which a bot takes what happens: a room's events one by one, rooms side by side."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

GRACE_S = 2.0  # for what is under way when the bot stops; the rest comes again


class Lanes:
    """Runs work in the order in which it came, a lane at a time. A failure ends the bot's run."""

    def __init__(self, name: str) -> None:
        """name: of its tasks."""
        self._name = name
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._queued: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = True
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def put(self, lane: str, work: Callable[[], Awaitable[None]]) -> None:
        """Queue some work; what is still queued when the lanes close is left undone."""
        task = asyncio.create_task(self._run(lane, work), name=f"{self._name} {lane}")
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
            await asyncio.wait(tasks, timeout=GRACE_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.failed.done():
            self.failed.exception()  # it was told, or nobody waits for it any more
        self.failed.cancel()


async def together(works: Mapping[str, Coroutine[Any, Any, None]]) -> None:
    """Run coroutines side by side, each a task of its name; what the first to fail raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for name, work in works.items():
                group.create_task(work, name=name)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


def first_failure(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What a group of tasks failed of first: the rest followed from it."""
    first = group.exceptions[0]
    return first_failure(first) if isinstance(first, BaseExceptionGroup) else first
