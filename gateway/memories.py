"""The memory's layers, put together from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path

from contract import Budget
from gateway.config import MemoryTable
from gateway.librarian import Librarian
from gateway.recalling import Recalling
from memory.episodes import Episodes
from memory.index import Index
from memory.insights import Insights
from memory.keeper import Keeper
from memory.landmarks import Landmarks
from memory.layer import Learner
from memory.layers import Layers, Source, Spawn
from memory.library import Library
from memory.members import Members
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
        zone: tzinfo,
        budget: Budget,
        own_workspaces: Path | None = None,
    ) -> None:
        self.store = store
        self.slices = Slices(store, table.excluded_rooms)
        self.recall = Recall(store, index) if index is not None else None
        self.librarian = Librarian(Library(store), self.recall)
        self.recalling = Recalling(store, self.librarian)
        self.landmarks = Landmarks(store, zone)
        self.keeper = Keeper(
            store, self.slices, self.recall, clock, lambda scope: self.layers.settled(scope)
        )
        self.members = Members(store)
        sources: list[Source] = [self.landmarks]
        if self.recall is not None:
            sources.append(self.recall)
        learners: list[Learner] = []
        if table.insights:
            insights = Insights(store, model, clock)
            sources.append(insights)
            learners.append(insights)
        self.episodes = Episodes(store, self.slices, model, budget=budget, clock=clock)
        sources.append(self.episodes)
        learners.append(self.episodes)
        if table.observations:
            observer = Observer(store, model, clock, own_workspaces)
            sources.append(observer)
            learners.append(observer)
        self.layers = Layers(sources, learners, self.slices, spawn)
