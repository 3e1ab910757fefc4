"""The index on Mem0: the one file that imports it.

Mem0 is imported at first use, in a thread, with its telemetry off and its folder inside ours: both
are read at import. Its own history of texts, from which nothing is ever deleted, is not kept at
all; its search for spaCy, which would download a model, is ended before it begins. One scope is
one `user_id`; no other filter is ever passed, and every hit's scope is looked at again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from contract.errors import ConfigError, MootError
from memory.recall.index import Hit, Index, IndexEntry, IndexFailed, IndexSettings, checked_id

if TYPE_CHECKING:
    from memory.recall.embedders import RememberingEmbedder
    from memory.recall.vectors import SqliteVectors

log = structlog.stdlib.get_logger("moot.memory")

T = TypeVar("T")

RANKING = 1  # raise it when what is stored changes its meaning: the terms, the hashing
ONE_BY_ONE = 16  # more entries at once go to the store in one transaction
BATCH = 256
FILE = "index.db"
READERS = 2
POOL_S = 5.0
OUR_OWN = ("builtin", "minilm")


@dataclass(frozen=True, slots=True)
class _Opened:
    memory: Any  # mem0.Memory, which has no type hints
    store: SqliteVectors
    embedder: RememberingEmbedder


class Mem0Index:
    """An index. `name` tells embedder, model and store."""

    def __init__(self, settings: IndexSettings) -> None:
        """Raises ConfigError when a setting can't be right. Opens nothing yet."""
        _check(settings)
        self.name = _name(settings)
        self._settings = settings
        self._opening = Lock()
        self._opened: _Opened | None = None
        self._searching = ThreadPoolExecutor(READERS, "recall-search")
        self._writing = ThreadPoolExecutor(1, "recall-write")

    # ── What others call ────────────────────────────────────────────────────────────────

    async def warm(self) -> None:
        """Import Mem0, open the store and read the largest scopes, off the loop."""
        await self._in(self._searching, lambda: self._open().store.preload())

    async def add(self, entries: Sequence[IndexEntry]) -> None:
        """Take entries in, on disk when it returns; one with a known id replaces the old one."""
        for entry in entries:
            checked_id(entry.id)
            checked_id(entry.scope)
        await self._in(self._writing, lambda: self._add(entries))

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """The best hits of all these scopes together; none when nothing is relevant."""
        wanted = list(dict.fromkeys(map(checked_id, scopes)))
        if not query.strip() or limit < 1:
            return []
        return await self._in(self._searching, lambda: self._search(query, wanted, limit))

    async def remove(self, ids: Sequence[str]) -> None:
        """Forget: no byte of the text stays in any file. Unknown ids are no error."""
        wanted = [checked_id(one) for one in ids]
        await self._in(self._writing, lambda: self._open().store.forget(wanted))

    async def ids(self, scope: str | None = None) -> set[str]:
        """The ids that it holds, in one scope or in all."""
        if scope is not None:
            checked_id(scope)
        return await self._in(self._writing, lambda: self._open().store.ids(scope))

    async def clear(self) -> None:
        """Forget everything."""
        await self._in(self._writing, lambda: self._open().store.reset())

    async def close(self) -> None:
        """Finish what was begun, and let go of the files."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._close)

    # ── In threads of our own ───────────────────────────────────────────────────────────

    async def _in(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, _mapped, work)

    def _close(self) -> None:
        self._searching.shutdown()
        self._writing.shutdown()
        if self._opened is not None:
            self._opened.memory.close()
            self._opened.store.close()

    def _open(self) -> _Opened:
        with self._opening:
            if self._opened is None:
                self._opened = _open(self._settings)
            return self._opened

    def _add(self, entries: Sequence[IndexEntry]) -> None:
        opened = self._open()
        if len(entries) <= ONE_BY_ONE:
            for entry in entries:
                opened.memory.add(
                    [{"role": "user", "content": _content(entry)}],
                    user_id=entry.scope,
                    metadata=_metadata(entry),
                    infer=False,
                )
            return
        for start in range(0, len(entries), BATCH):
            some = entries[start : start + BATCH]
            vectors = opened.embedder.embed_batch([_content(entry) for entry in some], "add")
            opened.store.insert(vectors, [as_mem0_stores(entry) for entry in some])

    def _search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        opened = self._open()
        vector = opened.embedder.embed(query, "search")
        return opened.store.best(query, vector, scopes, limit)


# ── Entries as Mem0 keeps them ──────────────────────────────────────────────────────────


def _content(entry: IndexEntry) -> str:
    """The text that is embedded, with its person in front when it doesn't name them."""
    return f"{_prefix(entry)}{entry.text}" or " "


