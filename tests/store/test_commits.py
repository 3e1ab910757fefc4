"""The number of a server's commit: it is written with what the commit writes first, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from store.database import Store
from store.gateway_schema import commits
from store.schema import rooms
from tests.conftest import NewUrl

ROWS = [{"id": f"r{n}", "name": "a", "kind": "room", "created_at": n} for n in range(2)]


def count(connection: Connection, table: Any = commits) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def one(connection: Connection) -> object:
    return connection.execute(insert(rooms), ROWS[0])


def many(connection: Connection) -> object:
    return connection.execute(insert(rooms), ROWS)


def read_first(connection: Connection) -> object:
    return count(connection, rooms) or connection.execute(insert(rooms), ROWS)


def changes_none(connection: Connection) -> object:
    return connection.execute(update(rooms).values(name="b"))


def as_text(connection: Connection) -> object:
    return connection.execute(text("DELETE FROM rooms"))


@pytest.mark.parametrize("work", [one, many, read_first, changes_none, as_text])
async def test_a_commit_that_writes_leaves_one_number(
    store: Store, work: Callable[[Connection], object]
) -> None:
    if store.dialect == "sqlite":
        pytest.skip("it needs no numbers")
    before = await store.read(count)
    await store.write(work)
    assert await store.read(count) == before + 1


async def test_one_that_only_reads_leaves_none(store: Store) -> None:
    before = await store.read(count)
    assert await store.write(count) == before
    assert await store.read(count) == before


async def test_a_failure_of_ones_own_stays_what_it_is(store: Store) -> None:
    await store.write(one)
    with pytest.raises(IntegrityError):
        await store.write(one)
    assert await store.read(lambda c: count(c, rooms)) == 1
    await store.write(changes_none)


async def test_what_was_on_disk_already_is_not_looked_at_by_its_own_second_run(
    new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A work that reads first would find what it wrote itself, and say so to its caller."""
    runs, commit = list[int](), Connection.commit

    def unless_there(connection: Connection) -> str:
        runs.append(count(connection, rooms))
        if runs[-1]:
            return "it was there"
        connection.execute(insert(rooms), ROWS[0])
        return "it is new"

    def silent_once(connection: Connection) -> None:
        monkeypatch.setattr(Connection, "commit", commit)
        commit(connection)
        raise TimeoutError

    async with Store.open(await new_url("postgresql"), patience_s=30) as store:
        monkeypatch.setattr(Connection, "commit", silent_once)
        assert await store.write(unless_there) == "it is new"
        assert await store.read(lambda c: count(c, rooms)) == 1
    assert runs == [0]


async def test_a_commit_that_came_to_nothing_is_made_again(
    new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Connection.commit

    def lost_once(connection: Connection) -> None:
        monkeypatch.setattr(Connection, "commit", commit)
        connection.rollback()
        raise TimeoutError

    async with Store.open(await new_url("postgresql"), patience_s=30) as store:
        before = await store.read(count)
        monkeypatch.setattr(Connection, "commit", lost_once)
        await store.write(read_first)
        assert await store.read(lambda c: count(c, rooms)) == len(ROWS)
        assert await store.read(count) == before + 1
