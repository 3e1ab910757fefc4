"""Work that may miss that it is cancelled is ended all the same."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock, patch

import pytest
from nats.aio.client import Client

from contract.cancelling import cancellable
from gateway.workers.credentials import Key
from gateway.workers.link import Link


class Deaf:
    """Tries for ever, and misses the first cancellations."""

    def __init__(self, misses: int) -> None:
        self.misses = misses
        self.ended = False

    async def try_on(self, *_given: object, **_named: object) -> None:
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                self.misses -= 1
                if self.misses < 0:
                    self.ended = True
                    raise


async def test_it_is_cancelled_until_it_ends() -> None:
    deaf = Deaf(misses=2)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await cancellable(deaf.try_on())
    assert deaf.ended


async def test_its_result_and_its_failure_are_its_own() -> None:
    async def done(fails: bool) -> str:
        await asyncio.sleep(0)
        if fails:
            raise ValueError("no")
        return "yes"

    assert await cancellable(done(fails=False)) == "yes"
    with pytest.raises(ValueError, match="no"):
        await cancellable(done(fails=True))


async def test_a_link_that_is_given_up_while_it_connects_is_ended() -> None:
    deaf = Deaf(misses=1)
    with (
        patch.multiple(Client, connect=deaf.try_on, close=AsyncMock()),
        pytest.raises(TimeoutError),
    ):
        async with asyncio.timeout(0.05), Link.open("nats://127.0.0.1:1", Key.make(), "gateway"):
            raise AssertionError("it never connects")
    assert deaf.ended
