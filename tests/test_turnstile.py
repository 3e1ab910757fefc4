"""Many that wake at the same moment leave room for what comes from outside."""

import asyncio
import time
from functools import partial

from contract.turnstile import SHARE_S, turnstile


def work_for(seconds: float) -> None:
    """Take so much of the processor."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def test_one_passes_in_each_turn_of_the_loop() -> None:
    passed: list[str] = []
    loop = asyncio.get_running_loop()

    async def pass_through(name: str) -> None:
        await turnstile("screens").through()
        passed.append(name)

    def turn() -> None:
        passed.append("|")
        if len(passed) < 40:
            loop.call_soon(turn)

    tasks = [asyncio.create_task(pass_through(name)) for name in "abcde"]
    loop.call_soon(turn)
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    told = "".join(passed)
    assert [name for name in told if name != "|"] == ["a", "b", "d", "e"]
    assert all("|" in told[told.index(a) : told.index(b)] for a, b in ("ab", "bd", "de"))
    await asyncio.gather(*map(pass_through, "fg"))
    assert passed.index("f") < passed.index("g")


async def test_work_that_takes_the_whole_share_leaves_the_turn_to_others() -> None:
    done: list[str] = []
    loop = asyncio.get_running_loop()

    def work(name: str) -> None:
        work_for(2 * SHARE_S)
        done.append(name)

    def turn() -> None:
        done.append("|")
        if "c" not in done:
            loop.call_soon(turn)

    loop.call_soon(turn)
    await asyncio.sleep(0)
    for name in "abc":
        turnstile("screens").call(partial(work, name))
    assert done == ["|", "a"]  # there is time: it need not wait
    while "c" not in done:
        await asyncio.sleep(0)
    assert [name for name in done if name != "|"] == ["a", "b", "c"]
    assert all("|" in done[done.index(one) + 1 : done.index(two)] for one, two in ("ab", "bc"))


async def test_who_waits_is_before_who_comes() -> None:
    done: list[str] = []
    turnstile("screens").call(lambda: work_for(2 * SHARE_S))
    turnstile("screens").call(lambda: done.append("waits"))
    turnstile("screens").call(lambda: done.append("comes"))
    await turnstile("screens").through()
    assert done == ["waits", "comes"]
