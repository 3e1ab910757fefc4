"""Erasures that go on other machines on which a gateway led: of attachments, of agents' folders,
and in the index of recall.

An erasure is noted in the database with all that has to go, by digests. Each gateway carries out
those that it has not yet, when it starts and before it leads; which these are, it notes in a file
beside what it deletes: so whatever comes back with a backup of that goes again. Facts that are in
the database no longer need no note: the index forgets those; one that lost a part is noted.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal

import structlog
from sqlalchemy import Connection, insert, select

from contract.values import dataclass
from gateway.core.private_folders import FILES, SCOPES
from gateway.files.erasing import delete_files, files_below
from gateway.sessions.scope_folders import delete_scope
from gateway.sessions.sessions import digest
from gateway.settings.whole_file import put
from memory.recall.facts import count_until, fact_ids, last_fact
from memory.recall.index import IndexFailed
from store.database import Store
from store.gateway_schema import machine_erasures
from store.health import StoreRefusal
from store.timestamps import micros

log = structlog.stdlib.get_logger("moot.erasure")

DONE = "erased.json"  # in the data directory
EVERY_S = 10.0  # while another gateway leads
What = Literal["file", "scope", "homes", "fact"]


@dataclass(frozen=True, slots=True)
class Erased:
    """A thing that is to go in an act. See the table's columns."""

    act: str
    what: What
    digest: str


def note(connection: Connection, what: What, names: Iterable[str], now: datetime) -> str:
    """Let these go on every machine: files by their names, scopes, or facts from the index by their
    ids. Returns the act."""
    act = secrets.token_hex(8)
    digests = sorted({digest(name) for name in names})
    if digests:
        rows = [{"act": act, "what": what, "digest": one, "at": micros(now)} for one in digests]
        connection.execute(insert(machine_erasures), rows)
    return act


def noted(connection: Connection) -> list[Erased]:
    """All there are."""
    table = machine_erasures.c
    rows = connection.execute(select(table.act, table.what, table.digest))
    return [Erased(row.act, row.what, row.digest) for row in rows]


class MachineErasures:
    """Those of this machine."""

    def __init__(
        self,
        store: Store,
        data_dir: Path,
        workspaces: Callable[[], Sequence[Path]] = tuple,
        index: Path | None = None,
    ) -> None:
        """workspaces: gives those that are configured here, resolved: they stay. index: the file of
        the index, which nobody has open; None: it is left alone."""
        self._store, self._data_dir, self._workspaces = store, data_dir, workspaces
        self._index = index if store.dialect != "sqlite" else None  # else nobody else has one
        self._swept: tuple[int, int] | None = None  # the facts' number and their last, as they were
        self._told = ""

    @asynccontextmanager
    async def forgetting(self, scope: str, now: datetime) -> AsyncIterator[None]:
        """Records of programs of a scope go here in the block, and from other machines later.
        Raises StoreRefusal, OSError."""
        act = await self._store.write(lambda c: note(c, "homes", [scope], now))
        yield
        await asyncio.to_thread(self._add, {act})

    async def keep_up(self) -> None:
        """Carry out what comes while another gateway leads, until it is cancelled."""
        while True:
            with suppress(StoreRefusal):  # the store tells of it
                await self.carry_out(sweeps=True)
            await asyncio.sleep(EVERY_S)

    async def carry_out(self, *, sweeps: bool = False) -> None:
        """Delete what is noted and still here. sweeps: and of the index what belongs to no fact any
        more, which who leads does once its memory has begun. Raises StoreRefusal."""
        rows = await self._store.read(noted)
        seen = await self._store.read(last_fact) if self._has_index() else None
        known: Collection[str] | None = None
        if seen is not None and self._swept != seen:
            known = await self._facts(sweeps=sweeps, any_there=seen[0] > 0)
        try:
            await asyncio.to_thread(self._carry_out, rows, known)
        except (OSError, IndexFailed) as error:
            if self._told != (told := str(error)):
                log.warning("erasure.not_carried_out", reason=told)
                self._told = told
        else:
            self._swept = self._swept if known is None else seen

    def _has_index(self) -> bool:
        return self._index is not None and self._index.exists()

    async def _facts(self, *, sweeps: bool, any_there: bool) -> Collection[str] | None:
        """Ids of the facts that there are; None: none went since the last look."""
        if not any_there:
            return ()
        if not sweeps:
            return None
        if self._swept is not None:
            before, until = self._swept
            if await self._store.read(partial(count_until, seq=until)) == before:
                return None
        return await self._store.read(fact_ids)

    def _carry_out(self, rows: Sequence[Erased], facts: Collection[str] | None) -> None:
        """facts: ids of those that there are; None: none went. Raises OSError, IndexFailed."""
        done = self._done()
        due = [one for one in rows if one.act not in done]
        names = {one.digest for one in due if one.what == "file"}
        root = self._data_dir / FILES
        files = list(files_below(root, lambda name: digest(name) in names)) if names else []
        delete_files(root, files)
        for one in due:
            if one.what in ("scope", "homes"):
                whole, scopes = one.what == "scope", self._data_dir / SCOPES
                delete_scope(scopes, one.digest, self._workspaces(), whole=whole)
        dropped = self._unindex({one.digest for one in due if one.what == "fact"}, facts)
        if due:
            self._add({one.act for one in due})
        if due or dropped:
            log.info("erasure.carried_out", files=len(files), facts=dropped)

    def _unindex(self, digests: Collection[str], facts: Collection[str] | None) -> int:
        if self._index is None or not (digests or facts is not None):
            return 0
        from memory.recall.index_file import drop  # only where another machine may have one

        return drop(
            self._index,
            lambda one: (facts is not None and one not in facts) or digest(one) in digests,
        )

    def _done(self) -> set[str]:
        try:
            return set(json.loads((self._data_dir / DONE).read_text("utf-8")))
        except FileNotFoundError:
            return set()

    def _add(self, acts: set[str]) -> None:
        """Raises OSError."""
        told = json.dumps(sorted(self._done() | acts), indent=0)
        put(self._data_dir / DONE, told.encode(), 0o600)
