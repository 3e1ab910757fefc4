"""The version of a database's tables, and whether this Moot can read them."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from contract.errors import ConfigError
from store.engines import only_read, plain_engine_of
from store.opening import opening_fault, parsed_address

HEAD = "0026"  # the newest file in migrations/versions; Alembic is imported only to get there
LED = "0017"  # from this version on the database says who leads


def look_into(url: str) -> None:
    """Raises ConfigError for a SQLite file that `Store.open` would refuse; changes nothing."""
    from store.migrations.upgrading import check_known

    address = parsed_address(url)
    engine = plain_engine_of(only_read(address))
    try:
        with engine.connect() as connection:
            if (found := version_of(connection)) is not None:
                check_known(found, HEAD)
    except SQLAlchemyError as error:
        raise ConfigError(f"[store] url: {opening_fault(error, address)}") from error
    finally:
        engine.dispose()


def check_current(found: str | None) -> None:
    """Raises ConfigError for a database that is not to be read as it is."""
    if found is None:
        raise ConfigError("[store] url: there are no tables of Moot's yet: start Moot once")
    from store.migrations.upgrading import check_known

    check_known(found, HEAD)
    if found != HEAD:
        raise ConfigError(
            f"the database has version {found}, and this Moot works with {HEAD}: `moot run` brings "
            "it up to date"
        )


def version_of(connection: Connection) -> str | None:
    """None: there is nothing yet. Raises ConfigError for another program's tables."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables:
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if tables and connection.dialect.name == "sqlite":  # a server's may be shared
        raise ConfigError(
            f"[store] url: the database holds another program's tables ({', '.join(tables[:3])}); "
            "name another file"
        )
    return None
