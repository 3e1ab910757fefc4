"""Rows of the tables as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import JSON, Column, Integer, MetaData, Row, String, Table, create_engine, insert

from store.rows import from_row, to_row
from store.timestamps import micros

AT = datetime(2026, 4, 15, 14, 2, 3, 456789, tzinfo=UTC)
THINGS = Table(
    "things",
    MetaData(),
    Column("name", String),
    Column("at", Integer),
    Column("ended_at", Integer),
    Column("files", JSON),
    Column("beside", String),
)


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    at: datetime
    ended_at: datetime | None
    files: tuple[str, ...]


def row(**values: object) -> Row[*tuple[Any, ...]]:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        THINGS.create(connection)
        connection.execute(insert(THINGS), values)
        return connection.execute(THINGS.select()).one()


def test_each_field_is_the_column_of_its_name() -> None:
    found = row(name="a", at=micros(AT), ended_at=micros(AT), files=["b", "c"], beside="left out")
    assert from_row(Thing, found) == Thing("a", AT, AT, ("b", "c"))


def test_what_is_given_stands_for_the_column() -> None:
    found = row(name="a", at=micros(AT), ended_at=None, files=[])
    assert from_row(Thing, found, name="b") == Thing("b", AT, None, ())


@pytest.mark.parametrize("written", [None, "abc", {"a": 1}, 7])
def test_what_is_no_list_of_texts_becomes_an_empty_one(written: object) -> None:
    found = row(name="a", at=0, ended_at=None, files=written)
    assert from_row(Thing, found).files == ()


def test_a_field_without_a_column_is_a_mistake() -> None:
    @dataclass
    class Other:
        missing: str

    with pytest.raises(KeyError):
        from_row(Other, row(name="a", at=0, ended_at=None, files=[]))


def test_a_value_is_a_row_and_a_value_again() -> None:
    thing = Thing("a", AT, None, ("b",))
    assert to_row(thing) == {"name": "a", "at": micros(AT), "ended_at": None, "files": ("b",)}
    assert from_row(Thing, row(**to_row(thing))) == thing
