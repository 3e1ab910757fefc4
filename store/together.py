"""Statements that every turn runs: a server takes several as one, as the way to it and back takes
longer than most of them, and SQLite's driver takes them as they were compiled once."""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Dialect, exc
from sqlalchemy.sql.visitors import cloned_traverse

from contract.storable import storable
from contract.values import dataclass

Written = tuple[Any, Mapping[str, Any]]
"""An INSERT or UPDATE whose columns are all named in it, and its parameters."""


def run(connection: Connection, statement: Any, values: Mapping[str, Any]) -> Sequence[Any]:
    """Run a statement that is there once, and differs by its values only; gives its rows.

    For what each turn runs: on its own way to SQLite, SQLAlchemy takes many times as long as that
    itself. Raises SQLAlchemyError, as it does.
    """
    if connection.dialect.driver != "pysqlite":
        result = connection.execute(statement, values)
        return result.all() if result.returns_rows else ()
    compiled = _compiled(statement, tuple(values), connection.dialect)
    try:
        rows = driver_of(connection).execute(compiled.text, compiled.given(values)).fetchall()
    except sqlite3.Error as error:
        raise as_sqlalchemy(error, compiled.text) from error
    return [compiled.row(row) for row in rows]


def run_each(connection: Connection, statement: Any, each: Sequence[Mapping[str, Any]]) -> None:
    """Run a statement with each of these values, as `run` does."""
    if connection.dialect.driver != "pysqlite":
        connection.execute(statement, each)
        return
    for values in each:
        run(connection, statement, values)


def driver_of(connection: Connection) -> sqlite3.Connection:
    """SQLite's own connection below SQLAlchemy's."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def as_sqlalchemy(error: sqlite3.Error, statement: str) -> exc.DBAPIError:
    """What SQLAlchemy raises for an error of SQLite's driver."""
    known: type[exc.DBAPIError] = getattr(exc, type(error).__name__, exc.DBAPIError)
    return known(statement, None, error, hide_parameters=True)


def running(statement: Any, values: Mapping[str, Any]) -> Callable[[Connection], Sequence[Any]]:
    """A work that runs it."""
    return lambda connection: run(connection, statement, values)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement for SQLite's driver. parameters: name, value where none is given, and what makes
    it SQLite's. read: of some columns, what makes a value of what SQLite gives."""

    text: str
    parameters: Sequence[tuple[str, Any, Callable[[Any], Any] | None]]
    made: Callable[[Sequence[Any]], Any]
    read: Sequence[tuple[int, Callable[[Any], Any]]]

    def given(self, values: Mapping[str, Any]) -> list[Any]:
        given = []
        for name, value, as_stored in self.parameters:
            value = values.get(name, value)
            if as_stored is not None:
                value = as_stored(value)
            given.append(storable(value) if isinstance(value, str) else value)
        return given

    def row(self, row: Sequence[Any]) -> Any:
        if self.read:
            row = list(row)
            for at, as_value in self.read:
                row[at] = as_value(row[at])
        return self.made(row)


@lru_cache(256)
def _compiled(statement: Any, names: tuple[str, ...], dialect: Dialect) -> _Compiled:
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(names))
    left_out = [*compiled.insert_prefetch, *compiled.update_prefetch]
    assert not left_out, f"defaults of columns that are not given: {left_out}"
    whole = compiled.construct_expanded_state(dict.fromkeys(names))  # with lists that stand in it
    as_stored = {
        name: bound.type.dialect_impl(dialect).bind_processor(dialect)
        for name, bound in compiled.binds.items()
    } | whole.processors
    columns = getattr(statement, "exported_columns", {})
    named = namedtuple("row", columns.keys(), rename=True)  # type: ignore[misc]
    reads = (
        (at, column.type.dialect_impl(dialect).result_processor(dialect, None))
        for at, column in enumerate(columns.values())
    )
    return _Compiled(
        whole.statement,
        [(name, whole.parameters[name], as_stored.get(name)) for name in whole.positiontup],
        named._make,
        [(at, read) for at, read in reads if read is not None],
    )


def execute_together(connection: Connection, *written: Written) -> Sequence[Any]:
    """Run statements of which only the last one's rows are wanted; gives these.

    On a server they are one (each but the last a common table expression), and see the tables as
    they were before: none may change a row that another one reads or changes.
    """
    if connection.dialect.name == "sqlite":
        rows: Sequence[Any] = ()
        for statement, values in written:
            rows = run(connection, statement, values)
        return rows
    values = {
        _numbered(name, number): value
        for number, (_, given) in enumerate(written)
        for name, value in given.items()
    }
    return run(connection, _as_one(*(statement for statement, _ in written)), values)


@lru_cache(64)  # of the statements that there are; to build one takes longer than to run it
def _as_one(*statements: Any) -> Any:
    *before, last = (_with_numbers(one, number) for number, one in enumerate(statements))
    return last.add_cte(*(one.cte(f"part_{number}") for number, one in enumerate(before)))


def _with_numbers(statement: Any, number: int) -> Any:
    """The statement with the names of its parameters numbered: two may have the same."""

    def rename(parameter: BindParameter[Any]) -> None:
        if not parameter.unique:  # else it is a value that stands in the statement
            parameter.key = _numbered(parameter.key, number)

    return cloned_traverse(statement, {}, {"bindparam": rename})


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}"
