"""The layers of the memory follow every message here, whether or not an agent is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import structlog

from memory.extraction.plain import MessageFacts
from memory.layers import Spawn
from memory.pace import LearningPace
from memory.recall.recall import Recall
from store.rows import StoredMessage

if TYPE_CHECKING:
    from memory.extraction.extraction import Extraction

log = structlog.stdlib.get_logger("moot.memory")

HEARD_S = 10.0  # what people say among themselves is taken in so much later, room after room


class MemoryIngest:
    """Feeds the layers in the background. extraction, recall: None when there is none. pace: rooms
    take in what was said one after the other, when there is time; None: each at once.

    waiting: the scopes in which something was said that is not taken in yet, and since when by the
    loop's clock.
    """

    def __init__(
        self,
        messages: MessageFacts,
        extraction: Extraction | None,
        recall: Recall | None,
        spawn: Spawn,
        *,
        pace: LearningPace | None = None,
        heard_s: float = HEARD_S,
    ) -> None:
        self._messages = messages
        self._extraction = extraction
        self._recall = recall
        self._spawn = spawn
        self._pace = pace
        self._heard_s = heard_s
        self.waiting = dict[str, float]()
        self._hears = asyncio.Event()

    def begin(self) -> None:
        """Take up what an earlier process left undone."""
        if self._recall is not None:
            self._spawn(_guarded(self._recall.begin()), "recall begins")
        if self._extraction is not None:
            self._spawn(_guarded(self._extraction.begin()), "extraction begins")

    def heard(self, scope: str) -> None:
        """Something was said: it is taken in a little later."""
        self.waiting.setdefault(scope, asyncio.get_running_loop().time())
        self._hears.set()

    async def run(self) -> None:
        """Take in what was heard, for ever: every room's a while after the first of it."""
        while True:
            await self._hears.wait()
            await asyncio.sleep(self._heard_s)
            self._hears.clear()
            while self.waiting:
                scope, since = next(iter(self.waiting.items()))
                if self._pace is not None:
                    await self._pace.begin(since + self._heard_s)
                self.waiting.pop(scope, None)
                self._spawn(_guarded(self._take_in(scope)), f"memory hears {scope}")

    def changed(self, message: StoredMessage) -> None:
        """A message was edited or deleted: what was remembered of it follows."""
        work = self._messages.follow(message.scope, message.seq)
        self._spawn(_guarded(work), f"memory follows message {message.seq}")

    async def _take_in(self, scope: str) -> None:
        if self._messages.learns:
            await self._messages.run(scope)
        if self._extraction is not None:
            await self._extraction.run(scope)


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as error:  # a memory layer's border: its failure is nobody else's
        log.warning("memory.not_kept_up", error=type(error).__name__)
        log.debug("memory.not_kept_up", exc_info=True)
