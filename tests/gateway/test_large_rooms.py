"""What happens in a room takes the database no more steps when much was said there before.

Counted are the operations of SQLite's virtual machine, in all connections: they don't depend on how
busy the machine is.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from contract.chat import Deleted, Edited
from tests.doubles.platform import ROOM, said
from tests.doubles.running import Opened, gateway

FEW, MANY = 200, 20_000
EACH = 100  # operations between two counts
THREAD = "copy-50"
SCOPE = "room:fake:general"


class Operations:
    """Counts them, in hundreds."""

    def __init__(self) -> None:
        self.number = 0

    def watch(self, connection: sqlite3.Connection, _record: object) -> None:
        connection.set_progress_handler(self._count, EACH)

    def _count(self) -> int:
        self.number += 1
        return 0


@pytest.fixture
def operations() -> Iterator[Operations]:
    counted = Operations()
    event.listen(Engine, "connect", counted.watch)
    yield counted
    event.remove(Engine, "connect", counted.watch)


def filled(database: Path, number: int) -> None:
    """Copies of the first message, each one's turn with it, which the memory has learned from."""
    with sqlite3.connect(database) as connection:
        copied = {"seq": "seq + 2 * n", "message_id": "'copy-' || n"}
        asked = {"seq": "seq + n", "id": "'turn-' || n", "message_seq": "message_seq + 2 * n"}
        by = {"sender_id": "'fake:' || (n % 10)"}
        for table, changed in (("messages", copied | by), ("turns", asked)):
            told = connection.execute(f"SELECT name FROM pragma_table_info('{table}')")
            names = [name for (name,) in told]
            values = ", ".join(changed.get(name, name) for name in names)
            connection.execute(
                "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers"
                f" WHERE n < {number}) INSERT INTO {table} ({', '.join(names)}) SELECT {values}"
                f" FROM numbers, (SELECT * FROM {table} LIMIT 1)"
            )
        connection.execute("DELETE FROM pointers")
        connection.execute(
            "INSERT INTO pointers (layer, scope, seq, tried_at, failures)"
            " SELECT column1, ?, max(seq), 0, 0 FROM messages,"
            " (VALUES ('messages'), ('episodes')) GROUP BY column1",
            [SCOPE],
        )
    connection.close()


@asynccontextmanager
async def large_room(folder: Path, number: int) -> AsyncIterator[Opened]:
    async with gateway(folder) as moot:
        await moot.hear(said("@demo the first", by="rosa"))
        await moot.settle()
    filled(folder / "moot.db", number)
    async with gateway(folder) as moot:
        await moot.hear(said("@demo what the process does once"))
        await moot.settle()
        await asyncio.sleep(0.2)  # what is put off
        yield moot


async def events(moot: Opened) -> AsyncIterator[str]:
    """What happens in the room, each when nothing is left to do of what happened before."""
    yield "nothing"
    await moot.hear(said("@demo hello", message_id="m1"))
    await moot.settle()
    yield "a mention"
    await moot.hear(said("@demo and here?", message_id="m2", thread_id=THREAD))
    await moot.settle()
    yield "a mention in a thread"
    await moot.hear(said("nobody is asked", message_id="m3"))
    yield "a message"
    await moot.hear(replace(said("in a thread, too", message_id="m4"), thread_id=THREAD))
    yield "a message in a thread"
    await moot.receive(Edited(ROOM, "m3", "nobody was asked", datetime.now(UTC)))
    yield "an edit"
    await moot.receive(Deleted(ROOM, "m3"))
    yield "a deletion"
    await moot.hear(said("@demo !undo", message_id="m5"))
    await moot.settle()
    yield "taking an answer back"
    await moot.house.transcript.page(ROOM.id, None, 50)
    yield "the page"
    await moot.house.transcript.onward(ROOM.id, THREAD, 50)
    yield "the page, from a message on"
    report = await moot.house.accounting.usage.report(1)
    assert {person.name for person in report.people} == {"Rosa", "Ash"}
    yield "what was used, and by whom"


async def counted(folder: Path, number: int, operations: Operations) -> dict[str, int]:
    found, before = {}, 0
    async with large_room(folder, number) as moot:
        async for name in events(moot):
            await asyncio.sleep(0.2)
            found[name] = operations.number - before
            before = operations.number
    return found


async def test_it_takes_no_more_steps_where_much_was_said(
    tmp_path: Path, operations: Operations
) -> None:
    few = await counted(tmp_path / "few", FEW, operations)
    many = await counted(tmp_path / "many", MANY, operations)
    more = {name: (few[name], number) for name, number in many.items() if name != "nothing"}
    slow = {name: pair for name, pair in more.items() if pair[1] > 2 * pair[0] + 20}
    assert not slow, f"hundreds of operations with {FEW} and with {MANY} messages: {slow}"
