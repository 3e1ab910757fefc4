"""Turns a second on PostgreSQL beside SQLite, in turns, and the statements of a turn.

A gateway without platform and program: a bot and an agent that answer at once, in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import asyncpg

from contract.chat import Room
from tests.doubles import postgres
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway

LOADED = ("-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=100")


async def talk(moot: Opened, room: int, turns: int) -> list[float]:
    """Ask in a room, one question after the other; seconds from each to its answer."""
    here = Room(f"fake:{room}", f"room {room}")
    took = []
    for number in range(turns):
        asked = replace(said("@demo hello", message_id=f"m{room}-{number}"), room=here)
        began = time.perf_counter()
        accepted = await moot.hear(asked)
        key = accepted.turns[0].key
        while moot.house.queues.busy(key):
            await asyncio.sleep(0.001)
        took.append(time.perf_counter() - began)
    return took


async def measure(url: str | None, rooms: int, turns: int) -> tuple[float, float]:
    """Turns a second, and the median of their milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        async with gateway(Path(folder), url=url) as moot:
            await asyncio.gather(*(talk(moot, room, 2) for room in range(1000, 1000 + rooms)))
            began = time.perf_counter()
            took = await asyncio.gather(*(talk(moot, room, turns) for room in range(rooms)))
            seconds = time.perf_counter() - began
    every = [one for of_room in took for one in of_room]
    return len(every) / seconds, statistics.median(every) * 1000


async def statements(folder: str) -> dict[str, int]:
    """The statements that the server has run, and how often each."""
    admin = await asyncpg.connect(host=folder, user="moot", database="postgres")
    rows = await admin.fetch(
        "SELECT query, sum(calls) AS calls FROM pg_stat_statements"
        " JOIN pg_database d ON d.oid = dbid WHERE d.datname <> 'postgres'"
        " GROUP BY query ORDER BY 2 DESC"
    )
    await admin.execute("SELECT pg_stat_statements_reset()")
    await admin.close()
    return {row["query"]: int(row["calls"]) for row in rows}


async def one_room(folder: str, turns: int, *, verbose: bool) -> None:
    """Print the statements of a turn."""
    url = await postgres.new_database(folder)
    admin = await asyncpg.connect(host=folder, user="moot", database="postgres")
    await admin.execute("CREATE EXTENSION pg_stat_statements")
    await admin.close()
    with tempfile.TemporaryDirectory() as home:
        async with gateway(Path(home), url=url) as moot:
            await talk(moot, 1, 5)
            await asyncio.sleep(1)
            await statements(folder)
            await talk(moot, 2, turns)
            await asyncio.sleep(1)
            found = await statements(folder)
    print(f"statements a turn: {sum(found.values()) / turns:.1f}")
    if verbose:
        for query, calls in found.items():
            print(f"{calls / turns:6.2f}  {' '.join(query.split())[:150]}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", type=int, default=16)
    parser.add_argument("--turns", type=int, default=10, help="in each room")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-v", "--verbose", action="store_true", help="every statement")
    given = parser.parse_args()
    with postgres.stopped_server() as folder:
        server = postgres.Server(folder, options=LOADED)
        server.start()
        try:
            await postgres.new_database(folder)  # waits for it
            await one_room(folder, 20, verbose=given.verbose)
            ratios = []
            for number in range(given.rounds):
                lite = await measure(None, given.rooms, given.turns)
                url = await postgres.new_database(folder)
                server_rate = await measure(url, given.rooms, given.turns)
                ratios.append(server_rate[0] / lite[0])
                print(
                    f"round {number + 1}: SQLite {lite[0]:.1f} turns/s, p50 {lite[1]:.0f} ms;"
                    f" PostgreSQL {server_rate[0]:.1f} turns/s, p50 {server_rate[1]:.0f} ms;"
                    f" ratio {ratios[-1]:.2f}"
                )
            print(f"PostgreSQL beside SQLite: {statistics.median(ratios):.2f}")
        finally:
            server.stop()


if __name__ == "__main__":
    asyncio.run(main())
