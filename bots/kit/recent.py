"""Entries that are kept for a while: the newest, and answers that are slow to get."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import structlog

from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# After a failure the question isn't asked again for so long.
_REST_S = 30.0
_TOLD = 100


class Recent(OrderedDict[K, V]):
    """The `limit` entries that were written last. An entry that is written again is the newest."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._limit:
            self.popitem(last=False)


class Lookup(Generic[K, V]):
    """A cache over `fetch`.

    patience_s: how long a question is waited for, by all who ask it together; an answer that
    comes later is kept for the next one.
    keep_s: how long an answer is fresh; a stale one is still better than none.
    """

    def __init__(
        self,
        name: str,
        fetch: Callable[[K], Awaitable[V]],
        *,
        now: Callable[[], float],
        patience_s: float = 1.0,
        keep_s: float = 3600.0,
        entries: int = 4096,
    ) -> None:
        self._name, self._fetch, self._now = name, fetch, now
        self._patience_s, self._keep_s = patience_s, keep_s
        self._answers: Recent[K, tuple[V, float]] = Recent(entries)
        self._rests: dict[K, float] = {}
        self._told: set[str] = set()  # what failed before is told once as a warning
        self._asking: dict[K, tuple[asyncio.Task[None], float]] = {}  # and until when to wait

    def known(self, key: K) -> V | None:
        """The fresh answer, without asking."""
        answer = self._answers.get(key)
        return answer[0] if answer and self._now() < answer[1] else None

    def learn(self, key: K, value: V) -> None:
        self._answers[key] = (value, self._now() + self._keep_s)

    def forget(self, key: K) -> None:
        self._answers.pop(key, None)

    async def get(self, key: K) -> V | None:
        """The answer, or a stale one, or None if there is none in time. Never raises."""
        answer, now = self._answers.get(key), self._now()
        if answer and now < answer[1]:
            return answer[0]
        if now >= self._rests.get(key, 0.0):
            clock = asyncio.get_running_loop().time
            if key not in self._asking:
                task = asyncio.create_task(self._ask(key), name=f"look up {self._name} {key}")
                self._asking[key] = (task, clock() + self._patience_s)
            task, until = self._asking[key]
            await asyncio.wait({task}, timeout=max(until - clock(), 0.0))
        stale = self._answers.get(key)
        return stale[0] if stale else None

    async def _ask(self, key: K) -> None:
        try:
            self.learn(key, await self._fetch(key))
            self._rests.pop(key, None)
        except PlatformError as error:
            level = logging.INFO if str(error) in self._told else logging.WARNING
            log.log(level, "lookup.failed", reason=f"{self._name} of {key} is not known: {error}")
            self._told = {str(error)} if len(self._told) > _TOLD else self._told | {str(error)}
            self._rests[key] = self._now() + _REST_S
        finally:
            self._asking.pop(key, None)

    async def close(self) -> None:
        """End the questions under way."""
        tasks = [task for task, _ in self._asking.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
