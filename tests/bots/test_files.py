"""Files on disk, whoever writes them."""

import asyncio
from pathlib import Path

from bots.kit.files import write


async def test_two_bots_that_keep_one_file_at_once_both_have_it_whole(tmp_path: Path) -> None:
    path, data = tmp_path / "room" / "a.txt", b"words" * 10_000
    await asyncio.gather(*(asyncio.to_thread(write, path, data) for _ in range(16)))
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]
