"""Mem0's parts, ours and others': the one file that imports it.

Mem0 is imported at first use, in a thread, with its telemetry off and its folder inside ours: both
are read at import. Its own history of texts, from which nothing is ever deleted, is not kept at
all; its search for spaCy, which would download a model, is ended before it begins.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contract.errors import ConfigError, MootError
from contract.values import dataclass
from memory.recall.index import IndexFailed, IndexSettings

if TYPE_CHECKING:
    from memory.recall.embedders import RememberingEmbedder
    from memory.recall.model.background import BackgroundEmbedding
    from memory.recall.vectors import SqliteVectors

FOLDER = "minilm"  # below the index's, where the model is installed
POOL_S = 5.0
OUR_OWN = ("auto", "builtin", "minilm")
_QDRANT_PLACE = {"url", "host", "port", "api_key", "https", "path"}


@dataclass(frozen=True, slots=True)
class OpenedMem0:
    """Mem0 with our parts in it."""

    memory: Any  # mem0.Memory, which has no type hints
    store: SqliteVectors
    embedder: RememberingEmbedder
    embedding: BackgroundEmbedding | None  # None: entries come with their vectors, or without any

    def embed_soon(self) -> None:
        """See to entries that have no vector yet; returns at once."""
        if self.embedding is not None:
            self.embedding.soon()

    def close(self) -> None:
        """Let go of the files. Nobody may search or add."""
        if self.embedding is not None:
            self.embedding.close()
        self.memory.close()
        self.store.close()


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


def given_store(collection_name: str, store: Any) -> Any:
    """A vector store that is open already, as Mem0 makes one: with its configuration."""
    return store


class NoModel:
    """In place of Mem0's language model: entries come extracted, and it is never asked."""

    def __init__(self, config: object) -> None:
        self.config = config

    def generate_response(self, *args: object, **kwargs: object) -> str:
        """Refuse."""
        raise IndexFailed("the index has no language model")


