"""The whole way: a row that the database refuses is reported, and its values are not."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import aiohttp

from tests.doubles.service import Service, service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'
TOKEN = "a-token-of-the-owner-0123456789"
SAID, NAME = "PLANTED-my-salary-is-1234", "Petronella Planted"


async def refused(running: Service, number: int) -> None:
    body = {
        "content": f"@demo {SAID}",
        "room": "web:planted-room",
        "message_id": f"m{number}",
        "metadata": {
            "source": "web",
            "sender_id": "web:planted",
            "sender_display_name": NAME,
            "sender_type": "human",
        },
    }
    headers = {"Authorization": f"Bearer {TOKEN}"}
    submit = f"{running.url}api/submit"
    async with (
        asyncio.timeout(30),
        aiohttp.ClientSession(headers=headers) as client,
        client.post(submit, json=body) as answer,
    ):
        assert answer.status >= 500
        assert SAID not in await answer.text()


async def test_a_row_that_the_database_refuses_is_not_in_the_log(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(60),
        service(tmp_path, CONFIG, ("--log", "DEBUG"), MOOT_TOKEN=TOKEN) as running,
    ):
        with closing(sqlite3.connect(tmp_path / "data" / "moot.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            await refused(running, 1)
            other.rollback()
            for table in ("messages", "rooms"):
                other.execute(
                    f"CREATE TRIGGER no_{table} BEFORE INSERT ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
                )
            other.commit()
            number = 2
            while "refused by a trigger" not in running.log():  # once it takes writes again
                await refused(running, number)
                number += 1
        log = running.log()
    assert "database is locked" in log
    for word in (SAID, NAME, "planted-room"):
        assert word not in log
