"""A turnstile lets a few through in each turn of the loop."""

from __future__ import annotations

import asyncio
from functools import partial

from contract.crowd import Turnstile


async def test_a_few_pass_in_each_turn_of_the_loop_in_their_order() -> None:
    turnstile, passed, turns = Turnstile(3), list[int](), list[int]()
    for number in range(8):
        turnstile.let(partial(passed.append, number))
    while len(passed) < 8:
        turns.append(len(passed))
        await asyncio.sleep(0)
    assert passed == list(range(8))
    assert turns == [3, 6]


async def test_whoever_comes_while_others_wait_passes_after_them() -> None:
    turnstile, passed = Turnstile(1), list[str]()

    async def go(name: str) -> None:
        await turnstile.wait()
        passed.append(name)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(go(name))
        await asyncio.sleep(0)
        group.create_task(go("d"))
    assert passed == ["a", "b", "c", "d"]


async def test_one_who_gave_up_keeps_nobody_waiting() -> None:
    turnstile = Turnstile(1)
    first, second, third = (asyncio.create_task(turnstile.wait()) for _ in range(3))
    await asyncio.sleep(0)
    second.cancel()
    async with asyncio.timeout(30):
        await asyncio.gather(first, third)
    assert second.cancelled()
