"""Where a layer is, and when it tries again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.cursors import ReadCursor, advance, failed, read_cursor
from store.database import Store

NOW = datetime(2026, 4, 21, tzinfo=UTC)


async def test_a_failure_leaves_the_pointer_and_a_success_forgets_it(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:

        async def read() -> ReadCursor:
            return await store.read(lambda c: read_cursor(c, "x", "room:a"))

        assert await read() == ReadCursor(0, 0, None)
        await store.write(lambda c: failed(c, "x", "room:a", NOW))
        await store.write(lambda c: failed(c, "x", "room:a", NOW))
        assert await read() == ReadCursor(0, 2, NOW)
        await store.write(lambda c: advance(c, "x", "room:a", 7, NOW))
        assert await read() == ReadCursor(7, 0, NOW)
        await store.write(lambda c: failed(c, "x", "room:a", NOW))
        assert await read() == ReadCursor(7, 1, NOW)
        assert await store.read(lambda c: read_cursor(c, "y", "room:a")) == ReadCursor()
        assert await store.read(lambda c: read_cursor(c, "x", "room:b")) == ReadCursor()


@pytest.mark.parametrize(
    ("failures", "minutes"), [(0, 0), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (400, 60)]
)
def test_it_waits_twice_as_long_after_every_failure_up_to_an_hour(
    failures: int, minutes: int
) -> None:
    pointer = ReadCursor(5, failures, NOW)
    assert not pointer.waits(NOW + timedelta(minutes=minutes))
    assert pointer.waits(NOW + timedelta(minutes=minutes, seconds=-1)) is bool(failures)
