"""A Mem0 that is somebody else's, opened for reading: a collection, a server, or the hosted one.

Nothing is ever written there. A session of PostgreSQL is begun as one that only reads; of Qdrant's
client only the methods that read can be reached; of the hosted platform and of Mem0's own server
nothing but the search is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from contract.errors import ConfigError
from contract.values import dataclass
from memory.recall.providers import (
    OUR_OWN,
    hasten,
    import_mem0,
    memory_over,
    with_qdrant_client,
)

Kind = Literal["pgvector", "qdrant", "hosted", "server"]
Ids = Mapping[str, str]
"""`user_id`, `agent_id`, `run_id`, as Mem0 scopes its memories: at least one of them."""
Search = Callable[[str, Ids, int], Any]
"""Mem0's search for a question, ids, and how many: its answer as it came."""

CALL_S = 5.0  # nobody waits so long; a thread does
CONNECT_S = 2  # whole seconds, as PostgreSQL takes them
_ONLY_READS = f"-c default_transaction_read_only=on -c statement_timeout={CALL_S:.0f}s"
_READS = {"get_collection", "get_collections", "query_points", "close"}


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """A Mem0 that is read.

    reads: pairs of a scope of ours and the ids that are read for it. url, api_key: of the hosted
    platform or a server of Mem0's. store: a collection's settings, as Mem0's vector store has
    them. embedder, embedder_settings: what its vectors were made with. model: MiniLM's folder.
    threshold: the least score, from 0 to 1, of a memory that is shown.
    """

    name: str
    kind: Kind
    reads: tuple[tuple[str, Ids], ...]
    url: str | None = None
    api_key: str | None = None
    store: Mapping[str, Any] = field(default_factory=dict)
    embedder: str = "openai"
    embedder_settings: Mapping[str, Any] = field(default_factory=dict)
    model: Path | None = None
    threshold: float = 0.3


def open_search(source: SourceSettings, folder: Path, closing: ExitStack) -> Search:
    """Connect, which may take seconds. folder: of our own index, where Mem0 keeps its id.

    closing: what is to be closed in the end is put there. Raises ConfigError, and whatever a
    client raises.
    """
    if source.kind == "server":
        return _server(source, closing)
    import_mem0(folder)
    found = _hosted if source.kind == "hosted" else _collection
    search = found(source, closing).search
    return lambda query, ids, limit: search(
        query, filters=dict(ids), top_k=limit, threshold=source.threshold
    )


def _server(source: SourceSettings, closing: ExitStack) -> Search:
    """Mem0's own server: `POST /search`; mem0ai/mem0, server/main.py, read 2026-11."""
    import httpx

    headers = {"X-API-Key": source.api_key} if source.api_key else {}
    client = httpx.Client(base_url=source.url or "", headers=headers, timeout=CALL_S)
    closing.callback(client.close)

    def search(query: str, ids: Ids, limit: int) -> Any:
        body = {
            "query": query,
            "filters": dict(ids),
            "top_k": limit,
            "threshold": source.threshold,
        }
        return client.post("/search", json=body).raise_for_status().json()

    return search


def _hosted(source: SourceSettings, closing: ExitStack) -> Any:
    import httpx
    from mem0 import MemoryClient  # type: ignore[import-untyped]

    if not source.api_key:
        raise ConfigError(
            f"[memory.sources.{source.name}] has no key: set MEM0_API_KEY in the environment"
        )
    client = httpx.Client(timeout=CALL_S)
    closing.callback(client.close)
    return MemoryClient(api_key=source.api_key, host=source.url, client=client)


def _collection(source: SourceSettings, closing: ExitStack) -> Any:
    """A `mem0.Memory` over the collection."""
    from pydantic import BaseModel

    from memory.recall.model.minilm import find_model

    class StorePlace(BaseModel):
        collection_name: str
        store: Any

    opened = _pgvector(source.store) if source.kind == "pgvector" else _qdrant(source.store)
    closing.callback((opened.connection_pool if source.kind == "pgvector" else opened.client).close)
    given = dict(source.embedder_settings)
    if source.embedder == "minilm" and source.model:
        given["model"] = str(find_model(source.model))
    embedder = f"moot-{source.embedder}" if source.embedder in OUR_OWN else source.embedder
    place = StorePlace(collection_name=opened.collection_name, store=opened)
    return memory_over("moot-given", place, embedder, given)


def _pgvector(given: Mapping[str, Any]) -> Any:
    from mem0.vector_stores.configs import VectorStoreConfig  # type: ignore[import-untyped]
    from mem0.vector_stores.pgvector import PGVector  # type: ignore[import-untyped]
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    config = VectorStoreConfig(provider="pgvector", config=dict(given)).config
    place = conninfo_to_dict(config.connection_string or "")
    if not place:
        asked = {"host": config.host, "port": config.port, "dbname": config.dbname}
        place = {**asked, "user": config.user, "password": config.password}
    place["options"] = f"{place.get('options') or ''} {_ONLY_READS}".strip()
    place.setdefault("connect_timeout", CONNECT_S)
    config.connection_string = make_conninfo("", **place)
    store = PGVector(**config.model_dump())
    hasten(store)
    return store


def _qdrant(given: Mapping[str, Any]) -> Any:
    from mem0.vector_stores.qdrant import Qdrant  # type: ignore[import-untyped]

    told = given if "client" in given else with_qdrant_client(given)
    return Qdrant(
        collection_name=given.get("collection_name", "mem0"),
        embedding_model_dims=0,  # of a new collection, which is not made
        client=ReadingClient(told["client"]),
    )


class ReadingClient:
    """A Qdrant client that can do nothing but read."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        """Raises PermissionError for a method that isn't known to change nothing."""
        if name not in _READS:
            raise PermissionError(f"{name} might change what is only read")
        return getattr(self._client, name)
