"""A server's collection in which somebody else keeps memories: nothing of theirs is touched."""

import argparse
import io
import json
import uuid
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient, models

from contract.errors import ConfigError
from gateway.cli.memory.command import add_memory
from gateway.cli.memory.commands import look_after
from gateway.settings.config import Config
from memory.recall.index import Index, IndexSettings
from memory.recall.mem0 import open_index
from tests.doubles.small_chat import entries

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

ROOM = "room:fake:r"


@pytest.fixture
def client() -> Iterator[QdrantClient]:
    """A server with the collection of a Mem0 that somebody uses already."""
    opened = QdrantClient(":memory:")
    vectors = models.VectorParams(size=384, distance=models.Distance.COSINE)
    opened.create_collection("mem0", vectors_config=vectors)
    rows = [
        models.PointStruct(
            id=str(uuid.uuid4()),
            vector=[float(n + 1), *[0.5] * 383],
            payload={"user_id": "andi", "data": f"Andi likes tea {n}", "hash": str(n)},
        )
        for n in range(50)
    ]
    opened.upsert("mem0", rows)
    yield opened
    opened.close()


def rows_in(client: QdrantClient) -> dict[Any, models.Record]:
    found, _ = client.scroll("mem0", limit=1000, with_vectors=True)
    return {row.id: row for row in found}


def index_on(folder: Path, client: QdrantClient) -> AbstractAsyncContextManager[Index]:
    given = {"client": client, "collection_name": "mem0"}
    return open_index(IndexSettings(folder, store="qdrant", store_settings=given))


async def moot(folder: Path, client: QdrantClient, *words: str) -> str:
    """Run `moot memory ...`; return what it printed."""

    def opened(_: Config) -> AbstractAsyncContextManager[Index]:
        return index_on(folder / "data" / "memory", client)

    (folder / "moot.toml").write_text("")
    parser = argparse.ArgumentParser()
    add_memory(parser.add_subparsers())
    given = parser.parse_args(["memory", *words, "--config", str(folder / "moot.toml")])
    out = io.StringIO()
    assert await look_after(given, environment={}, open_index=opened, out=out) == 0
    return out.getvalue()


@pytest.mark.parametrize("command", [("rebuild",), ("wipe", "--yes")])
async def test_rows_of_others_stay_and_the_command_is_refused(
    tmp_path: Path, client: QdrantClient, command: tuple[str, ...]
) -> None:
    before = rows_in(client)
    facts = [
        {"scope": ROOM, "text": f"Budi likes cake {n}", "date": "2026-04-15"} for n in range(60)
    ]
    lines = [json.dumps(fact) for fact in facts]
    (tmp_path / "facts.jsonl").write_text("\n".join(lines))
    assert "imported 60 fact" in await moot(tmp_path, client, "import", f"{tmp_path}/facts.jsonl")
    with pytest.raises(ConfigError, match=r"collection_name: 'mem0' holds memories that are not"):
        await moot(tmp_path, client, *command)
    assert rows_in(client) == before
    assert len(before) == 50
    assert "Budi likes cake 7" in await moot(
        tmp_path, client, "search", "cake 7", "--scope", ROOM
    )  # by the words, and nothing was wiped


async def test_ours_alone_go_where_rows_of_others_came_later(
    tmp_path: Path, client: QdrantClient
) -> None:
    theirs = rows_in(client)
    moved = [
        models.PointStruct(id=row.id, vector=row.vector, payload=row.payload)  # type: ignore[arg-type]
        for row in theirs.values()
    ]
    client.delete("mem0", list(theirs))
    async with index_on(tmp_path, client) as index:
        await index.add(entries())
        assert len(rows_in(client)) == len(entries())
        client.upsert("mem0", moved)
        both = rows_in(client)
        assert len(both) == len(entries()) + 50
        theirs = {key: row for key, row in both.items() if key in theirs}
        await index.clear()
        assert rows_in(client) == theirs
        await index.add(entries())
        await index.remove([entry.id for entry in entries()])
    assert rows_in(client) == theirs