def _prefix(entry: IndexEntry) -> str:
    known = not entry.person or entry.person.casefold() in entry.text.casefold()
    return "" if known else f"{entry.person}: "


def _metadata(entry: IndexEntry) -> dict[str, Any]:
    return {
        "entry": entry.id,
        "at": entry.at.isoformat(),
        "order": entry.order,
        "person": entry.person,
        "kind": entry.kind,
        "source": entry.source,
        "skip": len(_prefix(entry)),
    }


def as_mem0_stores(entry: IndexEntry) -> dict[str, Any]:
    """The payload that Mem0's `add` makes of an entry, for many at once.

    mem0ai 2.2.1, memory/main.py, `_create_memory`, read 2026-11; a test compares.
    """
    content = _content(entry)
    now = datetime.now(UTC).isoformat()
    return {
        **_metadata(entry),
        "user_id": entry.scope,
        "role": "user",
        "data": content,
        "hash": hashlib.md5(content.encode(), usedforsecurity=False).hexdigest(),
        "created_at": now,
        "updated_at": now,
        "text_lemmatized": content,
    }


# ── Opening ─────────────────────────────────────────────────────────────────────────────


class NoHistory:
    """In place of Mem0's history, which would keep every text for ever, deleted ones too."""

    def add_history(self, *args: object, **kwargs: object) -> None:
        """Keep nothing."""

    batch_add_history = save_messages = add_history

    def get_history(self, memory_id: str) -> list[dict[str, Any]]:
        """Nothing was kept."""
        return []

    def get_last_messages(self, *args: object, **kwargs: object) -> list[dict[str, Any]]:
        """Nothing was kept."""
        return []

    def reset(self) -> None:
        """Nothing to do."""

    close = reset


class NoModel:
    """In place of Mem0's language model: entries come extracted, and it is never asked."""

    def __init__(self, config: object) -> None:
        self.config = config

    def generate_response(self, *args: object, **kwargs: object) -> str:
        """Refuse."""
        raise IndexFailed("the index has no language model")


def _check(settings: IndexSettings) -> None:
    if settings.embedder == "minilm" and settings.model is None:
        raise ConfigError(
            '[memory] model: say in which folder MiniLM lies, or take embedder = "builtin"'
        )
    if settings.store in ("faiss", "milvus", "chroma"):
        raise ConfigError(
            f"[memory] store: {settings.store} loses memories or mixes scopes; "
            'take "sqlite", or a server: "qdrant", "pgvector"'
        )
    if (
        settings.store == "qdrant"
        and not {"url", "host", "client"} & settings.store_settings.keys()
    ):
        raise ConfigError("[memory.store] url: say where the Qdrant server listens")


def _name(settings: IndexSettings) -> str:
    model = settings.embedder_settings.get("model")
    embedder = f"{settings.embedder}:{model}" if model else settings.embedder
    return f"{embedder}-{RANKING}+{settings.store}"


def _open(settings: IndexSettings) -> _Opened:
    """Import Mem0, make its parts known to it, and open the store. Takes about a second."""
    folder = settings.folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(f"[memory] folder: {folder} can't be made: {error.strerror}") from error
    mem0 = _import_mem0(folder)
    from mem0.configs.base import MemoryConfig  # type: ignore[import-untyped]
    from mem0.embeddings.configs import EmbedderConfig  # type: ignore[import-untyped]
    from mem0.llms.configs import LlmConfig  # type: ignore[import-untyped]
    from mem0.vector_stores.configs import VectorStoreConfig  # type: ignore[import-untyped]
    from pydantic import BaseModel

    from memory.recall.embedders import RememberingEmbedder

    class ServerPlace(BaseModel):
        collection_name: str = "moot"
        path: Any = folder / FILE
        now: Any = settings.now
        dense: bool = settings.embedder != "builtin"
        connect: Any = None

    embedder, given = _embedder(settings)
    place = ServerPlace()
    if settings.store != "sqlite":
        place.connect = partial(_connect, settings, given["embedding_dims"])
        place.collection_name = settings.store_settings.get("collection_name", "moot")
    config = MemoryConfig(
        embedder=EmbedderConfig.model_construct(provider=_provider(settings), config=given),
        llm=LlmConfig.model_construct(provider="moot-none", config={}),
        history_db_path=":memory:",
    )
    config.vector_store = VectorStoreConfig.model_construct(provider="moot-sqlite", config=place)
    memory = mem0.Memory(config)
    memory.db.close()
    memory.db = NoHistory()
    memory.embedding_model = remembering = RememberingEmbedder(embedder)
    return _Opened(memory, memory.vector_store, remembering)


