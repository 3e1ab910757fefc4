"""Statements that are run together: each writes its own, and the last one's rows come back."""

from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, event, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError, OperationalError

from store.database import Store
from store.schema import rooms
from store.together import execute_together, run, running

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
    assert len(ran) == (0 if store.dialect == "sqlite" else 1)  # SQLite's driver runs them itself


STATES: Any = select(
    _C.id,
    _C.heard_by,
    _C.include_in_memory,
    func.coalesce(_C.project, bindparam("none")),
    literal("a").label("same"),
).where(_C.id == bindparam("of"), _C.kind.in_(("room", "group")), _C.name != bindparam("but"))


@pytest.mark.parametrize("names", [["a", "b\0c"], [], None, {"deep": [1, None, True]}, "\ud83d"])
async def test_values_are_written_and_read_as_sqlalchemy_does(store: Store, names: Any) -> None:
    new = insert(rooms).returning(_C.heard_by, _C.include_in_memory)
    given = {"name": "a\0b\ud800", "kind": "room", "created_at": 1, "include_in_memory": False}
    where = {"of": "ours", "none": "no\0ne", "but": "x"}

    def work(connection: Connection) -> list[list[Any]]:
        theirs = connection.execute(new, {"id": "theirs", "heard_by": names, **given}).all()
        ours = run(connection, new, {"id": "ours", "heard_by": names, **given})
        read = connection.execute(STATES, where).all()
        return [list(map(tuple, rows)) for rows in (theirs, ours, read)]

    theirs, ours, read = await store.write(work)
    assert ours == theirs
    assert await store.read(running(STATES, where)) == read
    assert [row[1:] for row in await store.read(running(STATES, where | {"of": "theirs"}))] == [
        row[1:] for row in read
    ]


async def test_columns_are_found_by_name_and_those_without_one_by_place(store: Store) -> None:
    await store.write(old)
    asked = {"of": "old", "none": "none", "but": ""}
    [row] = await store.read(running(STATES, asked), small=True)
    assert (row.id, row.heard_by, row.include_in_memory, row[3], row.same) == (
        ("old", None, True, "none", "a")
    )
    assert await store.read(running(STATES, asked | {"of": "nobody"}), small=True) == []


async def test_errors_are_those_of_sqlalchemy_and_tell_no_values(store: Store) -> None:
    await store.write(old)
    values = {"id": "old", "name": "secret", "at": 2}
    with pytest.raises(IntegrityError) as caught:
        await store.write(running(OPEN, values))
    assert "secret" not in str(caught.value)
    if store.dialect == "sqlite":
        gone = select(func.no_such_function(bindparam("of")))
        with pytest.raises(OperationalError, match="no such function"):
            await store.read(running(gone, {"of": "secret"}))


async def test_a_read_sees_what_was_written_since_the_last_one(store: Store) -> None:
    asked = {"of": "old", "none": "none", "but": ""}
    assert await store.read(running(STATES, asked), small=True) == []
    await store.write(old)
    assert len(await store.read(running(STATES, asked), small=True)) == 1
