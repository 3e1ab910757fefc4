"""What happens, told to whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from gateway.happenings import Happening

Publish = Callable[[Happening], None]

_BACKLOG = 10_000  # a listener this far behind has stopped listening


class Bus:
    """Every happening to every subscriber, in order; a subscriber that sleeps is cut off."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[Happening | None]] = set()

    def publish(self, happening: Happening) -> None:
        """Tell everybody; never waits."""
        for queue in list(self._listeners):
            if queue.qsize() >= _BACKLOG:
                self._listeners.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(happening)

    async def subscribe(self) -> AsyncIterator[Happening]:
        """Everything from the first step of this iterator on, until it or the bus is closed."""
        queue: asyncio.Queue[Happening | None] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            while (happening := await queue.get()) is not None:
                yield happening
        finally:
            self._listeners.discard(queue)

    def close(self) -> None:
        """End every subscription."""
        for queue in self._listeners:
            queue.put_nowait(None)
