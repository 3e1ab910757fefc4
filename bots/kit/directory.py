"""Names of people and rooms, and summaries of threads: looked up once, and never waited for long.

Each answer that is slow to get is kept: one question is under way at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import structlog

from contract.chat import Speaker
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# After a failure the question isn't asked again for so long.
_REST_S = 30.0
_TOLD = 100

HEADING = "[Thread context — prior messages in this thread, newest last]"
SHOWN, CHARS = 15, 400


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
        self._patience_s, self._keep_s, self._entries = patience_s, keep_s, entries
        self._answers: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._rests: dict[K, float] = {}
        self._told: set[str] = set()  # what failed before is told once as a warning
        self._asking: dict[K, tuple[asyncio.Task[None], float]] = {}  # and until when to wait

    def known(self, key: K) -> V | None:
        """The fresh answer, without asking."""
        answer = self._answers.get(key)
        return answer[0] if answer and self._now() < answer[1] else None

    def learn(self, key: K, value: V) -> None:
        self._answers[key] = (value, self._now() + self._keep_s)
        self._answers.move_to_end(key)
        if len(self._answers) > self._entries:
            self._answers.popitem(last=False)

    def forget(self, key: K) -> None:
        self._answers.pop(key, None)

    async def get(self, key: K) -> V | None:
        """The answer, or a stale one, or None if there is none in time. Never raises."""
        if (answer := self.known(key)) is not None:
            return answer
        if self._now() >= self._rests.get(key, 0.0):
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


def thread_block(lines: Sequence[tuple[Speaker, str]]) -> str | None:
    """The summary of a thread's earlier messages, oldest first; None when there are none."""
    shown = []
    for by, text in lines[-SHOWN:]:
        name = " ".join(by.name.split())
        label = f"{name} ({by.mention})" if by.mention else name
        cut = text if len(text) <= CHARS else text[: CHARS - 1] + "…"
        shown.append(f"- {label}: " + "\n  ".join(cut.splitlines()))
    return "\n".join([HEADING, *shown]) if shown else None


class LookupDirectory:
    """The base of a platform's directory: it closes the lookups that were made with it.

    now: the time in seconds since 1970. patience_s: how long an answer is waited for.
    """

    def __init__(self, *, now: Callable[[], float], patience_s: float) -> None:
        self._now, self._patience_s = now, patience_s
        self._lookups: list[Lookup[Any, Any]] = []

    def lookup(
        self,
        name: str,
        fetch: Callable[[K], Awaitable[V]],
        *,
        patience_s: float | None = None,
        keep_s: float = 3600.0,
        entries: int = 4096,
    ) -> Lookup[K, V]:
        """A cache over `fetch`; see Lookup."""
        made = Lookup(
            name,
            fetch,
            now=self._now,
            patience_s=self._patience_s if patience_s is None else patience_s,
            keep_s=keep_s,
            entries=entries,
        )
        self._lookups.append(made)
        return made

    async def close(self) -> None:
        """End the questions under way."""
        for made in self._lookups:
            await made.close()
