"""The index of recall, made from the configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.config import Config
from memory.index import Index

OpenIndex = Callable[[Config], AbstractAsyncContextManager[Index | None]]


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """folder: the index's own. embedder, store: what it is made of, with their settings."""

    folder: Path
    embedder: str
    store: str
    embedder_settings: Mapping[str, Any]
    store_settings: Mapping[str, Any]


def index_settings(config: Config) -> IndexSettings:
    """What `[memory]` says about it."""
    table = config.memory
    return IndexSettings(
        folder=config.gateway.data_dir / "memory",
        embedder=table.embedder,
        store=table.store,
        embedder_settings=table.embedder_settings,
        store_settings=table.store_settings,
    )


@asynccontextmanager
async def open_configured(config: Config) -> AsyncIterator[Index | None]:
    """The configured index, closed when left; None: facts are kept, and found by nobody."""
    index_settings(config)
    yield None
