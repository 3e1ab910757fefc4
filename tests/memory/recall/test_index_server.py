"""The index with its vectors on a server, played by Qdrant's client without one."""

import logging
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from qdrant_client import QdrantClient

from memory.recall.index import Index, IndexSettings
from memory.recall.mem0 import open_index
from memory.recall.vectors import SqliteVectors
from memory.server_calls import CALLS, CircuitBreaker
from tests.doubles import postgres
from tests.doubles.small_chat import ANDIS, AUTH, GARDEN, START, entries, only, put

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
    """Answers what it was told, whatever it is asked. `answering`: cleared, it answers nobody."""

    answers: Sequence[Answer] = ()
    fails: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)
    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    answering: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.answering.set()

    def meet(self) -> None:
        self.answering.wait()
        if self.fails:
            raise ConnectionError("gone")

    def insert(self, vectors: Any, payloads: Any = None, ids: Any = None) -> None:
        self.meet()
        self.held.update(zip(ids, payloads, strict=True))

    def search(self, query: str, vectors: Any, top_k: int = 5, filters: Any = None) -> Any:
        self.asked.append(filters)
        self.meet()
        return self.answers

    def delete(self, vector_id: str) -> None:
        self.meet()
        self.held.pop(vector_id, None)

    def list(self, filters: Any = None, top_k: int = 100) -> Any:
        self.meet()
        return [[]]


def store(folder: Path, server: LyingServer) -> SqliteVectors:
    now = START + timedelta(days=7)
    made = SqliteVectors(folder / "index.db", lambda: now, connect=lambda: server)
    put(made, entries())
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
    found = vectors.search("whatever it may mean", [1.0], 40, only(AUTH))
    assert [record.id for record in found] == [f"{AUTH}/6"]
    assert server.asked == [{"user_id": AUTH}]
    vectors.close()


def test_without_its_server_it_finds_by_the_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    vectors = store(tmp_path, LyingServer(fails=True))
    with caplog.at_level(logging.WARNING):
        found = vectors.search("the violin", [1.0], 4, only(AUTH))
    assert [record.id for record in found] == [f"{AUTH}/6"]
    assert "violin" not in caplog.text
    assert "ConnectionError" in caplog.text
    vectors.close()


def test_a_server_that_never_answers_keeps_nobody_waiting(tmp_path: Path) -> None:
    server = LyingServer()
    vectors = store(tmp_path, server)
    server.answering.clear()
    for _ in range(20):  # more than it may hold threads
        found = vectors.search("the violin", [1.0], 4, only(AUTH))
        assert [record.id for record in found] == [f"{AUTH}/6"]
    assert 1 <= len(server.asked) <= CALLS  # the others didn't even try
    new = replace(entries(AUTH)[0], id="new", text="the oboe is Budi's")
    put(vectors, [new])
    vectors.forget([f"{AUTH}/6"])
    assert vectors.search("the oboe", [1.0], 4, only(AUTH))[0].id == "new"
    server.answering.set()
    vectors.close()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_server_that_is_back_is_told_what_it_missed(tmp_path: Path, restarted: bool) -> None:
    server = LyingServer()
    vectors = store(tmp_path, server)
    server.fails = True
    new = replace(entries(AUTH)[0], id="new", text="the oboe is Budi's")
    put(vectors, [new])
    vectors.forget([f"{AUTH}/6"])
    assert {row["entry"] for row in server.held.values()} == {one.id for one in entries()}
    server.fails = False
    if restarted:
        vectors.close()
        vectors = SqliteVectors(tmp_path / "index.db", lambda: START, connect=lambda: server)
        vectors.preload()
    wanted = {one.id for one in entries()} - {f"{AUTH}/6"} | {"new"}
    deadline = time.monotonic() + 30
    while {row["entry"] for row in server.held.values()} != wanted:
        assert time.monotonic() < deadline, server.held
        vectors.search("the oboe", [1.0], 4, only(AUTH))
        time.sleep(0.02)
    vectors.close()


def test_a_pause_grows_and_ends_with_the_first_success() -> None:
    now = 0.0
    breaker = CircuitBreaker(lambda: now)
    assert breaker.admits()
    pauses = []
    for _ in range(7):
        breaker.failed()
        began = now
        while not breaker.admits():
            now += 0.5
        assert not breaker.admits()  # one tries; the others wait to see
        pauses.append(now - began)
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    breaker.succeeded()
    assert [breaker.admits(), breaker.admits()] == [True, True]


async def test_many_scopes_are_one_query(tmp_path: Path) -> None:
    server = LyingServer()
    vectors = store(tmp_path, server)
    vectors.search("the violin", [1.0], 20, only(AUTH, GARDEN, ANDIS))
    assert server.asked == [{"user_id": [AUTH, GARDEN, ANDIS]}]
    vectors.close()


async def test_postgresql_finds_a_scope_by_an_index_and_the_words_without_it(
    tmp_path: Path, vectors_folder: str
) -> None:
    pytest.importorskip("psycopg_pool")
    url = await postgres.new_database(vectors_folder)
    given = {"connection_string": url}
    async with open_index(IndexSettings(tmp_path, store="pgvector", store_settings=given)) as index:
        await index.add(entries())
        assert (await index.search("access token expiry", [AUTH], 5))[0].id == f"{AUTH}/1"
        connection = await asyncpg.connect(url)
        indexes = await connection.fetch("SELECT indexdef FROM pg_indexes WHERE tablename = 'moot'")
        held = await connection.fetchval("SELECT count(*) FROM moot")
        await connection.close()
    assert held == len(entries())
    assert any("(payload ->> 'user_id'" in row["indexdef"] for row in indexes)
    assert "hnsw" not in str(indexes)
