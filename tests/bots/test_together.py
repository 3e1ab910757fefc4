"""Works that stand and fall together."""

import asyncio

import pytest

from bots.kit.lanes import together
from contract.errors import PlatformError


async def test_the_first_failure_ends_the_others_and_is_raised_as_it_is() -> None:
    ended = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fail() -> None:
        raise PlatformError("no way in", outcome="refused")

    with pytest.raises(PlatformError, match="no way in"):
        await together({"one": wait(), "other": fail()})
    assert ended.is_set()


async def test_who_is_cancelled_cancels_both() -> None:
    ended: list[str] = []

    async def wait(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    task = asyncio.create_task(together({"one": wait("one"), "other": wait("other")}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == ["one", "other"]
