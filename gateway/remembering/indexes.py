"""The index of recall, made from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from gateway.settings.config import Config
from memory.recall.index import Index, IndexSettings
from memory.recall.mem0 import open_index

OpenIndex = Callable[[Config], AbstractAsyncContextManager[Index | None]]


def index_settings(config: Config) -> IndexSettings:
    """The index's settings, from `[memory]`."""
    table = config.memory
    return IndexSettings(
        folder=config.gateway.data_dir / "memory",
        embedder=table.embedder,
        store=table.store,
        embedder_settings=table.embedder_settings,
        store_settings=table.store_settings,
        model=table.minilm,
    )


def open_configured(config: Config) -> AbstractAsyncContextManager[Index]:
    """The configured index, closed when left. Raises ConfigError."""
    return open_index(index_settings(config))
