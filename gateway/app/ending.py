"""The end of Moot: what runs may finish, for a while; what waits is left to the next start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from contract.values import dataclass
from gateway.turns.queue import TurnQueues

log = structlog.stdlib.get_logger("moot.app")


@dataclass(frozen=True, slots=True)
class Ends:
    """Set from outside. stop: finish what runs. at_once: don't wait for it."""

    stop: asyncio.Event
    at_once: asyncio.Event


async def finish(rooms: TurnQueues, timeout_s: float, at_once: asyncio.Event) -> None:
    """Return when no turn runs any more, after `timeout_s`, or when `at_once` is set."""
    log.info("gateway.stopping", turns=rooms.waiting(), timeout_s=round(timeout_s, 3))
    waiting = asyncio.create_task(at_once.wait(), name="second signal")
    finishing = asyncio.create_task(rooms.finish(timeout_s), name="finish turns")
    try:
        await asyncio.wait({waiting, finishing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        finishing.cancel()
    log.info("gateway.stopped", left=rooms.waiting())


class _Over(Exception):
    """The block is over."""


@asynccontextmanager
async def tasks_of_block() -> AsyncIterator[asyncio.TaskGroup]:
    """A group of tasks that all end with the block."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
            raise _Over
    except* _Over:
        pass
