"""The index of recall of the machine that stands by forgets what is forgotten where Moot leads."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import select

from store.database import Store
from store.schema import facts
from tests.doubles.service import Service
from tests.doubles.two import logged, two
from tests.test_commands import moot
from tests.test_forgetting_whole import FORGOTTEN, KEPT, submit
from tests.test_recall_whole import known, talk

CONFIG = '[agents.demo]\nprofile = "demo"\nenv = { MOOT_DEMO_PACE = "0" }\n'


def indexed(at: Service) -> set[str]:
    """Those of the words that the files of its index hold."""
    files = [path.read_bytes() for path in (at.folder / "data" / "memory").glob("index.db*")]
    return {word for word in (FORGOTTEN, KEPT) for data in files if word.encode() in data}


async def number_of(url: str, word: str) -> int:
    """By which people call the fact that has the word."""
    query = select(facts.c.seq).where(facts.c.text.contains(word))
    async with Store.open(url, read_only=True) as store:
        return await store.read(lambda c: int(c.execute(query).scalar_one()))


async def only(at: Service, *words: str) -> None:
    """Wait until its index holds these."""
    async with asyncio.timeout(40):
        while indexed(at) != set(words):
            await asyncio.sleep(0.1)


async def test_what_is_forgotten_goes_from_the_index_of_the_one_that_stands_by(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, CONFIG) as house:
        first, second = house.first, house.second
        await talk(first.url, f"we decided that the greenhouse opens with {FORGOTTEN}")
        await talk(first.url, f"we decided that the cellar opens with {KEPT}")
        await known(first.url, KEPT)
        await house.take_over()
        await known(second.url, KEPT)
        await first.begin()
        await only(first, FORGOTTEN, KEPT)
        number = await number_of(house.url, FORGOTTEN)
        assert "Forgotten:" in str(await submit(second, f"!forget {number}"))
        await only(first, KEPT)
        await only(second, KEPT)
        await first.kill()
        await second.stop()
        words = ("memory", "delete-person", "web:budi", "--yes")
        done = await asyncio.to_thread(moot, *words, cwd=second.folder)
        assert done.returncode == 0, done.stderr
        assert indexed(first) == {KEPT}
        await second.start()
        await first.begin()
        await only(first)
        await logged(first, "erasure.carried_out")
        for at in (first, second):
            assert at.leaks(FORGOTTEN, KEPT) == []
            assert "Traceback" not in at.log()
