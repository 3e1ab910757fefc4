"""The database: what was written is there, whatever happened to the neighbours' writes."""

import asyncio
import sqlite3
import time
import traceback
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import IntegrityError

from contract.errors import ConfigError
from store.database import Store, StoreError
from store.gateway_schema import metadata
from store.schema import rooms
from store.versions import HEAD
from tests.conftest import NewUrl


def insert(room_id: str):  # type: ignore[no-untyped-def]
    def work(connection: Connection) -> str:
        connection.execute(
            rooms.insert().values(id=room_id, name=room_id, kind="room", created_at=0)
        )
        return room_id

    return work


@pytest.fixture(params=["sqlite", "sqlite+aiosqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, new_url: NewUrl) -> str:
    """The same database by threads of our own and by SQLAlchemy's asyncio engine."""
    return await new_url(request.param)


def ids(connection: Connection) -> list[str]:
    return list(connection.execute(select(rooms.c.id).order_by(rooms.c.id)).scalars())


async def test_a_write_is_there_for_the_next_process(url: str) -> None:
    async with Store.open(url) as store:
        assert await store.write(insert("r1")) == "r1"
    async with Store.open(url) as store:
        assert await store.read(ids) == ["r1"]


@pytest.mark.parametrize("small", [False, True])
async def test_one_callers_failure_leaves_the_others_writes_whole(url: str, small: bool) -> None:
    async with Store.open(url) as store:
        await store.write(insert("0"))  # the first opens the connection
        works = [store.write(insert(name), small=small) for name in ("a", "b", "a", "c")]
        results = await asyncio.gather(*works, return_exceptions=True)
        assert [r if isinstance(r, str) else type(r) for r in results] == [
            "a",
            "b",
            IntegrityError,
            "c",
        ]
        assert await store.read(ids) == ["0", "a", "b", "c"]


async def test_a_small_write_waits_for_another_process_and_holds_up_nobody(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        await store.write(insert("a"))
        other = sqlite3.connect(tmp_path / "moot.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        writing = store.write(insert("b"), small=True)
        turns = 0
        while turns < 20:  # of the loop, while nothing can be written
            await asyncio.sleep(0.005)
            turns += 1
        assert not writing.done()
        other.execute("COMMIT")
        other.close()
        assert await writing == "b"
        assert await store.write(insert("c"), small=True) == "c"
        assert await store.read(ids) == ["a", "b", "c"]


async def test_small_writes_are_of_one_commit_although_others_have_their_turn(url: str) -> None:
    def slow(connection: Connection) -> str:
        time.sleep(0.01)
        name = f"r{len(ids(connection))}"
        insert(name)(connection)
        return name

    async with Store.open(url) as store:
        await store.write(insert("r"))
        seen: list[int] = []
        writing = asyncio.gather(*(store.write(slow, small=True) for _ in range(5)))
        while not writing.done():
            seen.append(len(await store.read(ids)))
            await asyncio.sleep(0)
        assert await writing == ["r1", "r2", "r3", "r4", "r5"]
        assert set(seen) <= {1, 6}


async def test_those_who_share_a_commit_go_on_a_few_in_a_turn_of_the_loop(url: str) -> None:
    turn, awake = 0, list[int]()
    loop = asyncio.get_running_loop()

    def count() -> None:
        nonlocal turn
        turn += 1
        if len(awake) < 40:
            loop.call_soon(count)

    async def write(store: Store) -> None:
        await store.write(lambda _: None)
        awake.append(turn)

    async with Store.open(url) as store, asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(write(store))
        count()
    assert len(awake) == 40
    assert max(Counter(awake).values()) <= 6


@pytest.mark.parametrize("small", [False, True])
async def test_callers_go_on_in_the_order_of_their_works(url: str, small: bool) -> None:
    told: list[str] = []

    async def write(name: str) -> None:
        told.append(await store.write(insert(name), small=small))
        time.sleep(0.002)  # what it goes on with: the next commit is on disk before all are told

    async with Store.open(url) as store:
        await store.write(insert("first"))
        async with asyncio.TaskGroup() as group:
            for number in range(60):
                group.create_task(write(f"r{number}"))
                if number % 20 == 19:  # the writer takes these, and commits
                    for _ in range(3):
                        await asyncio.sleep(0)
        assert told == [f"r{number}" for number in range(60)]


async def test_several_rows_lose_what_no_database_holds(url: str) -> None:
    rows = [{"id": f"r{n}", "name": f"a\0{n}", "kind": "room", "created_at": 0} for n in range(3)]
    named = select(rooms.c.name).order_by(rooms.c.id)

    async with Store.open(url) as store:
        await store.write(lambda c: c.execute(rooms.insert(), rows[:1]))
        adds = rooms.insert().returning(rooms.c.id)
        await store.write(lambda c: c.execute(adds, rows[1:]).all())
        assert await store.read(lambda c: list(c.execute(named).scalars())) == ["a0", "a1", "a2"]


async def test_an_error_tells_no_value_of_a_row(url: str) -> None:
    def nothing(connection: Connection) -> None:
        values = {"id": "r1", "name": "PLANTED", "kind": None, "created_at": 0}
        connection.execute(rooms.insert().values(values))

    async with Store.open(url) as store:
        await store.write(insert("PLANTED"))
        for work in (insert("PLANTED"), nothing):
            with pytest.raises(IntegrityError) as caught:
                await store.write(work)
            assert "rooms" in str(caught.value)
            assert "PLANTED" not in "".join(traceback.format_exception(caught.value))


async def test_the_migrations_make_exactly_the_tables_of_the_schema(url: str) -> None:
    def look(connection: Connection) -> dict[str, set[str]]:
        inspector = inspect(connection)
        return {
            table: {column["name"] for column in inspector.get_columns(table)}
            for table in inspector.get_table_names()
            if table != "alembic_version"
        }

    async with Store.open(url) as store:
        found = await store.read(look)
        version = await store.read(
            lambda connection: connection.execute(text("SELECT * FROM alembic_version")).scalar()
        )
    assert version == HEAD
    assert found == {t.name: {c.name for c in t.columns} for t in metadata.tables.values()}


async def test_a_database_that_cannot_be_opened_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "moot.db").mkdir()
    with pytest.raises(ConfigError, match=r"\[store\] url"):
        async with Store.open(f"sqlite:///{tmp_path}/moot.db"):
            pass


async def test_what_was_deleted_is_in_no_file_after_a_scrub(url: str, tmp_path: Path) -> None:
    def holding() -> list[str]:
        files = (path for path in tmp_path.rglob("*") if path.is_file())
        return [path.name for path in files if b"unguessable-4711" in path.read_bytes()]

    async with Store.open(url) as store:
        await store.write(insert("unguessable-4711"))
        await store.write(insert("kept"))
        assert holding() or store.dialect != "sqlite"
        await store.write(lambda c: c.execute(rooms.delete().where(rooms.c.id != "kept")))
        await store.scrub()
        assert holding() == []
        assert await store.read(ids) == ["kept"]
        assert await store.write(insert("more")) == "more"


async def test_a_scrub_says_when_somebody_else_reads(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/moot.db"
    async with Store.open(url) as store:
        await store.write(insert("kept"))
        other = sqlite3.connect(tmp_path / "moot.db")
        other.execute("BEGIN")
        other.execute("SELECT * FROM rooms").fetchone()
        with pytest.raises(StoreError, match="in use"):
            await store.scrub()
        other.close()
        await store.scrub()
