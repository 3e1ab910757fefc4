"""`kill -9`, and SIGSTOP for a while, at every step of a turn, of everyone who takes part: each
question has exactly one answer, and its agent is asked twice at most."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from tests.doubles.matrix import sampled
from tests.doubles.slack import PRIVATE
from tests.machines.house import Machines, Question, machines, until

STEPS = ("stored", "asked", "draft", "question", "answered", "posted")
VICTIMS = ("worker", "leader", "broker", "database")
BLOWS = {"kill": 0.0, "stop 1 s": 1.0, "stop 3 s": 3.0, "stop 10 s": 10.0}
CELLS = {
    f"{step}: {victim}, {blow}": (step, victim, blow)
    for step, victim, blow in product(STEPS, VICTIMS, BLOWS)
}
SAMPLE = ("asked: leader, kill", "answered: database, stop 1 s")
AWAY_S = 2.0  # before what was killed is started again


@dataclass
class Victim:
    """Who is struck. start: it again; None: another one does its work."""

    send: Callable[[signal.Signals], None]
    kill: Callable[[], Awaitable[None]]
    start: Callable[[], Awaitable[None]] | None = None


def victim_of(house: Machines, name: str) -> Victim:
    """Whoever has the part now."""

    async def kill_database() -> None:
        house.database.kill()

    async def start_database() -> None:
        house.database.start()

    async def kill_broker() -> None:
        house.broker.kill()

    async def start_broker() -> None:
        house.broker.start()

    if name == "database":
        return Victim(house.database.send, kill_database, start_database)
    if name == "broker":
        return Victim(house.broker.send, kill_broker, start_broker)
    if name == "leader":
        moot = house.leader()
        return Victim(moot.send, moot.kill, moot.begin)
    worker = house.workers[house.busy()] if house.count("session.opened") else house.workers["w1"]

    async def kill_worker() -> None:
        worker.end(signal.SIGKILL)

    async def start_worker() -> None:
        worker.start(MOOT_DEMO_PACE="1")

    return Victim(worker.send, kill_worker, start_worker)


async def strike(house: Machines, name: str, blow: str) -> None:
    """Kill it and start it again, or stop it for a while."""
    victim = victim_of(house, name)
    if blow == "kill":
        await victim.kill()
        await asyncio.sleep(AWAY_S)  # so long it is away: nothing is waited for
        if victim.start is not None:
            await victim.start()
        return
    victim.send(signal.SIGSTOP)
    try:
        await asyncio.sleep(BLOWS[blow])  # likewise
    finally:
        victim.send(signal.SIGCONT)


async def reach(house: Machines, step: str) -> Question:
    """Ask something, and wait until its turn is at this step."""
    if step == "draft":
        slow = await house.ask_demo("slow", "I take my time", "line 10 of ten")
        await until(lambda: house.posts(slow), "a draft is shown")
        return slow
    if step == "question":
        asks = await house.ask_demo("permission", "Time passes", "the clock is fine")
        await until(house.buttons, "the room is asked")
        return asks
    question = await house.ask()
    if step == "stored":
        await until(lambda: house.count("turn.queued"), "the turn is stored")
        return question
    await house.begun(question)
    if step != "asked":
        question.let_go()
        event = "agent.answered" if step == "answered" else "post.sent"
        await until(lambda: house.count(event), event)
    return question


@asynccontextmanager
async def person(house: Machines) -> AsyncIterator[None]:
    """Somebody who says yes to whatever is asked."""
    pressing = asyncio.create_task(house.say_yes(), name="person")
    try:
        yield
    finally:
        pressing.cancel()
        with suppress(asyncio.CancelledError):
            await pressing


@pytest.mark.parametrize("cell", sampled(CELLS, *SAMPLE))
async def test_a_blow_at_a_step_of_a_turn_costs_no_answer(tmp_path: Path, cell: str) -> None:
    step, victim, blow = CELLS[cell]
    agent = "demo" if step in ("draft", "question") else "obedient"
    pace = "0.2" if step != "draft" else "1"  # a quick answer has no draft
    async with machines(tmp_path, gateways=2, agent=agent, MOOT_DEMO_PACE=pace) as house:
        question = await reach(house, step)
        await asyncio.sleep(random.Random(cell).uniform(0, 0.1))  # the moment within the step
        await strike(house, victim, blow)
        question.let_go()
        async with person(house):
            await house.answered(question)
            if agent == "obedient":
                await house.ask(room=PRIVATE, free=True)  # and life goes on
            await house.check(again=house.asked)
        assert house.count("agent.asked") <= 2 * len(house.asked)
