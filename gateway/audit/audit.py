"""The audit log: who let which agent do what. Append-only; a hash chains each row to the last."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, Row, bindparam, exists, func, insert, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from contract.chat import MOOT, Room, Speaker
from contract.errors import MootError
from contract.storable import storable_value
from contract.values import dataclass
from gateway.audit.chain import (
    ACKNOWLEDGE,
    CUT,
    MISSING,
    Broken,
    Check,
    Verdict,
    known_head,
    noted_heads,
    sealed,
    write_anchor,
)
from gateway.core.views import View
from gateway.observability.telemetry import moot_version
from store.database import Store
from store.gateway_schema import audit, audit_head
from store.timestamps import micros, moment

log = structlog.stdlib.get_logger("moot.audit")

Detail = Mapping[str, str | int | bool | None]

SALT_BYTES = 16
ROWS = 500  # at a time: a check of a long log must not hold it all
LOG_EVERY = timedelta(hours=1)
ANCHORED_S = 0.05  # after what nobody waits for: an answer goes out first, and many share one write

_C = audit.c
_LAST = select(_C.hash).order_by(_C.seq.desc()).limit(1).scalar_subquery()
_HEAD = select(audit_head.c.hash).where(audit_head.c.id == 1).scalar_subquery()
_NEWEST = select(func.coalesce(_LAST, ""), func.coalesce(_HEAD, ""))
_IS_FOLLOWED = exists(select(_C.seq).where(_C.before == bindparam("head")))
_FOUND = _NEWEST.add_columns(_IS_FOLLOWED)
_FOUND_LOCKED = (  # who appends holds this row; what it holds is read once that is so
    select(func.coalesce(_LAST, ""), audit_head.c.hash, _IS_FOLLOWED)
    .where(audit_head.c.id == 1)
    .with_for_update(of=audit_head)
)
_EARLIER = select(_C.seq).where(_C.at < bindparam("began_at")).limit(1)
_FOLLOWED = select(_C.seq).where(_C.before == bindparam("head")).limit(1)
_CUTS = select(_C.detail).where(_C.act == bindparam("cut"))
_APPEND = insert(audit)
_CLAIM = text("UPDATE audit SET seq = seq WHERE 0")


@dataclass(frozen=True, slots=True)
class AuditEntry(View):
    """A row as people read it. by: None: erased. detail: empty when it was erased."""

    seq: int
    at: datetime
    act: str
    by: Speaker | None
    persona: str | None
    room_id: str | None
    turn_id: str | None
    detail: Detail
    hash: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The rows that somebody wants to see; None: whichever."""

    room_id: str | None = None
    person_id: str | None = None
    persona: str | None = None
    act: str | None = None
    turn_id: str | None = None
    since: datetime | None = None


EVERY = AuditFilter()


