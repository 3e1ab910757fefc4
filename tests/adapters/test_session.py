"""The machine that all drivers share: an ask ends, or is stopped, and leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from adapters.session.session import AgentSession
from contract.agent import Usage
from contract.errors import AgentError

SPENT = Usage("double", 3, 4)


class Slow:
    """A run that never ends by itself. stops: whether it lets itself be broken off."""

    def __init__(self, *, stops: bool = True) -> None:
        self.stops = stops
        self.working = True
        self.may_stop = asyncio.Event()
        self.may_stop.set()

    def partial(self) -> str:
        return "so far"

    def usage(self) -> Usage | None:
        return SPENT

    def unfinished(self) -> bool:
        return self.working

    async def break_off(self) -> bool:
        await self.may_stop.wait()
        self.working = False
        return self.stops


class Driver(AgentSession[Slow]):
    """A driver whose program is the run alone."""

    def __init__(self, run: Slow) -> None:
        super().__init__("double", "The double")
        self.run, self.ends, self.asked = run, 0, asyncio.Event()

    def alive(self) -> bool:
        return True

    async def _end(self) -> None:
        self.ends += 1

    async def ask(self, limit_s: float | None = None) -> str:
        return await self._within(limit_s, self._ask())

    async def _ask(self) -> str:
        await self._settled()
        self._run = self.run
        self.asked.set()
        while self.run.working:
            await asyncio.sleep(0.01)
        return "the answer"


async def asking(driver: Driver, limit_s: float | None = None) -> asyncio.Task[str]:
    driver.asked.clear()
    task = asyncio.create_task(driver.ask(limit_s))
    await driver.asked.wait()
    return task


async def test_an_answer_is_returned_and_nothing_is_left() -> None:
    driver = Driver(run := Slow())
    task = await asking(driver)
    run.working = False
    assert await task == "the answer"
    assert driver.ends == 0


async def test_stopped_it_says_what_was_said_and_spent() -> None:
    driver = Driver(Slow())
    task = await asking(driver)
    await driver.interrupt()
    with pytest.raises(AgentError) as caught:
        await task
    error = caught.value
    assert (error.kind, error.say) == ("stopped", "The double was stopped.")
    assert (error.partial, error.usage) == ("so far", SPENT)
    assert driver.ends == 0


async def test_too_long_is_stopped_too() -> None:
    task = await asking(Driver(Slow()), limit_s=0.05)
    with pytest.raises(AgentError) as caught:
        await task
    assert (caught.value.kind, caught.value.partial) == ("timeout", "so far")


async def test_its_caller_s_cancellation_is_no_error_of_the_agent() -> None:
    driver = Driver(run := Slow())
    task = await asking(driver)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await driver.close()
    assert not run.working


async def test_cancelled_and_interrupted_at_once_it_is_cancelled() -> None:
    driver = Driver(Slow())
    task = await asking(driver)
    task.cancel()
    await driver.interrupt()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_program_that_does_not_stop_is_ended() -> None:
    driver = Driver(Slow(stops=False))
    task = await asking(driver)
    await driver.interrupt()
    with pytest.raises(AgentError):
        await task
    assert driver.ends == 1


async def test_it_is_not_stopped_before_the_program_is_idle() -> None:
    driver = Driver(run := Slow())
    run.may_stop.clear()
    task = await asking(driver)
    stopping = asyncio.create_task(driver.interrupt())
    await asyncio.sleep(0.05)
    assert not task.done()
    assert not stopping.done()
    run.may_stop.set()
    await stopping
    with pytest.raises(AgentError, match="stopped"):
        await task


async def test_the_next_ask_waits_until_the_program_is_idle() -> None:
    driver = Driver(run := Slow())
    run.may_stop.clear()
    task = await asking(driver)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    driver.asked.clear()
    following = asyncio.create_task(driver.ask())
    await asyncio.sleep(0.05)
    assert not driver.asked.is_set()
    run.may_stop.set()
    assert await following == "the answer"
