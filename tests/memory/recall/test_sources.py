"""Other Mem0s that are read: whose memories come, which never do, and that nothing is written."""

import asyncio
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncpg
import httpx
import pytest
from qdrant_client import QdrantClient, models

from contract.briefing import Fact
from contract.chat import Room
from contract.errors import ConfigError
from memory.given import GivenText
from memory.layers import BriefRequest
from memory.recall.embedders import BuiltinEmbedder
from memory.recall.providers import import_mem0
from memory.recall.sources.reader import SourceSettings
from memory.recall.sources.source import MemorySource, MemorySources
from memory.scopes import Invocation
from tests.doubles import postgres
from tests.doubles.mem0_services import Mem0Services, memory

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

AT = datetime(2026, 4, 21, 14, 2, tzinfo=UTC)
ROOM = Room("slack:C1", "auth", "room")
OTHER = Room("slack:C2", "garden", "room")
DIRECT = Room("slack:D1", "", "dm")
READS = (("room:slack:C1", {"user_id": "team"}), ("dm:slack:U1:claude", {"user_id": "olivia"}))
TEAM = "the team drinks oolong tea at four"
CANARY = "the vault of tea opens with hunter2"
PRIVATE = "the team keeps its tea <private>behind the safe</private> in the kitchen"
KNOWN = [
    memory(1, TEAM, user_id="team"),
    memory(2, CANARY, user_id="mallory"),
    memory(3, "Olivia prefers her tea without milk", user_id="olivia", agent_id="claude"),
]


def ask(text: str, room: Room = ROOM, *, given: frozenset[str] = frozenset()) -> BriefRequest:
    who = Invocation(room, "slack:U1", "claude")
    return BriefRequest(who, text, AT, given=GivenText(facts=given))


async def recalled(source: MemorySource, request: BriefRequest) -> tuple[Fact, ...]:
    """What is recalled once the source is open."""
    with suppress(Exception):  # one that can't be opened
        await source.answer()
    return (await MemorySources([source]).brief(request)).recall


def texts(facts: tuple[Fact, ...]) -> list[str]:
    return [fact.text for fact in facts]


@asynccontextmanager
async def opened(settings: SourceSettings, folder: Path) -> AsyncIterator[MemorySource]:
    source = MemorySource(settings, folder)
    try:
        yield source
    finally:
        source.close()


# ── Each kind ───────────────────────────────────────────────────────────────────────────


def payload(one: dict[str, Any]) -> dict[str, Any]:
    """A memory as Mem0 keeps it in a collection."""
    kept = {key: value for key, value in one.items() if key not in ("id", "memory") and value}
    return {**kept, "data": one["memory"], "text_lemmatized": one["memory"]}


def vector(text: str) -> list[float]:
    return BuiltinEmbedder(SimpleNamespace()).embed(text)


async def fill_pgvector(url: str) -> None:
    """A collection as Mem0's pgvector store makes one."""
    rows = [
        (uuid.UUID(one["id"]), str(vector(one["memory"])), json.dumps(payload(one)))
        for one in KNOWN
    ]
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE EXTENSION vector")
    await connection.execute(
        "CREATE TABLE mem0 (id UUID PRIMARY KEY, vector vector(384), payload JSONB)"
    )
    await connection.executemany("INSERT INTO mem0 VALUES ($1, $2::text::vector, $3)", rows)
    await connection.close()


