"""Statements that are run together: each writes its own, and the last one's rows come back."""

import pytest
from sqlalchemy import Connection, bindparam, event, insert, select, update
from sqlalchemy.exc import IntegrityError

from store.database import Store
from store.schema import rooms
from store.together import execute_together

_C = rooms.c
RENAME = update(rooms).where(_C.id == bindparam("of")).values(name=bindparam("name"))
OPEN = insert(rooms).values(
    id=bindparam("id"), name=bindparam("name"), kind="room", created_at=bindparam("at")
)


def old(connection: Connection) -> None:
    connection.execute(OPEN, {"id": "old", "name": "old", "at": 1})


def names(connection: Connection) -> dict[str, str]:
    return {row.id: row.name for row in connection.execute(select(_C.id, _C.name))}


async def test_parameters_of_one_name_are_each_statements_own(store: Store) -> None:
    await store.write(old)
    renamed = (RENAME, {"of": "old", "name": "renamed"})
    opened = (OPEN.returning(_C.name, _C.created_at), {"id": "new", "name": "new", "at": 2})
    for again in range(2):  # built, and built before
        opened[1]["id"] = f"new{again}"
        made = await store.write(lambda c: list(map(tuple, execute_together(c, renamed, opened))))
        assert made == [("new", 2)]
    assert await store.read(names) == {"old": "renamed", "new0": "new", "new1": "new"}


async def test_a_failure_of_one_leaves_nothing_of_the_others(store: Store) -> None:
    await store.write(old)
    renamed = (RENAME, {"of": "old", "name": "renamed"})
    there = (OPEN, {"id": "old", "name": "new", "at": 2})
    with pytest.raises(IntegrityError):
        await store.write(lambda c: execute_together(c, renamed, there))
    assert await store.read(names) == {"old": "old"}


async def test_a_server_takes_them_as_one(store: Store) -> None:
    ran: list[str] = []

    def work(connection: Connection) -> None:
        def note(*given: object) -> None:
            ran.append(str(given[2]))

        event.listen(connection, "before_cursor_execute", note)
        opened = (OPEN, {"id": "new", "name": "new", "at": 2})
        execute_together(connection, (RENAME, {"of": "old", "name": "renamed"}), opened)

    await store.write(work)
    assert len(ran) == (2 if store.dialect == "sqlite" else 1)
