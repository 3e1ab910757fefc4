"""The audit log: who let which agent do what. Append-only; a hash chains each row to the last."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from contract.chat import MOOT, Room, Speaker
from contract.errors import MootError
from contract.values import dataclass
from gateway.audit.appending import Detail, append, append_after, append_checked, noted, row_of
from gateway.audit.chain import (
    ACKNOWLEDGE,
    CUT,
    Broken,
    Check,
    Verdict,
    known_head,
    write_anchor,
)
from gateway.core.views import View
from gateway.observability.telemetry import moot_version
from store.database import Store
from store.gateway_schema import audit
from store.timestamps import micros, moment

log = structlog.stdlib.get_logger("moot.audit")

ROWS = 500  # at a time: a check of a long log must not hold it all
LOG_EVERY = timedelta(hours=1)
ANCHORED_S = 0.25  # after what nobody waits for: an answer goes out first, and many share one write

_C = audit.c


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
        return partial(self._appended, row_of(act, by, micros(self._clock()), told, **where))

    def _appended(self, row: Mapping[str, Any], connection: Connection) -> str:
        """Append a row. Mostly it follows the one that was ours before, which one statement does;
        that was looked at then."""
        head = append_after(connection, row, self._newest) if self._newest else ""
        self._newest = head or append_checked(connection, row, self.known())
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
        last, heads = await self._store.read(partial(noted, known=self._kept()))
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
