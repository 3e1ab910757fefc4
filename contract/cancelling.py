"""Work of others that may miss that it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN_S = 0.1


async def cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Await work that is cancelled again and again until it ends, if this is cancelled.

    `asyncio.wait_for` of Python 3.11 loses a cancellation that comes in the moment in which what it
    waits for is done: whoever tries something for ever would go on for ever.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=AGAIN_S)
        if not task.cancelled():
            task.exception()  # seen: whoever was cancelled has no use for it
