"""What need not be on disk at once is there soon; all else is when it is written, and can be read a
little sooner."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, func, insert, select

from store.database import Store
from store.health import NotSynced
from store.schema import pointers

BROKEN = OSError(errno.EIO, "Input/output error")


def put(connection: Connection, layer: str) -> None:
    connection.execute(insert(pointers), {"layer": layer, "scope": "s", "seq": 1, "failures": 0})


def forget_none(connection: Connection) -> int:
    return connection.execute(delete(pointers).where(pointers.c.layer == "nobody's")).rowcount


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(pointers)).scalar_one()


class Disk:
    """What is synced, but by SQLite. synced: the files' numbers, each time; errors: what it fails
    with the next times. goes_on: cleared, it takes until that is set."""

    def __init__(self) -> None:
        self.synced: list[int] = []
        self.errors: list[OSError | None] = []
        self.goes_on = threading.Event()
        self.goes_on.set()

    def sync(self, opened: int) -> None:
        assert self.goes_on.wait(30)
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
        os.fsync(opened)
        self.synced.append(os.fstat(opened).st_ino)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Store]:
    """A store that has written "a": the first write is in the thread, which others need not be."""
    async with Store.open(f"sqlite:///{folder / 'moot.db'}") as store, asyncio.timeout(20):
        await store.write(partial(put, layer="a"))
        yield store


async def readable(store: Store, layer: str, *, synced: bool = True) -> asyncio.Future[None]:
    """Write it; returns what waits for it once it can be read."""
    seen = asyncio.Event()
    writing = store.write(
        partial(put, layer=layer), small=True, synced=synced, seen=lambda _: seen.set()
    )
    await seen.wait()
    return writing


def told_as(layer: str, done: list[str]) -> Callable[[object], None]:
    return lambda _: done.append(layer)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    watched = Disk()
    monkeypatch.setattr("store.engines._sync_file", watched.sync)
    return watched


def log_of(folder: Path) -> int:
    return (folder / "moot.db-wal").stat().st_ino


async def test_what_is_written_is_synced_when_that_returns(tmp_path: Path, disk: Disk) -> None:
    async with Store.open(f"sqlite:///{tmp_path / 'moot.db'}") as store:
        await store.write(partial(put, layer="a"))  # in the thread, by SQLite
        assert disk.synced == []
        for number in range(1, 40):
            await store.write(partial(put, layer=str(number)), small=True)
            by_sqlite = number // 16
            assert disk.synced == [log_of(tmp_path)] * (number - by_sqlite)


async def test_it_can_be_read_before_it_is_synced(tmp_path: Path, disk: Disk) -> None:
    seen: asyncio.Queue[None] = asyncio.Queue()
    async with Store.open(f"sqlite:///{tmp_path / 'moot.db'}") as store, asyncio.timeout(20):
        await store.write(partial(put, layer="a"), seen=seen.put_nowait)
        await seen.get()
        disk.goes_on.clear()
        writing = store.write(partial(put, layer="b"), small=True, seen=seen.put_nowait)
        await seen.get()
        assert await store.read(count, small=True) == 2
        assert not writing.done()
        assert disk.synced == []
        disk.goes_on.set()
        await writing
        assert len(disk.synced) == 1


async def test_others_are_written_while_one_is_synced_and_share_the_next_time(
    tmp_path: Path, disk: Disk
) -> None:
    done: list[str] = []
    async with opened(tmp_path) as store:
        disk.goes_on.clear()
        writing = [await readable(store, layer) for layer in "bcd"]
        lazy = await readable(store, "e", synced=False)
        assert await store.read(count, small=True) == 5
        in_thread = store.write(partial(put, layer="f"))
        await asyncio.sleep(0.05)
        assert not any(one.done() for one in (*writing, lazy, in_thread))
        for layer, one in zip("bcdef", (*writing, lazy, in_thread), strict=True):
            one.add_done_callback(told_as(layer, done))
        disk.goes_on.set()
        await asyncio.gather(*writing, lazy, in_thread)
        await asyncio.sleep(0)
    assert done == list("bcdef")
    assert len(disk.synced) == 2


async def test_a_sync_that_fails_is_told_to_those_alone_who_wait_for_it(
    tmp_path: Path, disk: Disk
) -> None:
    async with opened(tmp_path) as store:
        disk.goes_on.clear()
        disk.errors = [BROKEN]
        waits = await readable(store, "b")
        lazy = await readable(store, "c", synced=False)
        later = await readable(store, "d")
        disk.goes_on.set()
        with pytest.raises(NotSynced):
            await waits
        await asyncio.gather(lazy, later)
        assert store.health.state == "ok"
    assert len(disk.synced) == 1


async def test_a_commit_that_changes_nothing_brings_nobody_elses_to_disk(
    tmp_path: Path, disk: Disk
) -> None:
    """SQLite syncs nothing for it."""
    done: list[str] = []
    async with opened(tmp_path) as store:
        disk.goes_on.clear()
        disk.errors = [None, BROKEN]
        first = await readable(store, "b")
        second = await readable(store, "c")
        second.add_done_callback(told_as("c", done))
        nothing = store.write(forget_none)
        nothing.add_done_callback(told_as("nothing", done))
        disk.goes_on.set()
        await first
        with pytest.raises(NotSynced):
            await second
        assert await nothing == 0
        await asyncio.sleep(0)
    assert done == ["c", "nothing"]


async def test_trouble_lasts_until_something_is_synced(tmp_path: Path, disk: Disk) -> None:
    async with opened(tmp_path) as store:
        disk.errors = [BROKEN]
        waits = store.write(partial(put, layer="b"), small=True)
        lazy = store.write(partial(put, layer="c"), small=True, synced=False)
        with pytest.raises(NotSynced):
            await waits
        await lazy
        await store.write(partial(put, layer="d"), small=True, synced=False)
        states = [store.health.state]
        disk.errors = [BROKEN]
        with pytest.raises(NotSynced):
            await store.write(forget_none)
        states.append(store.health.state)
        await store.write(forget_none)
        assert [*states, store.health.state] == ["away", "away", "ok"]


async def test_a_sync_that_fails_is_made_again_for_what_need_not_be_on_disk_at_once(
    tmp_path: Path, disk: Disk
) -> None:
    async with opened(tmp_path) as store:
        await store.write(partial(put, layer="b"), small=True, synced=False)
        disk.errors = [BROKEN]
        with pytest.raises(NotSynced):
            await store.write(partial(put, layer="c"), small=True)
        assert disk.synced == []
        await store.flush()
        assert disk.synced == [log_of(tmp_path)]


async def test_who_wrote_before_is_told_before(tmp_path: Path, disk: Disk) -> None:
    done: list[str] = []
    expected: list[str] = []
    async with opened(tmp_path) as store:
        for number in range(50):
            sure = await readable(store, f"sure {number}")
            sure.add_done_callback(told_as(f"sure {number}", done))
            expected.append(f"sure {number}")
            lazy = 0
            while not sure.done():
                name = f"lazy {number}.{lazy}"
                writing = store.write(partial(put, layer=name), small=True, synced=False)
                writing.add_done_callback(told_as(name, done))
                expected.append(name)
                lazy += 1
                await asyncio.sleep(0)
        await store.flush()
        await asyncio.sleep(0)
    assert done == expected


async def test_what_need_not_be_on_disk_at_once_is_read_at_once_and_synced_soon(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.engines.SYNC_S", 0.05)
    async with opened(tmp_path) as store:
        await store.write(partial(put, layer="b"), small=True, synced=False)
        assert await store.read(count) == 2
        assert disk.synced == []
        async with asyncio.timeout(30):
            while not disk.synced:
                await asyncio.sleep(0.01)
        assert disk.synced == [log_of(tmp_path)]


async def test_a_commit_that_is_synced_takes_along_what_was_not(tmp_path: Path, disk: Disk) -> None:
    async with opened(tmp_path) as store:
        await store.write(partial(put, layer="b"), small=True, synced=False)
        await store.write(partial(put, layer="c"), small=True)
        await store.flush()
        assert disk.synced == [log_of(tmp_path)]


async def test_one_in_a_commit_that_is_to_be_synced_is_enough(tmp_path: Path, disk: Disk) -> None:
    async with opened(tmp_path) as store:
        lazy = store.write(partial(put, layer="b"), small=True, synced=False)
        sure = store.write(partial(put, layer="c"), small=True)
        await asyncio.gather(lazy, sure)
        assert len(disk.synced) == 1


@pytest.mark.parametrize("flushed", [True, False])
async def test_what_is_flushed_or_closed_is_on_disk(
    tmp_path: Path, disk: Disk, *, flushed: bool
) -> None:
    async with opened(tmp_path) as store:
        await store.write(partial(put, layer="b"), small=True, synced=False)
        log = log_of(tmp_path)
        if flushed:
            await store.flush()
            assert disk.synced == [log]
    assert disk.synced == [log]


async def test_who_waits_is_told_that_it_could_not_be_synced_and_it_is_written_once(
    tmp_path: Path, disk: Disk
) -> None:
    async with opened(tmp_path) as store:
        disk.errors = [BROKEN]
        both = [store.write(partial(put, layer=layer), small=True) for layer in "bc"]
        for one in await asyncio.gather(*both, return_exceptions=True):
            assert isinstance(one, NotSynced)
            assert "Input/output error" in one.reason
        states = [store.health.state]
        assert await store.read(count) == 3
        await store.write(partial(put, layer="d"), small=True)
        assert [*states, store.health.state] == ["away", "ok"]
        assert await store.read(count) == 4


async def test_the_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path / 'moot.db'}") as store:
        for number in range(3_000):  # some three pages each
            await store.write(partial(put, layer=str(number)), small=True)
        size = (tmp_path / "moot.db-wal").stat().st_size
        await store.write(lambda c: c.execute(pointers.delete()), small=True)
    assert size < 8 * 2**20


async def test_what_may_wait_is_in_the_next_commit(tmp_path: Path) -> None:
    done: list[str] = []
    async with opened(tmp_path) as store:
        waits = store.write(partial(put, layer="b"), small=True, synced=False, within_s=10.0)
        waits.add_done_callback(lambda _: done.append("b"))
        await asyncio.sleep(0.05)
        assert await store.read(count, small=True) == 1
        comes = store.write(partial(put, layer="c"), small=True)
        comes.add_done_callback(lambda _: done.append("c"))
        await asyncio.gather(waits, comes)
        assert done == ["b", "c"]
        assert await store.read(count, small=True) == 3
        await store.write(partial(put, layer="d"), small=True, synced=False, within_s=0.01)
        assert await store.read(count) == 4


async def test_what_is_read_at_once_sees_nothing_that_is_not_committed(tmp_path: Path) -> None:
    """A small read goes by the writer's connection while nothing is written by it."""
    async with opened(tmp_path) as store:
        assert await store.read(count, small=True) == 1
        began = threading.Event()
        goes_on = threading.Event()

        def long(connection: Connection) -> None:
            put(connection, "b")
            began.set()
            assert goes_on.wait(20)

        writing = store.write(long)
        await asyncio.to_thread(began.wait, 20)
        assert await store.read(count, small=True) == 1
        goes_on.set()
        await writing
        assert await store.read(count, small=True) == 2
        with pytest.raises(ZeroDivisionError):
            await store.write(fails, small=True)
        assert await store.read(count, small=True) == 2


def fails(connection: Connection) -> None:
    put(connection, "c")
    raise ZeroDivisionError