class Audit:
    """Writes the audit log and reads it. A row is on disk when `note` returns.

    anchor: the file that is told the newest hash, so that a missing end is found; None: none.
    clean: takes secrets out of a text; a row that is written can't be corrected.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        anchor: Path | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._store = store
        self._clock = clock
        self._anchor = anchor
        self._clean = clean
        self._logged_at: datetime | None = None
        self._head = ""  # of the row that was appended last
        self._later = ""  # likewise, of one that is on disk and not yet told to `committed`
        self._newest = ""  # likewise, of one that need not be on disk
        self._began_at = micros(clock())  # a loss of the anchor is told once for each of us

    async def note(
        self,
        act: str,
        by: Speaker,
        *,
        persona: str | None = None,
        room: Room | None = None,
        turn_id: str | None = None,
        **detail: str | int | bool | None,
    ) -> None:
        """Append a row. act: a word. detail: never a message's body, never a secret."""
        row = self._row(act, by, persona, room, turn_id, detail)
        self.committed(await self._store.write(row, small=True))

    def note_in(
        self,
        connection: Connection,
        act: str,
        by: Speaker,
        *,
        persona: str | None = None,
        room: Room | None = None,
        **detail: str | int | bool | None,
    ) -> str:
        """Append a row in the caller's commit, with what it is about; its hash. Tell it to
        `committed` once that is on disk."""
        return self._row(act, by, persona, room, None, detail)(connection)

    async def started(self, config_file: Path | None) -> None:
        """Moot starts: by which version, and a hash of its configuration's file."""
        data = await asyncio.to_thread(config_file.read_bytes) if config_file else b""
        config = hashlib.sha256(data).hexdigest() if config_file else None
        await self.note("start", MOOT, version=moot_version(), config_sha256=config)

    def note_later(
        self,
        act: str,
        by: Speaker,
        *,
        persona: str | None = None,
        room: Room | None = None,
        turn_id: str | None = None,
        **detail: str | int | bool | None,
    ) -> None:
        """The same, for what nobody waits for: on disk before anything that is written after it."""
        row = self._row(act, by, persona, room, turn_id, detail)
        self._store.write_later(row).add_done_callback(self._later_committed)

    def _row(
        self,
        act: str,
        by: Speaker,
        persona: str | None,
        room: Room | None,
        turn_id: str | None,
        detail: Detail,
    ) -> Callable[[Connection], str]:
        """The work that appends a row of this moment, and gives its hash. What a program does in
        somebody's name is the program's act."""
        if by.through is not None:
            by, detail = by.through, {**detail, "in_name_of": by.id}
        told = {
            key: self._clean(value) if isinstance(value, str) else value
            for key, value in detail.items()
        }
        where = {"persona": persona, "room_id": room.id if room else None, "turn_id": turn_id}
        return partial(self._appended, _columns(act, by, micros(self._clock()), told, **where))

    def _appended(self, row: Mapping[str, Any], connection: Connection) -> str:
        """Append a row. Mostly it follows the one that was ours before, which one statement does;
        that was looked at then."""
        head = _append_after(connection, row, self._newest) if self._newest else ""
        self._newest = head or _append_checked(connection, row, self.known())
        return self._newest

    def known(self) -> str:
        """A hash that must be in the log, or how the anchor was lost; "": there is no anchor."""
        return self._head or self._kept()

    def _kept(self) -> str:
        return known_head(self._anchor, self._began_at) if self._anchor else ""

    def _later_committed(self, written: asyncio.Future[str]) -> None:
        """Rows of one commit are told one after the other; the anchor needs the last of them."""
        if written.cancelled() or written.exception() is not None:  # the store says so
            return
        if not self._later:
            wait_s = ANCHORED_S if self._head else 0.0  # a first row without an anchor seems cut
            asyncio.get_running_loop().call_later(wait_s, self._all_later_committed)
        self._later = written.result()

    def _all_later_committed(self) -> None:
        head, self._later = self._later, ""
        self.committed(head)

    def committed(self, head: str) -> None:
        """The row that was appended last is on disk; "": none was. Whoever takes it away must also
        change the anchor, and the log."""
        if not head:
            return
        now, self._head, self._later = self._clock(), head, ""
        if self._anchor is not None:
            self._write_anchor(self._anchor, head)
        if self._logged_at is None or now - self._logged_at >= LOG_EVERY:
            self._logged_at = now
            log.info("audit.head", hash=head)

    def _write_anchor(self, anchor: Path, head: str) -> None:
        try:
            write_anchor(anchor, head)
        except OSError as error:
            log.error("audit.no_anchor", file=anchor, reason=error.strerror)

    async def page(
        self, wish: AuditFilter, *, before: int | None, limit: int
    ) -> Sequence[AuditEntry]:
        """The newest rows numbered below `before`, newest first."""
        query = select(audit).order_by(_C.seq.desc()).limit(limit)
        if before is not None:
            query = query.where(_C.seq < before)
        query = query.where(*_conditions(wish))
        return await self._store.read(
            lambda connection: [entry_of(row) for row in connection.execute(query).mappings()]
        )

    async def rows(self, wish: AuditFilter = EVERY) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """All rows in their order, some at a time."""
        conditions, last = _conditions(wish), 0
        while True:
            query = select(audit).where(_C.seq > last, *conditions).order_by(_C.seq).limit(ROWS)
            found = await self._store.read(
                lambda connection, query=query: [  # type: ignore[misc]  # a default in a lambda
                    dict(row) for row in connection.execute(query).mappings()
                ]
            )
            if not found:
                return
            last = found[-1]["seq"]
            yield found

    async def verify(self, head: str = "") -> Verdict:
        """Check the chain. head: a hash that was written down elsewhere, which must be there."""
        check = await self._checked(head)
        return Verdict(check.rows, check.head, check.erased, check.end(), check.acknowledged)

    async def _checked(self, head: str) -> Check:
        last, heads = await self._store.read(partial(_noted, known=self._kept()))
        check = Check((*heads, head), newest=last)
        async for rows in self.rows():
            await asyncio.to_thread(check.feed, rows)
        return check

    async def report(self) -> None:
        """Log that the chain is broken, as long as nobody has taken note of it."""
        try:
            broken = (await self.verify()).broken
        except (MootError, SQLAlchemyError) as error:
            broken = Broken(None, f"it can't be checked: {error}")
        if broken:
            log.error("audit.broken", reason=broken.reason, row=broken.seq)

    async def acknowledge(self, by: Speaker, *, why: str, account: str) -> Broken | None:
        """Take note of all that is broken, in the log itself: from now on it counts as whole up to
        there. Returns what was broken first."""
        check = await self._checked("")
        if (broken := check.end()) is None:
            return None
        if broken.seq is None:  # the end is missing: that is a fault of the chain once it is noted
            cut = {"head": self.known(), "newest": check.head}
            note = partial(append, act=CUT, by=MOOT, at=micros(self._clock()), detail=cut)
            self.committed(await self._store.write(note))
            check = await self._checked("")
        told = check.acknowledgement()
        detail = {"reason": broken.reason, "why": why, "account": account, **told}
        self.committed(
            await self._store.write(self._row(ACKNOWLEDGE, by, None, None, None, detail))
        )
        return broken


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
    return _append_checked(connection, _columns(act, by, at, detail, **where), known)


