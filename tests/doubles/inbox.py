"""The gateway's side of a bot in tests: takes events, and refuses them on request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bots.bot import Bot
from contract.chat import Event, Inbound

PATIENCE_S = 20.0


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


class Inbox:
    """What a bot delivered. failures: raised one by one, before anything is kept. gate: when it
    is closed, an event waits there with its bytes not yet on disk.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.failures: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = 0
        self._changed = asyncio.Condition()

    async def receive(self, event: Event) -> None:
        async with self._changed:
            self.arrived += 1
            self._changed.notify_all()
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        async with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    async def kept(self, count: int) -> list[Event]:
        """The events once there are so many."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: len(self.events) >= count)
        return self.events

    async def knocked(self, count: int) -> None:
        """Until so many events have come to the gate."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: self.arrived >= count)

    @property
    def messages(self) -> list[Inbound]:
        return [event for event in self.events if isinstance(event, Inbound)]


@asynccontextmanager
async def running(bot: Bot, inbox: Inbox) -> AsyncIterator[asyncio.Task[None]]:
    """The bot at work; cancelled on leaving. What `run` raised before is raised here."""
    task = asyncio.create_task(bot.run(inbox.receive), name=f"run {bot.name}")
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.result()
