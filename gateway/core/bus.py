"""Hands every event to whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from gateway.core import show
from gateway.core.events import AppEvent, TurnChanged

Publish = Callable[[AppEvent], None]

_BACKLOG = 10_000  # a listener this far behind has stopped listening


class EventBus:
    """Every happening to every subscriber, in order; a subscriber that sleeps is cut off."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[AppEvent | None]] = set()
        self._ends: dict[str, asyncio.Event] = {}

    def publish(self, happening: AppEvent) -> None:
        """Tell everybody; never waits."""
        if isinstance(happening, TurnChanged) and happening.turn.state in show.ENDED:
            self._ends.pop(happening.turn.id, asyncio.Event()).set()
        for queue in list(self._listeners):
            if queue.qsize() >= _BACKLOG:
                self._listeners.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(happening)

    def end_of(self, turn_id: str) -> asyncio.Event:
        """Set when the turn ends; a turn that has ended before is never heard of again."""
        return self._ends.setdefault(turn_id, asyncio.Event())

    def forget(self, turn_id: str) -> None:
        """Nobody waits for the turn's end any more."""
        self._ends.pop(turn_id, None)

    def subscribe(self) -> AsyncIterator[AppEvent]:
        """Everything from this call on, until the iterator or the bus is closed."""
        queue: asyncio.Queue[AppEvent | None] = asyncio.Queue()
        self._listeners.add(queue)
        return self._listen(queue)

    async def _listen(self, queue: asyncio.Queue[AppEvent | None]) -> AsyncIterator[AppEvent]:
        try:
            while (happening := await queue.get()) is not None:
                yield happening
        finally:
            self._listeners.discard(queue)

    def close(self) -> None:
        """End every subscription."""
        for queue in self._listeners:
            queue.put_nowait(None)
