"""The machine of matrix-nio that holds a device's keys, and its thread.

All of it runs on one thread of its own: the store in a file writes to disk, and its database
library binds its tables to one database at a time for the whole process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import structlog
from nio.crypto import Olm
from nio.store import SqliteStore

from bots.kit.cursor import KeyRows
from bots.matrix.check import Account
from bots.matrix.crypto.key_rows import RowStore, moved

T = TypeVar("T")

log = structlog.stdlib.get_logger("moot.bots")

FILE = "keys.db"
_THREAD = ThreadPoolExecutor(1, "matrix keys")


class Machine:
    """One device's. Whoever works with `olm` does so in `do`."""

    def __init__(self, olm: Any, own: Account, rows: KeyRows | None) -> None:
        """rows: where a store that collects what changes is written; None: it writes a file."""
        self.olm = olm
        self._device = _name(own)
        self._rows = rows
        self._writing = asyncio.Lock()  # in the order of the works

    @classmethod
    async def open(cls, folder: Path, own: Account, rows: KeyRows | None) -> Machine:
        """The stored keys of the account's device, or new ones. Raises MootError.

        rows: where they are in place of a file; one of before is taken along.
        """
        if rows is None:
            return cls(await _off_loop(lambda: _olm(own, _file_store(folder, own))), own, None)
        store, file, moves = RowStore(own, await rows.load(_name(own))), folder / FILE, False
        if store.is_empty and file.is_file():
            store = await _off_loop(lambda: _left_in_file(folder, own))
            moves = not store.is_empty
        made = cls(await _off_loop(lambda: _olm(own, store)), own, rows)
        await made._write()
        if moves:
            await asyncio.to_thread(file.replace, file.with_name(f"{FILE}.moved"))
            log.info("keys.moved", file=file)
        return made

    async def close(self) -> None:
        """Let go of the file."""
        if self._rows is None:
            await _off_loop(self.olm.store.database.close)

    async def do(self, work: Callable[[], T]) -> T:
        """Run `work`; what it changed is on disk when this returns."""
        try:
            return await _off_loop(work)
        finally:
            await self._write()

    async def _write(self) -> None:
        if self._rows is None:
            return
        store = self.olm.store
        async with self._writing:
            if not (changed := await _off_loop(store.take_changes)):
                return
            try:
                await self._rows.save(self._device, changed)
            except BaseException:
                _THREAD.submit(store.give_back, changed)
                raise


def _name(own: Account) -> str:
    """The name of a device."""
    return f"{own.user_id} {own.device_id}"


def _file_store(folder: Path, own: Account) -> SqliteStore:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / FILE).touch(mode=0o600)
    return SqliteStore(own.user_id, own.device_id, str(folder), own.pickle_key, database_name=FILE)


def _left_in_file(folder: Path, own: Account) -> RowStore:
    file = _file_store(folder, own)
    try:
        return moved(file, own)
    finally:
        file.database.close()


def _olm(own: Account, store: Any) -> Any:
    return Olm(own.user_id, own.device_id, store)


async def _off_loop(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)
