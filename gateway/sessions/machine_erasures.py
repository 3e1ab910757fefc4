"""What is erased also on other machines on which a gateway led: attachments, and agents' folders.

An erasure is noted in the database with all that has to go, by digests. Each gateway carries out
those that it has not yet, when it starts and before it leads; which these are, it notes in a file
beside what it deletes: so whatever comes back with a backup of that goes again.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
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
from store.database import Store
from store.gateway_schema import machine_erasures
from store.timestamps import micros

log = structlog.stdlib.get_logger("moot.erasure")

DONE = "erased.json"  # in the data directory
What = Literal["file", "scope", "homes"]


@dataclass(frozen=True, slots=True)
class Erased:
    """A thing that is to go in an act. See the table's columns."""

    act: str
    what: What
    digest: str


def note(connection: Connection, what: What, names: Iterable[str], now: datetime) -> str:
    """Let these go on every machine: files by their names, or scopes. Returns the act."""
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

    def __init__(self, store: Store, data_dir: Path, workspaces: Sequence[Path] = ()) -> None:
        """workspaces: that are configured here, resolved: they stay."""
        self._store, self._data_dir, self._workspaces = store, data_dir, workspaces

    @asynccontextmanager
    async def forgetting(self, scope: str, now: datetime) -> AsyncIterator[None]:
        """Records of programs of a scope go here in the block, and from other machines later.
        Raises StoreRefusal, OSError."""
        act = await self._store.write(lambda c: note(c, "homes", [scope], now))
        yield
        await asyncio.to_thread(self._add, {act})

    async def carry_out(self) -> None:
        """Delete what is noted and still here. Raises StoreRefusal."""
        rows = await self._store.read(noted)
        await asyncio.to_thread(self._carry_out, rows)

    def _carry_out(self, rows: Sequence[Erased]) -> None:
        done = self._done()
        due = [one for one in rows if one.act not in done]
        if not due:
            return
        try:
            names = {one.digest for one in due if one.what == "file"}
            root = self._data_dir / FILES
            files = list(files_below(root, lambda name: digest(name) in names)) if names else []
            delete_files(root, files)
            for one in due:
                if one.what != "file":
                    whole, scopes = one.what == "scope", self._data_dir / SCOPES
                    delete_scope(scopes, one.digest, self._workspaces, whole=whole)
            self._add({one.act for one in due})
        except OSError as error:
            log.warning("erasure.not_carried_out", reason=str(error))
        else:
            log.info("erasure.carried_out", files=len(files))

    def _done(self) -> set[str]:
        try:
            return set(json.loads((self._data_dir / DONE).read_text("utf-8")))
        except FileNotFoundError:
            return set()

    def _add(self, acts: set[str]) -> None:
        """Raises OSError."""
        told = json.dumps(sorted(self._done() | acts), indent=0)
        put(self._data_dir / DONE, told.encode(), 0o600)
