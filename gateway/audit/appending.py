"""How rows come to the audit log: functions of a connection, within the caller's transaction."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, text, update

from contract.chat import MOOT, Speaker
from contract.storable import storable_value
from gateway.audit.chain import CUT, MISSING, noted_heads, sealed
from store.gateway_schema import audit, audit_head
from store.together import run

Detail = Mapping[str, str | int | bool | None]

SALT_BYTES = 16

_C = audit.c
_LAST = select(_C.hash).order_by(_C.seq.desc()).limit(1).scalar_subquery()
_HEAD = select(audit_head.c.hash).where(audit_head.c.id == 1).scalar_subquery()
_NEWEST = select(func.coalesce(_LAST, ""), func.coalesce(_HEAD, ""))
_NEWEST_LOCKED = (  # who appends holds this row; what it holds is read once that is so
    select(func.coalesce(_LAST, ""), audit_head.c.hash)
    .where(audit_head.c.id == 1)
    .with_for_update(of=audit_head)
)
_EARLIER = select(_C.seq).where(_C.at < bindparam("began_at")).limit(1)
_FOLLOWED = select(_C.seq).where(_C.before == bindparam("head")).limit(1)
_CUTS = select(_C.detail).where(_C.act == bindparam("cut"))
_APPEND = insert(audit)
_CLAIM = text("UPDATE audit SET seq = seq WHERE 0")


def append(
    connection: Connection,
    *,
    act: str,
    by: Speaker,
    at: int,
    detail: Detail,
    persona: str | None = None,
    room_id: str | None = None,
    turn_id: str | None = None,
    known: str = "",
) -> str:
    """Append a row in the running transaction; return its hash. at: microseconds. known: a hash
    that the log must hold; else a row before this one says that it was cut."""
    where = {"persona": persona, "room_id": room_id, "turn_id": turn_id}
    return append_checked(connection, row_of(act, by, at, detail, **where), known)


def append_checked(connection: Connection, row: Mapping[str, Any], known: str) -> str:
    """Append a row, and before it one for each hash that the log must hold and does not."""
    before, kept = _claimed(connection)
    for head in sorted(noted_heads(known, kept) - {"", before}):
        if not _is_told(connection, head):
            cut = row_of(CUT, MOOT, row["at"], {"head": head, "newest": before})
            before = _appended(connection, cut, before)
    return _appended(connection, row, before)


def append_after(connection: Connection, row: Mapping[str, Any], before: str) -> str:
    """Append a row if that one is the newest; "": another is, or what is noted of it differs."""
    _claim(connection)
    values = _sealed(row, before)
    given = {f"new_{name}": value for name, value in values.items()}
    appended = run(connection, _append_if_newest(connection.dialect.name), given)
    return str(values["hash"]) if appended else ""


def _sealed(row: Mapping[str, Any], before: str) -> dict[str, Any]:
    return sealed(row, before, partial(secrets.token_hex, SALT_BYTES))


@cache
def _append_if_newest(dialect: str) -> Any:
    """On PostgreSQL it changes the noted head first, whose row is locked by whoever appends."""
    new = {
        column.name: bindparam(f"new_{column.name}", type_=column.type)
        for column in _C
        if column.name != "seq"
    }
    is_newest = func.coalesce(_LAST, "") == new["before"]
    row = select(*new.values()).where(is_newest)
    if dialect != "sqlite":
        head = (
            update(audit_head)
            .where(audit_head.c.hash == new["before"], is_newest)
            .values(hash=new["hash"])
            .returning(audit_head.c.id)
            .cte("head")
        )
        row = select(*new.values()).select_from(head)
    return insert(audit).from_select([*new], row).returning(_C.seq)


def row_of(
    act: str, by: Speaker, at: int, detail: Detail, **where: str | None
) -> Mapping[str, Any]:
    """The columns of a row that is not hashed yet."""
    row = {"at": at, "act": act, "by_id": by.id, "by_name": by.name, "detail": dict(detail)}
    empty = dict.fromkeys(("persona", "room_id", "turn_id"))
    told: Mapping[str, Any] = storable_value({**row, **empty, **where})
    return told


def _appended(connection: Connection, row: Mapping[str, Any], before: str) -> str:
    values = _sealed(row, before)
    if connection.dialect.name == "sqlite":
        run(connection, _APPEND, values)
    else:
        connection.execute(_append_with_head(), values | {"head": values["hash"]})
    return str(values["hash"])


def _insert_head() -> Any:
    from sqlalchemy.dialects import postgresql  # see `insert_of` in store/database.py

    return postgresql.insert(audit_head)


@cache
def _first_head() -> Any:
    return _insert_head().values(id=1, hash=func.coalesce(_LAST, "")).on_conflict_do_nothing()


@cache
def _append_with_head() -> Any:
    """It also keeps the hash in the table that each machine reads, in one statement."""
    new = _insert_head().values(id=1, hash=bindparam("head"))
    kept = new.on_conflict_do_update(index_elements=["id"], set_={"hash": new.excluded.hash})
    return _APPEND.add_cte(kept.cte("head"))


def _claim(connection: Connection) -> None:
    """Take SQLite's write lock. A transaction that changed anything has it."""
    raw: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite" and not raw.in_transaction:
        connection.execute(_CLAIM)


def _claimed(connection: Connection) -> Row[str, str]:
    """The newest row's hash and the database's own note of it, read as who alone may append until
    the transaction ends: another process may want to, too."""
    _claim(connection)
    if connection.dialect.name == "sqlite":
        return connection.execute(_NEWEST).one()
    found = connection.execute(_NEWEST_LOCKED).first()
    if found is None:
        connection.execute(_first_head())
        found = connection.execute(_NEWEST_LOCKED).one()
    if found[0] != found[1]:  # it waited for the lock, and has seen what was before
        found = connection.execute(_NEWEST).one()
    return found


def _is_told(connection: Connection, head: str) -> bool:
    """True if a row follows that one, or says that it is gone; where there is no anchor, if there
    is no row that it could have known."""
    lost, _, began_at = head.partition(" ")
    if lost == MISSING and not connection.execute(_EARLIER, {"began_at": int(began_at)}).first():
        return True
    if connection.execute(_FOLLOWED, {"head": head}).first():
        return True
    cuts = connection.execute(_CUTS, {"cut": CUT}).scalars()
    return any(detail.get("head") == head for detail in cuts)


def noted(connection: Connection, known: str) -> tuple[int, set[str]]:
    """The number that SQLite gave last, also to a row that is gone; 0: unknown, for PostgreSQL's
    has gaps of its own. And the hashes that the log must hold."""
    heads = noted_heads(known, connection.execute(_NEWEST).one()[1])
    if connection.dialect.name != "sqlite":
        return 0, heads
    wanted = text("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")
    return connection.execute(wanted).scalar() or 0, heads
