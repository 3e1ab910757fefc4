"""Brings a database of an earlier version up to date: a copy first, then all of it or nothing.

A new SQLite file gets the newest tables as they are: the migrations one after the other, and the
import of Alembic, take 0.3 s.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import structlog
from sqlalchemy import Connection, func, select

from contract.errors import ConfigError
from store.leading import LOCK
from store.migrations import upgrade

log = structlog.stdlib.get_logger("moot.memory")

KEPT = 3  # copies; each is as large as the database was
FOLDER = "backups"
SQLITE = Path(__file__).with_name("sqlite.sql")
"""The tables that all migrations make: `python -m tests.store.newest_tables` writes it."""
_TABLES = "SELECT count(*) FROM sqlite_master"
_VERSION = "SELECT version_num FROM alembic_version"
_ALONE = select(func.pg_advisory_xact_lock(LOCK + 1))  # of two that start at once, one upgrades


def check_known(found: str, head: str) -> None:
    """Raises ConfigError for a version that this Moot doesn't know: nothing is done to it then."""
    if not re.fullmatch(r"\d{4}", found):
        raise ConfigError(
            f"[store] url: the database is another program's: its tables have version {found!r}; "
            "name another one"
        )
    if found not in {f"{number:04}" for number in range(1, int(head) + 1)}:
        raise ConfigError(
            f"the database has version {found}, and this Moot knows those up to {head}: start the "
            "newer Moot that made it, or `moot restore` a backup from before"
        )


def copy_sqlite(source: Path, target: Path) -> None:
    """A consistent copy of a database that others may write to meanwhile; all of it or none.

    In one step: with several, each commit of another connection would start it again. Readable by
    its owner only. Raises OSError, sqlite3.Error.
    """
    partial = target.with_name(f".{target.name}.partial")
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        uri = f"{source.absolute().as_uri()}?mode=ro"
        with (
            closing(sqlite3.connect(uri, uri=True)) as old,
            closing(sqlite3.connect(partial)) as new,
        ):
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE")  # one file, whatever the source had beside it
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        for left in target.parent.glob(f"{partial.name}*"):
            left.unlink(missing_ok=True)


def copy_before(file: Path, found: str, head: str) -> Path:
    """Copy a SQLite database that is about to be changed; only the newest copies are kept.

    Raises ConfigError when there is no room for it.
    """
    folder = file.parent / FOLDER
    try:
        copy = _unused(folder, f"before-{head}-from-{found}")
        copy_sqlite(file, copy)
    except (OSError, sqlite3.Error) as error:
        size_mb = file.stat().st_size // 1_000_000 + 1
        raise ConfigError(
            f"the database must be brought from version {found} to {head}, and no copy of it could "
            f"be made first ({error}): free {size_mb} MB where {folder} is; it is as it was"
        ) from error
    old = sorted(folder.glob("before-*.db"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    for path in old[:-KEPT]:
        path.unlink()
    log.info("database.copied", file=copy)
    return copy


def _unused(folder: Path, stem: str) -> Path:
    names = (f"{stem}.db" if number == 1 else f"{stem}-{number}.db" for number in count(1))
    return next(folder / name for name in names if not (folder / name).exists())


def upgrade_whole(connection: Connection, head: str) -> None:
    """Run all migrations in one transaction, in SQLite without its foreign keys.

    A migration that makes a table again drops the old one. SQLite deletes its rows first, and
    with foreign keys on, the rows that refer to them go too. They can be switched off and on only
    outside a transaction, so this one begins and ends here (sqlite.org/lang_altertable.html).
    """
    if connection.dialect.name != "sqlite":
        connection.execute(_ALONE)
        upgrade(connection)
        return
    were_on = connection.exec_driver_sql("PRAGMA foreign_keys").scalar()
    connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # else each CREATE would be its own
        try:
            _bring_up(connection, head)
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")
    finally:
        connection.exec_driver_sql(f"PRAGMA foreign_keys={were_on}")


def _bring_up(connection: Connection, head: str) -> None:
    if connection.exec_driver_sql(_TABLES).scalar() == 0:
        for statement in SQLITE.read_text(encoding="utf-8").split(";\n\n"):
            connection.exec_driver_sql(statement)
        if connection.exec_driver_sql(_VERSION).scalar() == head:
            return
    upgrade(connection)


@contextmanager
def told(found: str | None, head: str, copy: Path | None) -> Iterator[None]:
    """Let a migration that fails raise ConfigError: what is there now, and where the copy is. Where
    nothing was there, there is nothing to say of that."""
    try:
        yield
    except Exception as error:  # whatever it ran into: who reads this needs to know the copy
        if found is None:
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        where = f", and {copy} is a copy of it" if copy else ""
        raise ConfigError(
            f"the database could not be brought from version {found} to {head} ({reason}); "
            f"it is as it was{where}"
        ) from error
