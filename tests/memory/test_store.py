"""The database: what was written is there, whatever happened to the neighbours' writes."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from contract import ConfigError
from memory.schema import metadata, rooms
from memory.store import HEAD, Store


def insert(room_id: str):  # type: ignore[no-untyped-def]
    async def work(connection: AsyncConnection) -> str:
        await connection.execute(
            rooms.insert().values(id=room_id, name=room_id, kind="room", created_at=0)
        )
        return room_id

    return work


async def test_a_write_is_there_for_the_next_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a/b/moot.db"
    async with Store.open(url) as store:
        assert await store.write(insert("r1")) == "r1"
    async with Store.open(url) as store, store.read() as connection:
        assert (await connection.execute(select(rooms.c.id))).scalars().all() == ["r1"]


async def test_one_callers_failure_leaves_the_others_writes_whole(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        works = [store.write(insert(name)) for name in ("a", "b", "a", "c")]
        results = await asyncio.gather(*works, return_exceptions=True)
        assert [r if isinstance(r, str) else type(r) for r in results] == [
            "a",
            "b",
            IntegrityError,
            "c",
        ]
        async with store.read() as connection:
            found = (await connection.execute(select(rooms.c.id))).scalars().all()
        assert sorted(found) == ["a", "b", "c"]


async def test_the_migrations_make_exactly_the_tables_of_the_schema(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store, store.read() as connection:
        found = await connection.run_sync(
            lambda sync: {
                table: {column["name"] for column in inspect(sync).get_columns(table)}
                for table in inspect(sync).get_table_names()
            }
        )
        version = (await connection.execute(text("SELECT * FROM alembic_version"))).scalar()
    assert version == HEAD
    assert {t.name: {c.name for c in t.columns} for t in metadata.tables.values()} == {
        name: columns for name, columns in found.items() if name != "alembic_version"
    }


async def test_a_database_that_cannot_be_opened_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "moot.db").mkdir()
    with pytest.raises(ConfigError, match=r"\[store\] url"):
        async with Store.open(f"sqlite:///{tmp_path}/moot.db"):
            pass