def _embedder(settings: IndexSettings) -> tuple[Any, dict[str, Any]]:
    """The embedder, and its settings with the length of its vectors as it is found to be."""
    from mem0.utils.factory import EmbedderFactory  # type: ignore[import-untyped]

    given = dict(settings.embedder_settings)
    if settings.embedder == "minilm":
        given["model"] = str(settings.model)
    with _told("embedder", settings.embedder):
        embedder = EmbedderFactory.create(_provider(settings), given, None)
        dimensions = embedder.config.embedding_dims
        if settings.embedder not in OUR_OWN:
            dimensions = len(embedder.embed("a", "search"))  # what it says may not be so
    return embedder, {**given, "embedding_dims": dimensions}


def _import_mem0(folder: Path) -> Any:
    """Mem0, which reads its settings from the environment while it is imported."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "mem0")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more only wait for one another
    import mem0  # type: ignore[import-untyped]
    from mem0.utils import spacy_models  # type: ignore[import-untyped]
    from mem0.utils.factory import EmbedderFactory, LlmFactory, VectorStoreFactory

    logging.getLogger("mem0").setLevel(logging.WARNING)  # at INFO it logs memories
    spacy_models._load_failed_full = spacy_models._load_failed_lemma = True
    EmbedderFactory.provider_to_class["moot-none"] = "memory.recall.embedders.NoEmbedder"
    EmbedderFactory.provider_to_class["moot-builtin"] = "memory.recall.embedders.BuiltinEmbedder"
    EmbedderFactory.provider_to_class["moot-minilm"] = "memory.recall.embedders.MiniLMEmbedder"
    VectorStoreFactory.provider_to_class["moot-sqlite"] = "memory.recall.vectors.SqliteVectors"
    LlmFactory.register_provider("moot-none", "memory.recall.mem0.NoModel")
    return mem0


def _provider(settings: IndexSettings) -> str:
    """Mem0's name for the embedder; our own store needs none for the words."""
    if settings.embedder == "builtin" and settings.store == "sqlite":
        return "moot-none"
    return f"moot-{settings.embedder}" if settings.embedder in OUR_OWN else settings.embedder


def _connect(settings: IndexSettings, dimensions: int) -> Any:
    """A vector store of Mem0's on a server. Raises ConfigError, and whatever its client raises."""
    from mem0.utils.factory import VectorStoreFactory
    from mem0.vector_stores.configs import VectorStoreConfig

    given = {
        "collection_name": "moot",
        "embedding_model_dims": dimensions,
        **settings.store_settings,
    }
    if settings.store == "qdrant" and "client" not in given:
        from qdrant_client import QdrantClient

        keys = given.keys() & {"url", "host", "port", "api_key", "https"}
        told = {key: given.pop(key) for key in keys}
        # Its check of versions runs in a thread beside and tells nobody when it fails.
        given["client"] = QdrantClient(**told, check_compatibility=False)
    try:
        checked = VectorStoreConfig(provider=settings.store, config=given)
        store = VectorStoreFactory.create(settings.store, checked.config)
    except (ImportError, ValueError):
        with _told("store", settings.store):
            raise
    if settings.store == "pgvector":  # its pool waits 30 s, and tries again only for 300
        store.connection_pool.timeout = store.connection_pool.reconnect_timeout = POOL_S
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # we say it once ourselves
    return store


@contextmanager
def _told(key: str, value: str) -> Iterator[None]:
    """Turn all that a provider raises while it is opened into one sentence with key and remedy."""
    try:
        yield
    except MootError:
        raise
    except Exception as error:  # every provider has its own
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"[memory] {key}: {value!r} can't be used: {reason}; "
            f"fix its settings, or leave the key out for the one that needs nothing"
        ) from error


def _mapped(work: Callable[[], T]) -> T:
    """Run, and raise what Mem0, a provider or SQLite raises as IndexFailed."""
    try:
        return work()
    except MootError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise IndexFailed(f"the index's file: {error}") from error
    except Exception as error:  # each provider's client has its own
        raise IndexFailed(f"the index: {type(error).__name__}") from error


@asynccontextmanager
async def open_index(settings: IndexSettings) -> AsyncIterator[Index]:
    """Open the index; returns at once, Mem0 is imported by the first call or by `warm`.

    Raises ConfigError when the settings can't be right; what only the first call can tell (a
    server that doesn't answer, a model that isn't there) that call raises.
    """
    index = Mem0Index(settings)
    try:
        yield index
    finally:
        await index.close()