def _append_checked(connection: Connection, row: Mapping[str, Any], known: str) -> str:
    """Append a row, and before it one for each hash that the log must hold and does not."""
    before, kept, followed = _claimed(connection, known)
    for head in sorted(noted_heads(known, kept) - {"", before}):
        if not (head == known and followed) and not _is_told(connection, head):
            cut = _columns(CUT, MOOT, row["at"], {"head": head, "newest": before})
            before = _appended(connection, cut, before)
    return _appended(connection, row, before)


def _append_after(connection: Connection, row: Mapping[str, Any], before: str) -> str:
    """Append a row if that one is the newest; "": another is, or what is noted of it differs."""
    _claim(connection)
    values = _sealed(row, before)
    given = {f"new_{name}": value for name, value in values.items()}
    appended = connection.execute(_append_if_newest(connection.dialect.name), given).first()
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


def _columns(
    act: str, by: Speaker, at: int, detail: Detail, **where: str | None
) -> Mapping[str, Any]:
    """What a row says, before it is hashed."""
    row = {"at": at, "act": act, "by_id": by.id, "by_name": by.name, "detail": dict(detail)}
    empty = dict.fromkeys(("persona", "room_id", "turn_id"))
    told: Mapping[str, Any] = storable_value({**row, **empty, **where})
    return told


def _appended(connection: Connection, row: Mapping[str, Any], before: str) -> str:
    values = _sealed(row, before)
    if connection.dialect.name == "sqlite":
        connection.execute(_APPEND, values)
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


def _claimed(connection: Connection, known: str) -> tuple[str, str, bool]:
    """The newest row's hash, the database's own note of it, and whether a row follows `known`; read
    as who alone may append until the transaction ends: another process may want to, too."""
    given = {"head": known}
    _claim(connection)
    if connection.dialect.name == "sqlite":
        return _found(connection.execute(_FOUND, given).one())
    found = connection.execute(_FOUND_LOCKED, given).first()
    if found is None:
        connection.execute(_first_head())
        found = connection.execute(_FOUND_LOCKED, given).one()
    if found[0] != found[1]:  # it waited for the lock, and has seen what was before
        found = connection.execute(_FOUND, given).one()
    return _found(found)


def _found(row: Row[*tuple[Any, ...]]) -> tuple[str, str, bool]:
    before, kept, followed = row
    return before, kept, followed


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


def _noted(connection: Connection, known: str) -> tuple[int, set[str]]:
    """The number that SQLite gave last, also to a row that is gone; 0: unknown, for PostgreSQL's
    has gaps of its own. And the hashes that the log must hold."""
    heads = noted_heads(known, connection.execute(_NEWEST).one()[1])
    if connection.dialect.name != "sqlite":
        return 0, heads
    wanted = text("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")
    return connection.execute(wanted).scalar() or 0, heads


def _conditions(wish: AuditFilter) -> list[Any]:
    wanted = (
        (_C.room_id, wish.room_id),
        (_C.by_id, wish.person_id),
        (_C.persona, wish.persona),
        (_C.act, wish.act),
        (_C.turn_id, wish.turn_id),
    )
    conditions = [column == value for column, value in wanted if value is not None]
    if wish.since is not None:
        conditions.append(_C.at >= micros(wish.since))
    return conditions


def entry_of(row: Mapping[Any, Any]) -> AuditEntry:
    """A row as people read it."""
    return AuditEntry(
        seq=row["seq"],
        at=moment(row["at"]),
        act=row["act"],
        by=Speaker(row["by_id"], row["by_name"]) if row["by_id"] else None,
        persona=row["persona"],
        room_id=row["room_id"],
        turn_id=row["turn_id"],
        detail=row["detail"],
        hash=row["hash"],
    )
