"""Writes the tables of a new SQLite file: `python -m tests.store.newest_tables`.

They are what the migrations make, one after the other, as SQLite tells them; the indexes come last,
by name, for a table that is made again gets its own in any order.
"""

from __future__ import annotations

from sqlalchemy import create_engine

from store.migrations import upgrade
from store.migrations.upgrading import SQLITE
from store.versions import HEAD


def newest_tables() -> str:
    """The statements that make them, and that name their version."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        upgrade(connection)
        told = connection.exec_driver_sql(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name != 'sqlite_sequence'"
            " ORDER BY type = 'index', CASE type WHEN 'index' THEN name END, rowid"
        )
        made = [str(sql) for sql in told.scalars()]
    engine.dispose()
    version = f"INSERT INTO alembic_version (version_num) VALUES ('{HEAD}')"
    return ";\n\n".join((*made, version)) + ";\n"


if __name__ == "__main__":
    SQLITE.write_text(newest_tables(), encoding="utf-8")
