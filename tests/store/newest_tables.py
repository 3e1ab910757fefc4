"""Writes the tables of a new SQLite file: `python -m tests.store.newest_tables`.

They are what the migrations make, one after the other, as SQLite tells them; the indexes come last,
by name, for a table that is made again gets its own in any order.
"""

from __future__ import annotations

import re

from sqlalchemy import create_engine

from store.migrations import upgrade
from store.migrations.upgrading import SQLITE
from store.versions import HEAD

_CONSTRAINT = re.compile(r"\t(?:CHECK|CONSTRAINT|FOREIGN KEY|PRIMARY KEY|UNIQUE)\b")


def newest_tables() -> str:
    """The statements that make them, and that name their version."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        upgrade(connection)
        told = connection.exec_driver_sql(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name != 'sqlite_sequence'"
            " ORDER BY type = 'index', CASE type WHEN 'index' THEN name END, rowid"
        )
        made = [_sorted(str(sql)) for sql in told.scalars()]
    engine.dispose()
    version = f"INSERT INTO alembic_version (version_num) VALUES ('{HEAD}')"
    return ";\n\n".join((*made, version)) + ";\n"


def _sorted(sql: str) -> str:
    """The statement with its table's constraints, a line each behind the columns, in order."""
    lines = sql.split("\n")
    places = [place for place, line in enumerate(lines) if _CONSTRAINT.match(line)]
    if not places:
        return sql
    first, end = places[0], places[-1] + 1
    told = sorted(line.rstrip(", ") for line in lines[first:end])
    return "\n".join([*lines[:first], ", \n".join(told), *lines[end:]])


if __name__ == "__main__":
    SQLITE.write_text(newest_tables(), encoding="utf-8")
