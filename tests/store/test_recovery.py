"""A database that takes something again, while whoever would go on ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from store.database import Store
from store.health import StoreRefusal


async def test_what_ends_meanwhile_does_not_end_what_writes(tmp_path: Path) -> None:
    async def goes_on() -> None:
        raise AssertionError("it began")

    def take_up() -> None:
        work = goes_on()
        try:
            group.create_task(work)
        except RuntimeError:
            work.close()
            raise

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            raise ValueError("it ends")
    async with (
        asyncio.timeout(20),
        Store.open(f"sqlite:///{tmp_path}/moot.db") as store,
    ):
        store.health.on_recovery = take_up
        store.health.failed(StoreRefusal("away", "it was away"))
        for _ in range(2):
            await store.write(lambda connection: connection.execute(text("SELECT 1")).scalar())
        assert store.health.state == "ok"


async def test_where_what_writes_has_died_the_end_does_not_wait_for_it(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("nobody thought of this")

    async def lose_what_writes() -> None:
        async with asyncio.timeout(20), Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
            store.health.on_recovery = fail
            store.health.failed(StoreRefusal("away", "it was away"))
            waits = store.write(lambda connection: connection.execute(text("SELECT 1")).scalar())
            await asyncio.wait([waits], timeout=0.5)

    with pytest.raises(ValueError, match="nobody thought"):
        await lose_what_writes()
