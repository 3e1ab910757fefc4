"""Rows for any table, with every column filled: what a table holds, whoever added it."""

from __future__ import annotations

from itertools import count
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, Float, Table, insert
from sqlalchemy.types import BigInteger, Integer

from store.schema import metadata

_numbers = count(1)


def plant(connection: Connection, table: str, **given: Any) -> None:
    """Insert a row; a column that is not given says `<table>.<column>` and a number."""
    place = metadata.tables[table]
    values = {column.name: _value(place, column) for column in place.columns}
    values |= given
    if values.get("seq", 0) is None:
        del values["seq"]  # counted by the database
    connection.execute(insert(place), values)


def _value(table: Table, column: Column[Any]) -> Any:
    number = next(_numbers)
    if isinstance(column.type, JSON):
        return {"planted": f"{table.name}.{column.name} {number}"}
    if isinstance(column.type, Boolean):
        return False
    if isinstance(column.type, BigInteger | Integer | Float):
        return number
    if column.name == "scope":
        return "room:fake:r"
    if column.name in ("replaced_by", "shared_from", "indexed_by"):
        return None
    return f"{table.name}.{column.name} {number}"
