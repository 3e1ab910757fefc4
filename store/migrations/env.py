"""Alembic runs this file; the connection comes from `upgrade`.

A SQLite database must have its foreign keys off (`store/migrations/upgrading.py` says why), and no
migration may leave a row that refers to nothing.
"""

from alembic import context

from store.gateway_schema import metadata

connection = context.config.attributes["connection"]
sqlite = connection.dialect.name == "sqlite"


def dangling() -> set[tuple[object, ...]]:
    """The rows whose foreign key leads nowhere: table, rowid, table referred to, which key."""
    if not sqlite:
        return set()
    return {tuple(row) for row in connection.exec_driver_sql("PRAGMA foreign_key_check")}


if sqlite and connection.exec_driver_sql("PRAGMA foreign_keys").scalar():
    raise RuntimeError("foreign keys must be off while a SQLite database is upgraded")
before = dangling()
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
if left := dangling() - before:
    table, rowid, parent, _ = min(left, key=str)
    raise RuntimeError(f"row {rowid} of {table} would refer to nothing in {parent}")
