"""After a turn that the record told: does the screen show the same? Never in the turn's way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from adapters.pty.console import Console
from adapters.reading.cross_check import find_mismatch
from adapters.screen.screen import Screen

log = structlog.stdlib.get_logger("moot.adapters.comparison")

DRAWN_S = 1.0  # of quiet: it has drawn what it has on record, and no next prompt waits
LIMIT_S = 5.0  # for that; one that draws on without end is taken as it is
MOST_ROWS = 300  # of a turn: some 7 ms to read
MOST_WAITING_BYTES = 64 * 1024


class CrossCheck:
    """One session's. `tell` is called for each disagreement. Who makes it stops it."""

    def __init__(self, name: str, tell: Callable[[], None]) -> None:
        self._name = name
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        self._since = 0

    def begin(self, console: Console, read: Callable[[Screen], str], text: str, since: int) -> None:
        """Compare in the background, once the screen is quiet.

        read: the reply on a screen. since: what `Screen.scrolled` was before the turn.
        """
        self._since = since
        self._task = asyncio.create_task(
            self._compare(console, read, text), name=f"compare-{self._name}"
        )

    async def stop(self) -> None:
        """Leave it: the next prompt is typed, or the session ends."""
        task, self._task = self._task, None
        if task:
            task.cancel()
            await asyncio.wait({task})

    async def _compare(self, console: Console, read: Callable[[Screen], str], text: str) -> None:
        await console.wait_quiet(DRAWN_S, LIMIT_S)
        if console.waiting_bytes > MOST_WAITING_BYTES:
            return
        screen = await console.screen()
        if screen.scrolled - self._since > MOST_ROWS:
            return
        shown = read(screen)
        await asyncio.sleep(0)  # reading took its milliseconds
        if found := find_mismatch(text, shown, cut=screen.alternate):
            log.warning(
                "screen.disagrees",
                agent=self._name,
                words=found.words,
                lost=found.lost,
                added=found.added,
                sha=found.digest,
                reason="the screen shows another reply than the record, which was taken",
            )
            self._tell()
