"""The arrivals of bench.seats on a real house: `moot run`, a broker, a PostgreSQL and three workers
with agents that work as long as a turn takes, in scaled time."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path

from bench.seats import Asked, Figures, simulate, takes_s
from tests.doubles.slack import BOT_USER
from tests.machines.house import Machines, machines, until

WORKERS, SEATS, SESSIONS, COUNT = 3, 4, 24, 120
SCALE = 1 / 40  # of a turn's length
LASTS_S, IDLE_S = 60.0, 12.0
SHARES = (0.5, 0.95)


def arrivals(seed: int) -> list[Asked]:
    """Questions that come evenly, each in one of the rooms."""
    rng = random.Random(seed)
    times = sorted(rng.uniform(0, LASTS_S) for _ in range(COUNT))
    return [Asked(at, rng.randrange(SESSIONS), min(takes_s(rng) * SCALE, 8.0)) for at in times]


async def real(folder: Path, asked: list[Asked]) -> tuple[Figures, float]:
    """The same figures of a house, and the seconds of a start."""
    table = f"[sessions]\nsleep_s = {IDLE_S:g}"
    async with machines(folder, workers=WORKERS, table=table) as house:
        rooms = _rooms(house)
        began, begun_at = time.monotonic(), {}
        (folder / "runs").mkdir()

        async def ask(number: int, one: Asked) -> None:
            await asyncio.sleep(max(one.at - (time.monotonic() - began), 0))
            mark = folder / "runs" / str(number)
            command = f"date +%s.%N | tee {mark}.began; sleep {one.takes_s:.2f}; echo end-{number}x"
            said = f"<@{BOT_USER}> please &lt;&lt;{command}&gt;&gt;"
            begun_at[number] = time.time()
            await house.slack.say(said, channel=rooms[one.session])

        await asyncio.gather(*(ask(number, one) for number, one in enumerate(asked)))

        def done() -> int:
            texts = "\n".join(text for room in rooms for text in house.slack.texts(room))
            return sum(f"end-{number}x" in texts for number in range(len(asked)))

        await until(lambda: done() == len(asked), "all are answered", 300)
        made = Figures(cold=house.count("session.opened"))
        for number in range(len(asked)):
            started = float((folder / "runs" / f"{number}.began").read_text())
            made.seat.append(started - begun_at[number])
        opened = [log for name in house.workers for log in _starts(house, name)]
        return made, sum(opened) / len(opened)


def _rooms(house: Machines) -> list[str]:
    names = [f"C0SEATS{number:03}" for number in range(SESSIONS)]
    for name in names:
        house.slack.channels[name] = {
            **house.slack.channels["C0GENERAL"],
            **{"id": name, "name": name.lower()},
        }
        house.slack.members[name] = list(house.slack.members["C0GENERAL"])
    return names


def _starts(house: Machines, name: str) -> list[float]:
    lines = (line for line in house.workers[name].log().splitlines() if "program.ready" in line)
    return [float(line.rpartition('"in_s": ')[2].strip("}")) for line in lines]


def compare(seed: int) -> None:
    """Print both."""
    asked = arrivals(seed)
    with tempfile.TemporaryDirectory() as folder:
        found, start_s = asyncio.run(real(Path(folder), asked))
    meant = simulate(asked, workers=WORKERS, seats=SEATS, idle_s=IDLE_S, cold_s=start_s, seed=seed)
    whole = [own + seat for own, seat in zip(meant.own, meant.seat, strict=True)]
    print(
        f"{COUNT} turns of {SESSIONS} sessions in {LASTS_S:g} s on {WORKERS} workers of {SEATS} "
        f"seats; a start takes {start_s:.2f} s"
    )
    for name, cold, waits in (("simulated", meant.cold, whole), ("real", found.cold, found.seat)):
        told = " / ".join(f"{Figures.at(waits, share):.2f}" for share in SHARES)
        print(f"{name:10} {cold / COUNT:.0%} cold, wait until it begins p50 / p95 {told} s")


if __name__ == "__main__":
    compare(1)
