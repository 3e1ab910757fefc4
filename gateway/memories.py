"""The memory's layers, put together from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo

from contract import Budget
from gateway.config import MemoryTable
from memory.consolidation import Consolidation
from memory.episodes import Episodes
from memory.index import Index
from memory.insights import Insights
from memory.keeper import Keeper
from memory.landmarks import Landmarks
from memory.layer import Learner
from memory.layers import Layers, Source, Spawn
from memory.members import Members
from memory.model import Model
from memory.recall import Recall
from memory.slices import Slices
from memory.store import Store


class Memories:
    """Every layer of one gateway. index, model: None when there is none."""

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
    ) -> None:
        self.store = store
        self.slices = Slices(store, table.excluded_rooms)
        self.recall = Recall(store, index) if index is not None else None
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
        self.consolidation = Consolidation(
            store, index=index, model=None if model is None else lambda _scope: model, clock=clock
        )
        self.episodes = Episodes(store, self.slices, model, budget=budget, clock=clock)
        sources.append(self.episodes)
        learners.append(self.episodes)
        self.layers = Layers(sources, learners, self.slices, spawn)
