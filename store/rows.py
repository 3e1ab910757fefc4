"""Rows of the tables as values of the program, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Row

from store.timestamps import micros, moment

T = TypeVar("T")


def from_row(kind: Callable[..., T], row: Row[*tuple[Any, ...]], **given: Any) -> T:
    """A dataclass made of a row: each field is the column of its name, unless it is given.

    A field that is declared a datetime is read from its microseconds, a tuple from a JSON list;
    what a model wrote in place of a list of texts becomes an empty one.
    """
    columns = row._mapping
    for name, read in _read_by(kind):
        if name not in given:
            value = columns[name]
            if read is not None and (value is not None or read is not moment):
                value = read(value)
            given[name] = value
    return kind(**given)


def to_row(value: Any) -> dict[str, Any]:
    """A dataclass as the columns of a row, a datetime as its microseconds: the inverse of
    `from_row`."""
    named = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: micros(one) if isinstance(one, datetime) else one for name, one in named}


@cache
def _read_by(kind: Any) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    return tuple((field.name, _reader(str(field.type))) for field in fields(kind))


def _reader(declared: str) -> Callable[[Any], Any] | None:
    if declared.startswith("datetime"):
        return moment
    return _texts if declared.startswith("tuple[str") else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
