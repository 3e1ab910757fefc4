"""What need not be on disk at once is there soon; all else is when it is written."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, insert, select

from store.database import Store
from store.schema import pointers

FULL, NORMAL = 2, 1  # how SQLite syncs: with each commit, or not


def put(connection: Connection, layer: str) -> int:
    """Write something; the way in which SQLite syncs it."""
    connection.execute(insert(pointers), {"layer": layer, "scope": "s", "seq": 1, "failures": 0})
    return int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(pointers)).scalar_one()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the files that were synced by us."""
    numbers, sync = list[int](), os.fsync

    def noted(opened: int) -> None:
        numbers.append(os.fstat(opened).st_ino)
        sync(opened)

    monkeypatch.setattr(os, "fsync", noted)
    return numbers


async def test_what_need_not_be_on_disk_at_once_is_read_at_once_and_synced_soon(
    tmp_path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.engines.SYNC_S", 0.05)
    async with Store.open(f"sqlite:///{tmp_path / 'moot.db'}") as store:
        assert await store.write(partial(put, layer="a"), small=True) == FULL
        assert await store.write(partial(put, layer="b"), small=True, synced=False) == NORMAL
        assert await store.read(count) == 2
        async with asyncio.timeout(30):
            while not synced:
                await asyncio.sleep(0.01)
        assert synced == [(tmp_path / "moot.db-wal").stat().st_ino]


async def test_a_commit_that_is_synced_takes_along_what_was_not(
    tmp_path: Path, synced: list[int]
) -> None:
    async with Store.open(f"sqlite:///{tmp_path / 'moot.db'}") as store:
        await store.write(partial(put, layer="a"), small=True)
        await store.write(partial(put, layer="b"), small=True, synced=False)
        assert await store.write(partial(put, layer="c"), small=True) == FULL
        await store.flush()
        assert synced == []


async def test_one_in_a_commit_that_is_to_be_synced_is_enough(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path / 'moot.db'}") as store:
        await store.write(partial(put, layer="a"), small=True)
        lazy = store.write(partial(put, layer="b"), small=True, synced=False)
        sure = store.write(partial(put, layer="c"), small=True)
        assert (await lazy, await sure) == (FULL, FULL)


@pytest.mark.parametrize("flushed", [True, False])
async def test_what_is_flushed_or_closed_is_on_disk(
    tmp_path: Path, synced: list[int], *, flushed: bool
) -> None:
    async with Store.open(f"sqlite:///{tmp_path / 'moot.db'}") as store:
        await store.write(partial(put, layer="a"), small=True)
        await store.write(partial(put, layer="b"), small=True, synced=False)
        log = (tmp_path / "moot.db-wal").stat().st_ino
        if flushed:
            await store.flush()
            assert synced == [log]
    assert synced == [log]
