"""The memory's layers, put together from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from gateway.config import MemoryTable
from gateway.librarian import Librarian
from gateway.recalling import Recalling
from memory.index import Index
from memory.layer import Learner
from memory.layers import Layers, Source, Spawn
from memory.library import Library
from memory.model import Model
from memory.observer import Observer
from memory.recall import Recall
from memory.slices import Slices
from memory.store import Store


class Memories:
    """Every layer of one gateway. index, model: None when there is none.

    own_workspaces: folder of the agents' workspaces that nobody configured.
    """

    def __init__(
        self,
        table: MemoryTable,
        *,
        store: Store,
        index: Index | None,
        model: Model | None,
        spawn: Spawn,
        clock: Callable[[], datetime],
        own_workspaces: Path | None = None,
    ) -> None:
        self.slices = Slices(store, table.excluded_rooms)
        self.recall = Recall(store, index) if index is not None else None
        self.librarian = Librarian(Library(store), self.recall)
        self.recalling = Recalling(store, self.librarian)
        sources: list[Source] = [self.recall] if self.recall is not None else []
        learners: list[Learner] = []
        if table.observations:
            observer = Observer(store, model, clock, own_workspaces)
            sources.append(observer)
            learners.append(observer)
        self.layers = Layers(sources, learners, self.slices, spawn)
