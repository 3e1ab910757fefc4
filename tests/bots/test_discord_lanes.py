"""What happens in one channel is taken in its order; what fails is not overtaken."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bots.kit.lanes import Lanes


def noting(done: list[str], what: str, gate: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        await gate.wait()
        done.append(what)

    return work


async def test_a_lane_keeps_its_order_and_holds_up_no_other() -> None:
    lanes, done, gate, open_gate = Lanes("test"), list[str](), asyncio.Event(), asyncio.Event()
    open_gate.set()
    lanes.put("a", noting(done, "a1", gate))
    lanes.put("a", noting(done, "a2", open_gate))
    lanes.put("b", noting(done, "b1", open_gate))
    async with asyncio.timeout(5):
        while not done:
            await asyncio.sleep(0)
    assert done == ["b1"]
    gate.set()
    async with asyncio.timeout(5):
        while len(done) < 3:
            await asyncio.sleep(0)
    await lanes.close()
    assert done == ["b1", "a1", "a2"]


async def test_what_fails_is_told_and_what_comes_after_it_is_left_undone() -> None:
    lanes, done, gate = Lanes("test"), list[str](), asyncio.Event()
    gate.set()

    async def fail() -> None:
        raise OSError("the disk is full")

    lanes.put("a", fail)
    lanes.put("a", noting(done, "a2", gate))
    with pytest.raises(OSError, match="full"):
        await lanes.failed
    lanes.put("b", noting(done, "b1", gate))
    await lanes.close()
    assert done == []
