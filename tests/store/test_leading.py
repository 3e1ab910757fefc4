"""One leads on a database: whoever led before writes nothing more, whenever it wakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from sqlalchemy import Connection, select, text

from store.database import Store
from store.leading import Lead, LeadLost, candidate
from store.patience import waiting
from store.schema import rooms
from tests.conftest import NewUrl


def insert(connection: Connection) -> None:
    connection.execute(rooms.insert().values(id="r", name="r", kind="room", created_at=0))


def slow(connection: Connection) -> None:
    insert(connection)
    connection.execute(text("SELECT pg_sleep(30)"))


@asynccontextmanager
async def standing_by(store: Store) -> AsyncIterator[Lead]:
    engine = store.lone_engine()
    assert engine is not None
    async with candidate(engine) as lead:
        yield lead


async def taken(lead: Lead) -> None:
    async with asyncio.timeout(20):
        while not await lead.take():
            await asyncio.sleep(0.1)


async def test_of_several_that_begin_together_one_leads(new_url: NewUrl) -> None:
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store.open(await new_url("postgresql")))
        leads = [await stack.enter_async_context(standing_by(store)) for _ in range(4)]
        found = await asyncio.gather(*(lead.take() for lead in leads))
        assert sorted(found) == [False, False, False, True]


async def test_a_commit_under_way_of_one_that_hung_is_never_made(new_url: NewUrl) -> None:
    async with (
        Store.open(await new_url("postgresql"), patience_s=30) as store,
        standing_by(store) as old,
        standing_by(store) as new,
    ):
        await taken(old)  # it never beats
        store.lead = old
        with waiting("some"):
            under_way = store.write(slow)
        await taken(new)
        assert new.epoch == 2
        with pytest.raises(LeadLost):
            await under_way
        with pytest.raises(LeadLost):
            await store.write(insert)
        async with asyncio.timeout(20):
            await old.keep()  # it wakes
        with pytest.raises(LeadLost):
            await old.sure()
        store.lead = new
        assert await store.read(lambda c: list(c.execute(select(rooms.c.id)))) == []
        await store.write(insert)
