"""Statements that a server takes as one: the way to it and back takes longer than most of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Connection, CursorResult
from sqlalchemy.sql.visitors import cloned_traverse

Written = tuple[Any, Mapping[str, Any]]
"""An INSERT or UPDATE whose columns are all named in it, and its parameters."""


def execute_together(connection: Connection, *written: Written) -> CursorResult[Any]:
    """Run statements of which only the last one's rows are wanted; gives these.

    On a server they are one (each but the last a common table expression), and see the tables as
    they were before: none may change a row that another one reads or changes.
    """
    if connection.dialect.name == "sqlite":
        for statement, values in written[:-1]:
            connection.execute(statement, values)
        statement, values = written[-1]
        return connection.execute(statement, values)
    values = {
        _numbered(name, number): value
        for number, (_, given) in enumerate(written)
        for name, value in given.items()
    }
    return connection.execute(_as_one(*(statement for statement, _ in written)), values)


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
