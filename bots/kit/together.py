"""Works that stand and fall together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any


async def together(works: Mapping[str, Coroutine[Any, Any, None]]) -> None:
    """Run coroutines side by side, each a task of its name; what the first to fail raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for name, work in works.items():
                group.create_task(work, name=name)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