def check_settings(settings: IndexSettings) -> None:
    """Raises ConfigError when a setting can't be right."""
    if settings.embedder == "minilm" and not (settings.model or model_folder(settings).is_dir()):
        raise ConfigError(
            "[memory] embedder: MiniLM is not installed; install it by "
            "`moot memory embedder install`, or leave the key out"
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


def model_folder(settings: IndexSettings) -> Path:
    """The folder in which MiniLM lies, if it is there."""
    named = settings.model if settings.embedder == "minilm" else None
    return named or settings.folder / FOLDER


def embedder_kind(settings: IndexSettings) -> str:
    """The embedder that is meant by the settings: one of ours, or a provider of Mem0's.

    "none": our store, by words alone. "installed": our store, and MiniLM as long as it is
    installed. "minilm", "builtin": for a server.
    """
    if settings.embedder not in OUR_OWN:
        return settings.embedder
    if settings.store == "sqlite":
        return "none" if settings.embedder == "builtin" else "installed"
    if settings.embedder == "auto":
        return "minilm" if model_folder(settings).is_dir() else "builtin"
    return settings.embedder


def open_mem0(settings: IndexSettings) -> OpenedMem0:
    """Import Mem0, make its parts known to it, and open the store. Takes about a second."""
    folder = settings.folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(f"[memory] folder: {folder} can't be made: {error.strerror}") from error
    import_mem0(folder)
    from pydantic import BaseModel

    from memory.recall.embedders import RememberingEmbedder

    class ServerPlace(BaseModel):
        collection_name: str = "moot"
        path: Any = settings.file
        now: Any = settings.now
        dense: bool = embedder_kind(settings) != "none"
        connect: Any = None

    embedder, given = _embedder(settings)
    place = ServerPlace()
    if settings.store != "sqlite":
        place.connect = partial(_connect, settings, given["embedding_dims"])
        place.collection_name = settings.store_settings.get("collection_name", "moot")
    memory = memory_over("moot-sqlite", place, _provider(settings), given)
    memory.embedding_model = remembering = RememberingEmbedder(embedder)
    store: SqliteVectors = memory.vector_store
    return OpenedMem0(memory, store, remembering, _embedding(store, embedder))


def memory_over(store: str, place: Any, embedder: str, given: dict[str, Any]) -> Any:
    """A `mem0.Memory` without history and model. place, given: the store's configuration, a
    pydantic model, and the embedder's. `import_mem0` was called."""
    import mem0  # type: ignore[import-untyped]
    from mem0.configs.base import MemoryConfig  # type: ignore[import-untyped]
    from mem0.embeddings.configs import EmbedderConfig  # type: ignore[import-untyped]
    from mem0.llms.configs import LlmConfig  # type: ignore[import-untyped]
    from mem0.vector_stores.configs import VectorStoreConfig  # type: ignore[import-untyped]

    config = MemoryConfig(
        embedder=EmbedderConfig.model_construct(provider=embedder, config=given),
        llm=LlmConfig.model_construct(provider="moot-none", config={}),
        history_db_path=":memory:",
    )
    config.vector_store = VectorStoreConfig.model_construct(provider=store, config=place)
    memory = mem0.Memory(config)
    memory.db.close()
    memory.db = NoHistory()
    return memory


def _embedding(store: SqliteVectors, embedder: Any) -> BackgroundEmbedding | None:
    """The thread that embeds what came without a vector, begun; None where nothing does."""
    from memory.recall.embedders import InstalledEmbedder
    from memory.recall.model.background import BackgroundEmbedding

    if not isinstance(embedder, InstalledEmbedder):
        return None
    made = BackgroundEmbedding(store.file, embedder)
    made.soon()
    return made


def _embedder(settings: IndexSettings) -> tuple[Any, dict[str, Any]]:
    """The embedder, and its settings with the length of its vectors as it is found to be."""
    from mem0.utils.factory import EmbedderFactory  # type: ignore[import-untyped]

    from memory.recall.model.minilm import find_model

    given = dict(settings.embedder_settings)
    if embedder_kind(settings) in ("installed", "minilm"):
        folder = model_folder(settings)
        given["model"] = str(find_model(folder) if settings.embedder == "minilm" else folder)
    with _told("embedder", settings.embedder):
        embedder = EmbedderFactory.create(_provider(settings), given, None)
        dimensions = embedder.config.embedding_dims
        if settings.embedder not in OUR_OWN:
            dimensions = len(embedder.embed("a", "search"))  # what it says may not be so
    return embedder, {**given, "embedding_dims": dimensions}


def import_mem0(folder: Path) -> Any:
    """Mem0, which reads its settings from the environment while it is imported."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "mem0")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more only wait for one another
    import mem0
    from mem0.utils import spacy_models  # type: ignore[import-untyped]
    from mem0.utils.factory import EmbedderFactory, LlmFactory, VectorStoreFactory

    logging.getLogger("mem0").setLevel(logging.CRITICAL)  # it logs memories; what fails it raises
    spacy_models._load_failed_full = spacy_models._load_failed_lemma = True
    for kind in ("None", "Installed", "Builtin", "MiniLM"):
        place = f"memory.recall.embedders.{kind}Embedder"
        EmbedderFactory.provider_to_class[f"moot-{kind.lower()}"] = place
    VectorStoreFactory.provider_to_class["moot-given"] = "memory.recall.providers.given_store"
    VectorStoreFactory.provider_to_class["moot-sqlite"] = "memory.recall.vectors.SqliteVectors"
    LlmFactory.register_provider("moot-none", "memory.recall.providers.NoModel")
    gc.freeze()  # it stays: to look through it for garbage takes 80 ms each time
    return mem0


def _provider(settings: IndexSettings) -> str:
    """Mem0's name for the embedder."""
    kind = embedder_kind(settings)
    return f"moot-{kind}" if settings.embedder in OUR_OWN else kind


def _connect(settings: IndexSettings, dimensions: int) -> Any:
    """A vector store of Mem0's on a server. Raises ConfigError, and whatever its client raises."""
    from mem0.utils.factory import VectorStoreFactory
    from mem0.vector_stores.configs import VectorStoreConfig

    given = {
        "collection_name": "moot",
        "embedding_model_dims": dimensions,
        **settings.store_settings,
    }
    if settings.store == "pgvector":  # HNSW looks at its nearest, then at their scope: few are left
        given.setdefault("hnsw", False)
    if settings.store == "qdrant" and "client" not in given:
        given = with_qdrant_client(given)
    try:
        checked = VectorStoreConfig(provider=settings.store, config=given)
        store = VectorStoreFactory.create(settings.store, checked.config)
    except (ImportError, ValueError):
        with _told("store", settings.store):
            raise
    if settings.store == "pgvector":
        hasten(store)
        store.index_scopes = partial(_index_scopes, store)
    return store


def _index_scopes(pgvector: Any) -> None:
    """Let PostgreSQL find a scope's rows, all of which are compared then, by an index."""
    from psycopg import sql

    name = pgvector.collection_name
    made = sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} ((payload->>'user_id'))")
    with pgvector.connection_pool.connection() as connection:
        connection.execute(made.format(sql.Identifier(f"{name}_scopes"), sql.Identifier(name)))


def with_qdrant_client(given: Mapping[str, Any]) -> dict[str, Any]:
    """A Qdrant store's settings with a client in place of those that say where it is."""
    from qdrant_client import QdrantClient

    place = {key: given[key] for key in given.keys() & _QDRANT_PLACE}
    # Its check of versions runs in a thread beside and tells nobody when it fails.
    client = QdrantClient(**place, check_compatibility=False)
    return {key: given[key] for key in given.keys() - _QDRANT_PLACE} | {"client": client}


def hasten(pgvector: Any) -> None:
    """Let a store's pool of connections wait shorter: 30 s, and it tries again only for 300."""
    pgvector.connection_pool.timeout = pgvector.connection_pool.reconnect_timeout = POOL_S
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # we say it once ourselves


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
