"""Turns a second on PostgreSQL beside SQLite, in turns, and the statements of a turn on it.

The real `moot run`, Slack in front of an agent by API that answers at once, and one mention under
way in every room all the time, as in bench/slack_api.py.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path

import asyncpg

from bench.rig import TimedSlack, connected, run
from bench.slack_api import AFTERWARDS_S, ASK, EchoModel, Rows, install
from tests.doubles import postgres
from tests.doubles.service import service
from tests.doubles.slack import GENERAL

LOADED = ("-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=100")
WARM_S = 2.0
TURN = "INSERT INTO turns "


class Statements:
    """Those that a server has run since the last look, and how often each."""

    def __init__(self, folder: str, database: str) -> None:
        """folder: of the server's socket."""
        self._where = {"host": folder, "user": "moot", "database": database}

    async def prepare(self) -> None:
        """Have them counted."""
        await self._run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    async def forget(self) -> None:
        """Count from here on."""
        await self._run("SELECT pg_stat_statements_reset()")

    async def _run(self, statement: str) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(**self._where)
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    async def found(self) -> dict[str, int]:
        """Each with its number, the most frequent first."""
        rows = await self._run(
            "SELECT query, sum(calls) AS calls FROM pg_stat_statements"
            " JOIN pg_database d ON d.oid = dbid WHERE d.datname <> 'postgres'"
            " GROUP BY query ORDER BY 2 DESC"
        )
        return {row["query"]: int(row["calls"]) for row in rows}


def tell(found: dict[str, int], rooms: int, *, verbose: bool) -> None:
    """Print how many a turn took."""
    turns = sum(calls for query, calls in found.items() if query.startswith(TURN))
    print(f"statements a turn, {rooms} rooms: {sum(found.values()) / turns:.1f}")
    if verbose:
        for query, calls in found.items():
            print(f"{calls / turns:6.2f}  {' '.join(query.split())[:150]}")


async def measure(
    given: argparse.Namespace, url: str | None, counted: Statements | None = None
) -> float:
    """Turns a second in front of one Moot. url: of its database; None: SQLite."""
    model, store = EchoModel(), f'[store]\nurl = "{url}"\n' if url else ""
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        async with TimedSlack.open() as slack, model.served() as model_url:
            assert isinstance(slack, TimedSlack)
            environment = install(Path(name), slack, model_url, store)
            config = (Path(name) / "moot.toml").read_text(encoding="utf-8")
            async with service(Path(name), config, **environment) as moot:
                await connected(slack)
                await slack.seconds(GENERAL, ASK, 0)
                rows, rooms = Rows(slack, moot, model), slack.rooms(given.rooms)
                await rows.closed_loop(rooms, WARM_S)
                if counted is not None:
                    for some in (rooms, rooms[:1]):
                        await counted.forget()
                        await rows.closed_loop(some, given.seconds)
                        tell(await counted.found(), len(some), verbose=given.verbose)
                await asyncio.sleep(AFTERWARDS_S)
                print(f"{'PostgreSQL' if url else 'SQLite'}: ", end="", flush=True)
                return await rows.closed_loop(rooms, given.seconds)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-v", "--verbose", action="store_true", help="every statement")
    given = parser.parse_args()
    with postgres.stopped_server() as folder:
        server = postgres.Server(folder, options=LOADED)
        server.start()
        try:
            await postgres.new_database(folder)  # waits for it
            counted = Statements(folder, "postgres")
            await counted.prepare()
            ratios = []
            for number in range(given.rounds):
                lite = await measure(given, None)
                url = await postgres.new_database(folder)
                rate = await measure(given, url, None if number else counted)
                ratios.append(rate / lite)
            told = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"PostgreSQL beside SQLite: {statistics.median(ratios):.2f} ({told})")
        finally:
            server.stop()


if __name__ == "__main__":
    run(main())
