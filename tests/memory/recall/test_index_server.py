"""The index with its vectors on a server, played by Qdrant's client without one."""

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from memory.recall.index import Index, IndexSettings
from memory.recall.mem0 import as_mem0_stores, open_index
from memory.recall.vectors import SqliteVectors
from tests.doubles.small_chat import ANDIS, AUTH, GARDEN, START, entries

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Index, QdrantClient]]:
    client = QdrantClient(":memory:")
    settings = IndexSettings(tmp_path, store="qdrant", store_settings={"client": client})
    async with open_index(settings) as index:
        await index.add(entries())
        yield index, client
    client.close()


def points(client: QdrantClient) -> list[dict[str, Any]]:
    found, _ = client.scroll("moot", limit=1000)
    return [point.payload or {} for point in found]


async def test_the_server_is_given_vectors_and_no_text(
    served: tuple[Index, QdrantClient],
) -> None:
    index, client = served
    assert {frozenset(point) for point in points(client)} == {frozenset({"user_id", "entry"})}
    assert {point["entry"] for point in points(client)} == await index.ids()


async def test_it_finds_replaces_and_forgets_as_without_a_server(
    served: tuple[Index, QdrantClient],
) -> None:
    index, client = served
    hits = await index.search("access token expiry", [AUTH, GARDEN], 5)
    assert hits[0].id == f"{AUTH}/1"
    assert {hit.scope for hit in hits} == {AUTH}
    await index.add(entries(AUTH))
    assert len(points(client)) == len(entries())
    await index.remove([f"{AUTH}/1"])
    assert f"{AUTH}/1" not in {point["entry"] for point in points(client)}
    await index.clear()
    assert points(client) == []


async def test_what_has_nothing_in_common_recalls_nothing(
    served: tuple[Index, QdrantClient],
) -> None:
    assert await served[0].search("rain in Spain", [AUTH, GARDEN], 5) == []


@dataclass
class Answer:
    """What a server returns for one of its vectors."""

    id: str
    score: float
    payload: dict[str, Any]


@dataclass
class LyingServer:
    """Answers what it was told, whatever it is asked."""

    answers: Sequence[Answer] = ()
    fails: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)

    def insert(self, vectors: Any, payloads: Any = None, ids: Any = None) -> None:
        pass

    def search(self, query: str, vectors: Any, top_k: int = 5, filters: Any = None) -> Any:
        self.asked.append(filters)
        if self.fails:
            raise ConnectionError("gone")
        return self.answers

    def delete(self, vector_id: str) -> None:
        pass

    def reset(self) -> None:
        pass


def store(folder: Path, server: LyingServer) -> SqliteVectors:
    made = SqliteVectors(folder / "index.db", lambda: START + timedelta(days=7), remote=server)
    made.insert([[1.0]] * len(entries()), [as_mem0_stores(entry) for entry in entries()])
    return made


def test_what_a_lying_server_names_is_not_believed(tmp_path: Path) -> None:
    foreign = f"{ANDIS}/1"
    server = LyingServer(
        [
            Answer("1", 0.99, {"user_id": ANDIS, "entry": foreign}),
            Answer("2", 0.98, {"user_id": AUTH, "entry": foreign}),
            Answer("3", 0.97, {"user_id": AUTH, "entry": "never heard of"}),
            Answer("4", 0.96, {}),
            Answer("5", 0.95, {"user_id": AUTH, "entry": f"{AUTH}/6"}),
        ]
    )
    vectors = store(tmp_path, server)
    found = vectors.search("whatever it may mean", [1.0], 10, {"user_id": AUTH})
    assert [record.id for record in found] == [f"{AUTH}/6"]
    assert server.asked == [{"user_id": AUTH}]
    vectors.close()


def test_without_its_server_it_finds_by_the_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    vectors = store(tmp_path, LyingServer(fails=True))
    with caplog.at_level(logging.WARNING):
        found = vectors.search("the violin", [1.0], 1, {"user_id": AUTH})
    assert [record.id for record in found] == [f"{AUTH}/6"]
    assert "violin" not in caplog.text
    assert "ConnectionError" in caplog.text
    vectors.close()
