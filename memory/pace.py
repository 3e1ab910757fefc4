"""Learning leaves the processor to answers: rooms learn one after the other, when there is time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LOOK_S = 0.02
LATE_S = 0.01  # the loop has too much to do when it comes so much later than it was asked to
REST_S = 0.05  # between one room's learning and the next one's: it takes some ms of the processor
PATIENCE_S = 8.0  # a place that is never at rest learns all the same; `settled` waits for longer


class LearningPace:
    """Lets one room after the other begin to learn. Rooms that were answered at once would learn at
    once as well, in the middle of the next answers.

    busy: true while questions wait for the answers of others, or for anything but their agents.
    after_s: how long learning waits first, so that turns that follow one another are learned from
    together.
    """

    def __init__(
        self, busy: Callable[[], bool], after_s: float = 0.0, patience_s: float = PATIENCE_S
    ) -> None:
        self._busy = busy
        self._after_s = after_s
        self._patience_s = patience_s
        self._line = asyncio.Lock()  # first come, first served
        self._next_at = 0.0

    async def begin(self, since: float | None = None) -> None:
        """Return when it is this room's time: at the latest when its patience is over, and those
        before it have had theirs. since: it has waited from then on, by the loop's clock."""
        await asyncio.sleep(self._after_s)
        loop = asyncio.get_running_loop()
        until = (loop.time() if since is None else since) + self._patience_s
        async with self._line:
            await asyncio.sleep(max(self._next_at - loop.time(), 0.0))
            while self._busy() or await self._lags() or self._busy():
                if loop.time() >= until:
                    break
                await asyncio.sleep(LOOK_S)
            self._next_at = loop.time() + REST_S

    async def _lags(self) -> bool:
        loop = asyncio.get_running_loop()
        due_at = loop.time() + LOOK_S
        await asyncio.sleep(LOOK_S)
        return loop.time() - due_at > LATE_S