async def everything_in(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Tables, indexes and rows of a database."""
    connection = await asyncpg.connect(url)
    found = {
        query: [tuple(row) for row in await connection.fetch(query)]
        for query in (
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
            "SELECT extname FROM pg_extension ORDER BY 1",
            *(
                ["SELECT id::text, vector::text, payload::text FROM mem0 ORDER BY 1"]
                if await connection.fetchval("SELECT to_regclass('mem0')")
                else []
            ),
        )
    }
    await connection.close()
    return found


@pytest.fixture
async def pgvector(vectors_folder: str, tmp_path: Path) -> SourceSettings:
    pytest.importorskip("psycopg_pool")
    url = await postgres.new_database(vectors_folder)
    store = {"connection_string": url, "collection_name": "mem0"}
    return SourceSettings("notes", "pgvector", READS, store=store, embedder="builtin")


async def test_a_collection_in_pgvector_is_read_and_not_written(
    pgvector: SourceSettings, tmp_path: Path
) -> None:
    url = pgvector.store["connection_string"]
    await fill_pgvector(url)
    before = await everything_in(url)
    async with opened(pgvector, tmp_path) as source:
        [fact] = await recalled(source, ask("when does the team drink tea?"))
        assert (fact.text, fact.kind, fact.date) == (TEAM, "mem0 notes", "2026-04-02")
        direct = await recalled(source, ask("how does Olivia prefer her tea?", DIRECT))
        assert texts(direct) == ["Olivia prefers her tea without milk"]
        assert await recalled(source, ask("when does the team drink tea?", OTHER)) == ()
        assert await source.answer() >= 0
    assert await everything_in(url) == before


async def test_a_database_without_the_collection_gets_none(
    pgvector: SourceSettings, tmp_path: Path
) -> None:
    url = pgvector.store["connection_string"]
    before = await everything_in(url)
    async with opened(pgvector, tmp_path) as source:
        assert await recalled(source, ask("when does the team drink tea?")) == ()
        with pytest.raises(Exception, match="read-only"):
            await source.answer()
    assert await everything_in(url) == before


@pytest.fixture
def qdrant() -> QdrantClient:
    client = QdrantClient(":memory:")
    size = models.VectorParams(size=384, distance=models.Distance.COSINE)
    client.create_collection("mem0", vectors_config=size)
    points = [
        models.PointStruct(id=one["id"], vector=vector(one["memory"]), payload=payload(one))
        for one in KNOWN
    ]
    client.upsert("mem0", points)
    return client


async def test_a_collection_in_qdrant_is_read_and_not_written(
    qdrant: QdrantClient, tmp_path: Path
) -> None:
    store = {"client": qdrant, "collection_name": "mem0"}
    settings = SourceSettings("notes", "qdrant", READS, store=store, embedder="builtin")
    before = qdrant.scroll("mem0", with_vectors=True)
    source = MemorySource(settings, tmp_path)
    [fact] = await recalled(source, ask("when does the team drink tea?"))
    assert (fact.text, fact.kind, fact.date) == (TEAM, "mem0 notes", "2026-04-02")
    assert await recalled(source, ask("when does the team drink tea?", OTHER)) == ()
    assert qdrant.scroll("mem0", with_vectors=True) == before
    source.close()


async def test_a_collection_that_is_not_in_qdrant_is_not_made(tmp_path: Path) -> None:
    client = QdrantClient(":memory:")
    store = {"client": client, "collection_name": "mem0"}
    settings = SourceSettings("notes", "qdrant", READS, store=store, embedder="builtin")
    with pytest.raises(PermissionError, match="create_collection"):
        await MemorySource(settings, tmp_path).answer()
    assert client.get_collections().collections == []
    client.close()


Served = Callable[[str], Awaitable[MemorySource]]


@pytest.fixture
async def services() -> AsyncIterator[Mem0Services]:
    async with Mem0Services(list(KNOWN)).open() as opened:
        yield opened


def settings_for(services: Mem0Services, kind: Any = "server", **more: Any) -> SourceSettings:
    plain = SourceSettings("notes", kind, READS, url=services.url, api_key=services.key)
    return replace(plain, **more)


SEARCHED = {
    "server": {"POST /search"},
    "hosted": {"GET /v1/ping/", "POST /v3/memories/search/"},
}


@pytest.mark.parametrize("kind", ["server", "hosted"])
async def test_a_service_of_mem0s_is_searched_and_nothing_else(
    services: Mem0Services, tmp_path: Path, kind: str
) -> None:
    async with opened(settings_for(services, kind), tmp_path) as source:
        [fact] = await recalled(source, ask("when does the team drink tea?"))
        assert (fact.text, fact.kind, fact.date) == (TEAM, "mem0 notes", "2026-04-02")
        direct = await recalled(source, ask("how does Olivia prefer her tea?", DIRECT))
        assert texts(direct) == ["Olivia prefers her tea without milk"]
        assert await recalled(source, ask("when does the team drink tea?", OTHER)) == ()
        assert await source.answer() == 0
    assert set(services.seen) == SEARCHED[kind]


async def test_mem0s_own_client_finds_in_the_double_of_the_platform(
    services: Mem0Services, tmp_path: Path
) -> None:
    def search() -> Any:
        with httpx.Client() as http:
            client = import_mem0(tmp_path).MemoryClient(
                api_key=services.key, host=services.url, client=http
            )
            return client.search("team tea", filters={"user_id": "team"}, top_k=5, threshold=0.1)

    found = await asyncio.to_thread(search)
    assert [row["memory"] for row in found["results"]] == [TEAM]


# ── What never comes ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "row",
    [
        {**KNOWN[1], "score": 0.99},
        {**memory(5, CANARY), "score": 0.99},  # nobody's
        {**memory(6, CANARY, user_id=["team"]), "score": 0.99},
        {**memory(7, CANARY, user_id="team "), "score": 0.99},
        {**memory(8, CANARY, user_id="team"), "score": "high"},
        {**memory(9, "", user_id="team"), "score": 0.99},
        {"memory": CANARY},
        CANARY,
        None,
    ],
)
async def test_a_row_that_is_not_of_whom_is_read_never_shows(
    services: Mem0Services, tmp_path: Path, row: Any
) -> None:
    services.lying = [row]
    async with opened(settings_for(services), tmp_path) as source:
        found = await recalled(source, ask("when does the team drink tea?"))
    assert texts(found) == [TEAM]


async def test_of_several_ids_a_memory_bears_all(services: Mem0Services, tmp_path: Path) -> None:
    services.lying = [{**memory(9, CANARY, user_id="olivia", agent_id="codex"), "score": 0.9}]
    reads = (("room:slack:C1", {"user_id": "olivia", "agent_id": "claude"}),)
    async with opened(settings_for(services, reads=reads), tmp_path) as source:
        found = await recalled(source, ask("how does Olivia prefer her tea?"))
    assert texts(found) == ["Olivia prefers her tea without milk"]


async def test_what_is_private_neither_leaves_nor_comes(
    services: Mem0Services, tmp_path: Path
) -> None:
    services.memories.append(memory(4, PRIVATE, user_id="team"))
    async with opened(settings_for(services), tmp_path) as source:
        layer = MemorySources([source], clean=lambda text: text.replace("s3cr3t", "…"))
        await source.answer()  # it is open
        services.queries.clear()
        found = await layer.brief(ask("team tea in the kitchen s3cr3t <private>my safe</private>"))
        assert await layer.brief(ask("<private>the team and its tea</private>")) is not None
    assert services.queries == ["team tea in the kitchen …"]  # and of the second question nothing
    assert any("kitchen" in text for text in texts(found.recall))
    assert "safe" not in str(texts(found.recall))


async def test_what_was_given_does_not_come_again(services: Mem0Services, tmp_path: Path) -> None:
    async with opened(settings_for(services), tmp_path) as source:
        [fact] = await recalled(source, ask("when does the team drink tea?"))
        again = ask("when does the team drink tea?", given=frozenset({fact.id}))
        assert await recalled(source, again) == ()


async def test_what_scores_low_does_not_come_and_three_at_most(
    services: Mem0Services, tmp_path: Path
) -> None:
    services.memories += [memory(n, f"team tea number {n}", user_id="team") for n in range(10, 20)]
    async with opened(settings_for(services, threshold=0.5), tmp_path) as source:
        assert len(await recalled(source, ask("team tea"))) == 3
        assert await recalled(source, ask("one word of many others is tea")) == ()


# ── Trouble ─────────────────────────────────────────────────────────────────────────────


async def test_one_that_never_answers_is_left_alone_after_a_moment(
    services: Mem0Services, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(settings_for(services), tmp_path) as source:
        await source.answer()
        services.answering.clear()
        with caplog.at_level(logging.WARNING):
            layer = MemorySources([source])
            for _ in range(20):
                assert (await layer.brief(ask("when does the team drink tea?"))).recall == ()
        assert 2 <= len(services.seen) < 10  # most of them didn't even try
        assert "memory.source_failed" in caplog.text
        assert "tea" not in caplog.text
        services.answering.set()
        deadline = time.monotonic() + 30
        while not await recalled(source, ask("when does the team drink tea?")):
            assert time.monotonic() < deadline


@pytest.mark.parametrize("kind", ["server", "hosted"])
async def test_one_that_fails_leaves_the_turn_without_it(
    services: Mem0Services, tmp_path: Path, kind: str
) -> None:
    services.failing = True
    source = MemorySource(settings_for(services, kind), tmp_path)
    layer = MemorySources([source])
    await layer.begin()  # raises nothing
    assert (await layer.brief(ask("when does the team drink tea?"))).recall == ()
    source.close()


async def test_a_missing_key_is_told_in_a_sentence(services: Mem0Services, tmp_path: Path) -> None:
    source = MemorySource(settings_for(services, "hosted", api_key=None), tmp_path)
    with pytest.raises(ConfigError, match="set MEM0_API_KEY"):
        await source.answer()
