"""How long it takes until life goes on when a machine is gone: a worker, the gateway that leads,
the database, the broker. Real processes, killed with -9; agents work until they are let go."""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.machines.house import ROOMS, Machines, Question, logged, machines, until

AWAY_S = 30.0
TARGETS = {"noticed": 2.0, "resumed": 4.0, "leader": 8.0}  # seconds


def told(what: str, seconds: list[float], meant: str) -> str:
    """A line of figures."""
    return (
        f"{what}: p50 {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s, "
        f"{len(seconds)} times (meant: {TARGETS[meant]:g})"
    )


async def worker_lost(house: Machines) -> tuple[float, float]:
    """Seconds until a worker that works is missed, and until another one works."""
    question = await house.ask()
    await house.begun(question)
    name, before = house.busy(), house.count("worker.lost")
    began = time.monotonic()
    house.workers[name].end(signal.SIGKILL)
    await until(lambda: house.count("worker.lost") > before, "it is missed")
    noticed_s = time.monotonic() - began
    await house.begun(question, 2)
    resumed_s = time.monotonic() - began
    question.let_go()
    await house.answered(question)
    heard = house.count("worker.heard")
    house.workers[name].start()
    await until(lambda: house.count("worker.heard") > heard, "it is there again")
    return noticed_s, resumed_s


async def leader_lost(house: Machines) -> float:
    """Seconds until a question that is asked then is answered."""
    leader = house.leader()
    began = time.monotonic()
    await leader.kill()
    question = await house.ask(free=True)
    await house.answered(question)
    answered_s = time.monotonic() - began
    waits = len(logged(leader, "gateway.stands_by"))
    await leader.begin()
    await until(lambda: len(logged(leader, "gateway.stands_by")) > waits, "one stands by again")
    return answered_s


async def away(
    house: Machines, kill: Callable[[], None], start: Callable[[], None], says: tuple[str, str]
) -> str:
    """What became of work and questions while a server was away for AWAY_S."""
    number = house.gateways.index(house.leader())
    working = [await house.ask(room=room) for room in ROOMS[:2]]
    for one in working:
        await house.begun(one)
    began = time.monotonic()
    kill()
    working[0].let_go()
    asked = [*working, *[await house.ask(room=room, free=True) for room in ROOMS[2:]]]
    await house.says(*says, number)
    said_s = time.monotonic() - began
    await asyncio.sleep(AWAY_S - said_s)
    start()
    back = time.monotonic()
    working[1].let_go()
    await house.answered(*asked)
    answered_s = time.monotonic() - back
    await house.settled()
    counted = _counted(house, asked)
    return f"healthz says so after {said_s:.1f} s; {counted} {answered_s:.1f} s after its return"


def _counted(house: Machines, asked: list[Question]) -> str:
    posts = [len(house.posts(one)) for one in asked]
    lost, doubled = posts.count(0), sum(count > 1 for count in posts)
    again = sum(one.begun() > 1 for one in asked)
    return (
        f"{len(asked)} asked, {lost} lost, {doubled} doubled, {again} begun twice; the last answer"
    )


async def measure(folder: Path, times: int) -> None:
    """Print the figures."""
    async with machines(folder, gateways=2) as house:
        await house.answered(await house.ask(free=True))
        lost = [await worker_lost(house) for _ in range(times)]
        print(told("a worker is killed: missed after", [one for one, _ in lost], "noticed"))
        print(told("  another one has begun after", [two for _, two in lost], "resumed"))
        led = [await leader_lost(house) for _ in range(times)]
        print(told("the gateway that leads is killed: first answer after", led, "leader"))
        servers: tuple[tuple[str, Callable[[], None], Callable[[], None], tuple[str, str]], ...] = (
            ("PostgreSQL", house.database.kill, house.database.start, ("store", "away")),
            ("NATS", house.broker.kill, house.broker.start, ("workers", "no connection")),
        )
        for name, kill, start, says in servers:
            print(f"{name} away for {AWAY_S:g} s: {await away(house, kill, start, says)}")
        await house.check(again=house.asked)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), arguments.times))


if __name__ == "__main__":
    main()
