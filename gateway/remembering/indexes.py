"""What recall finds in, made from the configuration: our own index, and other Mem0s."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from gateway.settings.config import Config, secret
from memory.recall.index import Index, IndexSettings
from memory.recall.mem0 import open_index
from memory.recall.providers import model_folder
from memory.recall.sources.reader import SourceSettings
from memory.recall.sources.source import MemorySource

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


@asynccontextmanager
async def open_sources(
    config: Config, environment: Mapping[str, str], folder: Path | None = None
) -> AsyncIterator[list[MemorySource]]:
    """The other Mem0s that are read, closed when left; each is connected to at its first use.

    folder: for what Mem0 writes when it is imported; None: the index's own.
    """
    own = replace(index_settings(config), embedder="minilm")
    with ExitStack() as closing:
        sources = [
            MemorySource(
                SourceSettings(
                    name=name,
                    kind=table.kind,
                    reads=tuple((read.scope, read.ids) for read in table.reads),
                    url=table.url,
                    api_key=secret(environment, "MEM0_API_KEY", name),
                    store=table.store_settings,
                    embedder=table.embedder,
                    embedder_settings=table.embedder_settings,
                    model=model_folder(own),
                    threshold=table.threshold,
                ),
                folder or own.folder,
            )
            for name, table in config.memory.sources.items()
        ]
        for source in sources:
            closing.callback(source.close)
        yield sources
