"""The memory, put together from the configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime, tzinfo
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from contract.briefing import Budget
from contract.values import dataclass
from gateway.mcp.tools import MemoryTools
from gateway.remembering.embedder import InstalledModel
from gateway.remembering.ingest import HEARD_S, MemoryIngest
from gateway.settings.tables import MemoryTable
from memory.extraction.plain import MessageFacts
from memory.insights.insights import Insights
from memory.landmarks import Landmarks
from memory.layers import About, Layers, Learner, Source, Spawn
from memory.members import Members
from memory.model import Called, Calls, Model, ModelOf
from memory.observations.observer import Observer
from memory.observations.titles import ObservationTitles
from memory.observations.work_log import WorkLog
from memory.pace import LearningPace
from memory.readable import ReadableMessages
from memory.recall.index import Index
from memory.recall.recall import Recall
from memory.recall.sources.source import MemorySource, MemorySources
from memory.summaries.episodes import Episodes
from store.database import Store

if TYPE_CHECKING:  # each is imported where it is made
    from memory.consolidation.consolidation import Consolidation
    from memory.extraction.extraction import Extraction
    from memory.owner.commands import MemoryCommands

LEARN_AFTER_S = 2.0  # a busy room's turns are learned from together, and no answer waits for it


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """The memory is made of these. index, model: None when there is none. sources: other Mem0s.

    own_workspaces: folder of the agents' workspaces that nobody configured. clean: see
    ReadableMessages.
    """

    store: Store
    clock: Callable[[], datetime]
    zone: tzinfo
    budget: Budget
    index: Index | None = None
    model: Model | None = None
    sources: Sequence[MemorySource] = ()
    own_workspaces: Path | None = None
    clean: Callable[[str], str] = lambda text: text


@dataclass(frozen=True, slots=True)
class BackgroundLearning:
    """The learning of the layers: when, from what, and who hears of it.

    learned: called with the id of a room that was learned from. called: after each call of the
    model. about: see Layers. busy: see LearningPace.
    """

    spawn: Spawn
    learned: Callable[[str], None] = lambda room_id: None
    called: Called = lambda purpose, model, usage, ms, fault: None
    about: About = lambda told: nullcontext()
    heard_s: float = HEARD_S
    learn_after_s: float = LEARN_AFTER_S
    busy: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Backends:
    """The memory stands on these; each may be missing. Whoever opened them closes them.
    learn_after_s: how long it rests before it learns from a turn."""

    index: Index | None = None
    model: Model | None = None
    sources: Sequence[MemorySource] = ()
    embedder: InstalledModel | None = None
    learn_after_s: float = LEARN_AFTER_S


class Memories:
    """Every layer of one gateway, and who works with them."""

    def __init__(
        self, table: MemoryTable, parts: MemoryParts, learning: BackgroundLearning
    ) -> None:
        store, clock, index, model = parts.store, parts.clock, parts.index, parts.model
        self.calls = Calls(model, store, clock, called=learning.called) if model else None
        self.store = store
        self.slices = ReadableMessages(store, table.excluded_rooms, parts.clean)
        self.members = Members(store)

        # The layers
        self.landmarks = Landmarks(store, parts.zone)
        self.recall = Recall(store, index, parts.zone) if index is not None else None
        self.sources = _other_mem0s(parts)
        self.messages = MessageFacts(
            store,
            self.slices,
            clock,
            found=self._index,
            gone=self._unindex,
            learns=_remembers("messages", table, has_model=model is not None),
        )
        self.extraction = self._extraction(table, clock)
        self.episodes = self._episodes(parts)
        self.layers = self._layers(table, parts, learning)

        self._parts = parts

        # Who follows the chat
        self.hearing = MemoryIngest(
            self.messages,
            self.extraction,
            self.recall,
            learning.spawn,
            pace=LearningPace(learning.busy) if learning.learn_after_s else None,
            heard_s=learning.heard_s,
        )
        # Agents ask by their tools
        self.tools = MemoryTools(WorkLog(store), self.recall, parts.zone)

    @cached_property
    def consolidation(self) -> Consolidation:
        """Goes over what is known, at night."""
        from memory.consolidation.consolidation import Consolidation

        index, clock = self._parts.index, self._parts.clock
        tidies = self._model_of("consolidation")
        return Consolidation(self.store, index=index, model=tidies, clock=clock)

    @cached_property
    def keeper(self) -> MemoryCommands:
        """Whom people ask, by commands, of their own memory and of their room's."""
        from memory.owner.commands import MemoryCommands

        clock, settled = self._parts.clock, self.layers.settled
        return MemoryCommands(self.store, self.slices, self.recall, clock, settled)

    def _layers(
        self, table: MemoryTable, parts: MemoryParts, learning: BackgroundLearning
    ) -> Layers:
        """The layers that give something before a turn, and those that learn from it, in order."""
        store, clock = parts.store, parts.clock
        insights = Insights(store, self._model_of("insights"), clock) if table.insights else None
        titles = observer = None
        if table.observations:
            model = self._model_of("observations")
            titles = ObservationTitles(store, parts.zone)
            observer = Observer(store, model, clock, parts.own_workspaces)
        messages = self.messages if self.messages.learns else None
        sources: list[Source | None] = [
            self.landmarks, self.episodes, self.recall, self.sources, insights, titles,
        ]  # fmt: skip
        learners: list[Learner | None] = [
            messages, self.extraction, insights, self.episodes, observer,
        ]  # fmt: skip
        after_s = learning.learn_after_s
        return Layers(
            store,
            _present(sources),
            _present(learners),
            self.slices,
            learning.spawn,
            learning.learned,
            about=learning.about,
            pace=LearningPace(learning.busy, after_s) if after_s else None,
        )

    def _extraction(self, table: MemoryTable, clock: Callable[[], datetime]) -> Extraction | None:
        """The extraction; None where nothing is to be extracted, or there is no model to do it."""
        if self.calls is None or not _remembers("extracted", table, has_model=True):
            return None
        from memory.extraction.extraction import Extraction  # few have a model

        return Extraction(
            self.store,
            self.slices,
            self.calls,
            clock,
            found=self._index,
            threshold_tokens=table.extract_tokens,
        )

    def _episodes(self, parts: MemoryParts) -> Episodes:
        return Episodes(
            parts.store,
            self.slices,
            self._model_of("episodes"),
            budget=parts.budget,
            zone=parts.zone,
            clock=parts.clock,
            before_compaction=self._extract_all,
        )

    def _model_of(self, purpose: str) -> ModelOf | None:
        return partial(self.calls.of, purpose) if self.calls is not None else None

    async def _extract_all(self, scope: str) -> None:
        """Read a scope for facts before it is summarised."""
        if self.extraction is not None:
            await self.extraction.run(scope, force=True)

    async def _index(self) -> None:
        if self.recall is not None:
            await self.recall.index_pending()

    async def _unindex(self, ids: Sequence[str]) -> None:
        if self.recall is not None:
            await self.recall.forget(ids)


def _other_mem0s(parts: MemoryParts) -> MemorySources | None:
    return MemorySources(parts.sources, parts.zone, parts.clean) if parts.sources else None


Layer = TypeVar("Layer")


def _present(layers: Sequence[Layer | None]) -> list[Layer]:
    return [layer for layer in layers if layer is not None]


def _remembers(what: str, table: MemoryTable, *, has_model: bool) -> bool:
    """True if recall is fed with people's "messages", or with what is "extracted" from them."""
    auto = "extracted" if has_model else "messages"
    return table.remember in (what, "both") or (table.remember == "auto" and what == auto)
