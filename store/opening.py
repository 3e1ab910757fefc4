"""Sentences for what keeps a database from being opened, each with its remedy."""

from __future__ import annotations

import difflib
import re
import socket
import sqlite3
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from contract.errors import ConfigError
from store.health import StoreRefusal

SQLITE = "sqlite:////var/lib/moot/moot.db"
POSTGRESQL = "postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE"
_KNOWN = ("sqlite", "sqlite+pysqlite", "sqlite+aiosqlite", "postgresql", "postgresql+asyncpg")
_POSTGRESQL_LIKE = re.compile(r"post?gre|pgsql|psql|^pg")

_SQLITE_WHY = {  # by primary result code (sqlite.org/rescode.html)
    3: "this account may not open it; let the file and its folder belong to it",
    5: "another program has locked it; end that one, then start again",
    6: "another program has locked it; end that one, then start again",
    8: "it is read-only; let this account write the file and its folder",
    10: "its disk can't be read or written; look at the disk",
    11: "the file is damaged; put a backup in its place: moot restore BACKUP --force",
    13: "its disk is full; make room",
    14: "the file can't be opened; see that its folder is there and that this account may write it",
    26: "the file is not a SQLite database; move it away, or name another one",
}
_CANTOPEN = 14
_PG_WHY = {  # by SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html)
    "28P01": "the server refuses the password; correct USER:PASSWORD in the address",
    "28000": "the server doesn't let this user in; correct USER in the address, or pg_hba.conf",
    "3D000": "the server has no database of that name; make it: createdb DATABASE",
    "3F000": "the database has no schema to make tables in: CREATE SCHEMA public",
    "42501": "the user may not make tables there: GRANT CREATE ON SCHEMA public TO USER",
    "53100": "the server's disk is full; make room",
    "53300": "the server has no connection left; end some, or raise its max_connections",
    "57P03": "the server is starting or stopping; try again in a moment",
    "25006": "the server takes no writes; name one that does",
}


def parsed_address(text: str) -> URL:
    """The address of `[store] url`, whose server need not be there. Raises ConfigError."""
    if fault := address_fault(text):
        raise ConfigError(f"[store] url: {fault}")
    return make_url(text)


def address_fault(text: str) -> str:
    """The mistake in a database's address, with the remedy and without its password; "": none."""
    scheme = text.partition(":")[0]
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        return f"this is not a database's address; write {SQLITE} or {POSTGRESQL}"
    if url.drivername not in _KNOWN:
        if _POSTGRESQL_LIKE.search(scheme.lower()):
            return f"Moot doesn't know {scheme}://; write {POSTGRESQL}"
        near = difflib.get_close_matches(scheme.lower(), _KNOWN, 1)
        meant = f"did you mean {near[0]}://? " if near else ""
        return f"Moot doesn't know {scheme}://; {meant}write {SQLITE} or {POSTGRESQL}"
    if url.get_backend_name() == "sqlite" and url.host:
        return "a file has three slashes before it, and four if it begins at the root; " + (
            f"write sqlite:///{url.host}{f'/{url.database}' if url.database else ''}"
        )
    return ""


def working_fault(error: BaseException) -> str | None:
    """The reason why an open database takes or gives nothing, with the remedy; None: the error is
    no database's."""
    cause = _cause(error)
    if isinstance(cause, sqlite3.Error):
        return _of_sqlite(cause, None)
    if isinstance(error, StoreRefusal):
        return error.reason
    if isinstance(error, SQLAlchemyError):
        return _of_server(cause) or (str(cause).splitlines() or [type(cause).__name__])[0]
    return None


def _cause(error: BaseException) -> BaseException:
    """The driver's own error."""
    if isinstance(error, StoreRefusal) and error.__cause__ is not None:
        error = error.__cause__
    return error.orig if isinstance(error, DBAPIError) and error.orig else error


def opening_fault(error: Exception, url: URL) -> str | None:
    """The reason why it can't be opened, with the remedy; None: the error says nothing of that."""
    place = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
    cause = _cause(error)
    if isinstance(cause, sqlite3.Error):
        return f"{place}: {_of_sqlite(cause, place)}"
    if isinstance(cause, ImportError):
        return f"the library {cause.name or cause} is missing; install Moot again"
    server = _server(url)
    if place is None and (why := _of_server(cause)) is not None:
        return f"{server}: {why}"
    if isinstance(cause, OSError):
        return f"{cause.filename or place or server}: {cause.strerror or cause}"
    if isinstance(error, SQLAlchemyError):
        return (str(cause).splitlines() or [type(cause).__name__])[0]
    return None


def _server(url: URL) -> str:
    return f"{url.host or url.query.get('host') or 'localhost'}:{url.port or 5432}"


def _of_sqlite(error: sqlite3.Error, place: Path | None) -> str:
    if place is not None and place.is_dir():
        return "this is a folder; name a file in it"
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code == _CANTOPEN and place is not None and not place.exists():
        if place.parent.exists() and not place.parent.is_dir():
            return f"{place.parent} is a file, no folder; move it away"
        return "there is no database yet; start Moot once: moot run"
    return _SQLITE_WHY.get(code) or f"{error}"


def _of_server(error: BaseException) -> str | None:
    if state := str(getattr(error, "sqlstate", None) or ""):
        first = (str(error).splitlines() or [""])[0].removeprefix("<class ")
        return _PG_WHY.get(state) or f"the server refuses: {first}"
    if isinstance(error, socket.gaierror):
        return "there is no computer of that name; correct HOST in the address"
    if isinstance(error, TimeoutError):
        return "the server doesn't answer; start it, or correct the address"
    # asyncio joins several refusals, of one name's addresses, into one error without a number
    no_one = isinstance(error, ConnectionRefusedError | FileNotFoundError)
    if no_one or "Connect call failed" in str(error):
        return "no PostgreSQL listens there; start it, or correct the address"
    return None
