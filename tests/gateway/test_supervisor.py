"""What the supervisor knows of its bots."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from bots.bot import Receive
from contract.chat import Deleted, Event, Room
from contract.errors import PlatformError
from gateway.app.supervisor import Supervisor
from gateway.observability.metrics import Counted, Metrics
from tests.doubles.platform import FakeBot

NOW = datetime(2026, 4, 21, 14, 2, tzinfo=UTC)


class Shaky(FakeBot):
    """Dies twice, then hears one message and stays."""

    starts = 0

    async def run(self, receive: Receive) -> None:
        self.starts += 1
        if self.starts == 1:
            raise PlatformError("the socket was closed", outcome="retry")
        if self.starts == 2:
            raise ZeroDivisionError
        await receive(Deleted(Room("slack:C1", "auth"), "m1"))
        await asyncio.Event().wait()


async def test_a_bot_that_dies_is_started_again_and_it_is_known_why() -> None:
    bot, waits, told = Shaky(), [0.0], [0]
    heard: list[Event] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        states.append((health.state, health.error))

    def changed() -> None:
        told[0] += 1

    async def receive(event: Event, _: object) -> None:
        heard.append(event)

    states: list[tuple[str, str]] = []
    supervisor = Supervisor([bot], changed=changed, clock=lambda: NOW, sleep=sleep)
    health = supervisor.health[bot.name]
    assert health.state == "down"
    task = asyncio.create_task(supervisor.run(bot, receive))
    async with asyncio.timeout(10):
        while not heard:
            await asyncio.sleep(0)
    assert states == [
        ("down", "the socket was closed"),
        ("down", "it crashed; the log says where"),
    ]
    assert (waits, told) == ([0.0, 1.0, 2.0], [5])
    assert (health.restarts, health.since, health.event_at) == (2, NOW, NOW)
    assert health.state == ("up" if bot.own_ids else "connecting")
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_figures_tell_which_bots_are_up() -> None:
    bot, metrics = FakeBot(), Metrics()
    health = Supervisor([bot]).health[bot.name]
    metrics.watch_bot(bot.name, health)
    line = f'moot_bot_up{{bot="{bot.name}"}} '.encode()
    assert line + b"0.0" in metrics.text(waiting=0, sessions=Counted())
    health.since, health.restarts = NOW, 2
    assert line + str(float(health.up)).encode() in metrics.text(waiting=0, sessions=Counted())
    assert b"moot_bot_restarts_total{" in metrics.text(waiting=0, sessions=Counted())
