"""The cost of a search of the messages where none has the word: `python -m bench.message_search`.

A word of a to z is one LIKE. The other lines are words with letters of both cases that SQLite's
LIKE doesn't know, as multiples of that one: 100,000 messages of 40 words, looked at to the end.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, insert

from store.database import Store
from store.schema import messages
from store.searching import search

WORDS = (
    "haus",
    "message",
    "expiry",
    "über",
    "größer",
    "answer",
    "läuft",
    "привет",
    "コード",
    "Token",
)
ASKED = ("zwanzig", "zwölfte", "größenordnung", "достопримечательность", "認証切れ")
ROOM, MESSAGES, TIMES = "bench:one", 100_000, 7


def row(number: int) -> dict[str, object]:
    """One message."""
    who = {"sender_id": "bench:ana", "sender_name": "Ana", "sender_type": "person"}
    said = {"content": " ".join(random.choices(WORDS, k=40)), "sent_at": number}
    at = {"room_id": ROOM, "message_id": str(number), "scope": f"room:{ROOM}"}
    return {**who, **said, **at, "received_at": number, "meta": {}, "attachments": []}


def fill(numbers: range, connection: Connection) -> None:
    """Insert these messages."""
    connection.execute(insert(messages), [row(number) for number in numbers])


async def once(store: Store, word: str) -> float:
    """Seconds until every message was looked at."""
    began, before = time.perf_counter(), None
    while True:
        page = await search(store, [word], [ROOM], before=before, limit=20)
        assert not page.items
        if (before := page.next_before) is None:
            return time.perf_counter() - began


async def main() -> None:
    """Print a line for each word."""
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        async with Store.open(f"sqlite:///{Path(folder)}/moot.db") as store:
            for first in range(0, MESSAGES, 10_000):
                await store.write(partial(fill, range(first, first + 10_000)))
            taken: dict[str, list[float]] = {word: [] for word in ASKED}
            for _ in range(TIMES):
                for word in ASKED:
                    taken[word].append(await once(store, word))
    plain = statistics.median(taken[ASKED[0]])
    for word in ASKED:
        took = statistics.median(taken[word])
        print(f"{word:24} {took:6.3f} s {took / plain:6.1f} times")


if __name__ == "__main__":
    asyncio.run(main())
