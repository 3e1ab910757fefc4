"""What the way to a worker costs: an agent that answers at once, asked here and over a real broker.

Both are asked in turns in one run; the broker keeps each answer on disk before it is told. The
worker is in this process, so that nothing but the way is between the two figures.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from adapters.agent import Agent
from contract.chat import Room
from gateway.core.clock import clock
from gateway.core.ledger import SessionKey
from gateway.core.redaction import Redactor
from gateway.sessions.opener import NoSessions, Opener
from gateway.settings.personas.personas import FrontMatter, Persona
from gateway.workers.credentials import Key
from gateway.workers.door import RemoteDoor
from gateway.workers.link import Link
from gateway.workers.opener import RemoteOpener
from gateway.workers.worker import Worker
from tests.doubles.replies import Replies
from tests.doubles.running import until
from tests.doubles.scripted import ScriptedPrograms
from tests.doubles.workers import Broker, connected

PERSONA = Persona("ash", FrontMatter(agent="scripted"), "You are ash.")
ROOM = Room("web:general", "general")
KEY = SessionKey("ash", "room:web:general")
PROMPT = "word " * 400  # 2 kB
TARGET_MS = 3.0, 15.0


async def ask_ms(agent: Agent) -> float:
    """One question and its answer."""
    began = time.perf_counter()
    await agent.ask(PROMPT, Replies())
    return (time.perf_counter() - began) * 1000


def percentile(figures: Sequence[float], share: float) -> float:
    """The value below which this share of them is."""
    return sorted(figures)[min(int(len(figures) * share), len(figures) - 1)]


async def measure(folder: Path, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each question: here, and over the broker."""
    programs = ScriptedPrograms()
    here = Opener(programs=programs, ledger=NoSessions(), data_dir=folder / "here", clock=clock)
    there = Opener(programs=programs, ledger=NoSessions(), data_dir=folder / "there", clock=clock)
    broker = Broker(folder / "gateway")
    key = Key.read(broker.worker_key("w1"))
    broker.start()
    try:
        async with connected(broker) as workers, Link.open(broker.url, key, "w1") as link:
            worker = Worker(
                link=link,
                name="w1",
                seats=4,
                opener=there,
                data_dir=folder / "there",
                door=lambda lease: RemoteDoor(link, "w1", None, lease),  # type: ignore[arg-type]
                redactor=Redactor(),
            )
            working = asyncio.create_task(worker.run())
            await until(lambda: workers.fleet.seats > 0)
            remote = RemoteOpener(
                workers=workers,
                local=here,
                local_seats=0,
                ledger=NoSessions(),
                clock=clock,
                door=None,
            )
            near, far = await here.open(PERSONA, KEY, ROOM), await remote.open(PERSONA, KEY, ROOM)
            for _ in range(20):
                await ask_ms(far.agent)
            figures = [(await ask_ms(near.agent), await ask_ms(far.agent)) for _ in range(count)]
            await remote.close(far)
            working.cancel()
            await asyncio.wait({working})
    finally:
        broker.kill()
    return [one for one, _ in figures], [one for _, one in figures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="questions to each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here, there = asyncio.run(measure(Path(folder), arguments.count))
    print(f"here:  p50 {statistics.median(here):6.2f} ms, p99 {percentile(here, 0.99):6.2f} ms")
    print(f"there: p50 {statistics.median(there):6.2f} ms, p99 {percentile(there, 0.99):6.2f} ms")
    hop = [far - near for near, far in zip(here, there, strict=True)]
    p50, p99 = statistics.median(hop), percentile(hop, 0.99)
    print(f"the way: p50 {p50:.2f} ms, p99 {p99:.2f} ms (meant: {TARGET_MS[0]}, {TARGET_MS[1]})")


if __name__ == "__main__":
    main()
