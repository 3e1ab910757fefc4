"""The memory's layers, put together from the configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

from contract import Budget
from gateway.config import MemoryTable
from gateway.librarian import Librarian
from gateway.recalling import Recalling
from memory.calls import Calls
from memory.consolidation import Consolidation
from memory.episodes import Episodes
from memory.extraction import Extraction
from memory.index import Index
from memory.insights import Insights
from memory.keeper import Keeper
from memory.landmarks import Landmarks
from memory.layer import Learner
from memory.layers import Layers, Source, Spawn
from memory.library import Library
from memory.members import Members
from memory.messages import MessageFacts
from memory.model import Model, ModelOf
from memory.observer import Observer
from memory.recall import Recall
from memory.slices import Slices
from memory.store import Store
from memory.transcript import Stored

log = logging.getLogger("moot.memory")


HEARD_S = 10.0  # what people say among themselves is taken in this much later, all at once
LEARN_AFTER_S = 0.5  # whoever asks the next question at once finds both cores free


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
        learned: Callable[[str], None] = lambda room_id: None,
        clock: Callable[[], datetime],
        zone: tzinfo,
        budget: Budget,
        own_workspaces: Path | None = None,
        heard_s: float = HEARD_S,
        learn_after_s: float = LEARN_AFTER_S,
    ) -> None:
        self._spawn = spawn
        self._heard_s = heard_s
        self._heard = set[str]()
        self.store = store
        self.slices = Slices(store, table.excluded_rooms)
        self.recall = Recall(store, index, zone) if index is not None else None
        self.librarian = Librarian(Library(store), self.recall)
        self.recalling = Recalling(store, self.librarian)
        self.landmarks = Landmarks(store, zone)
        self.keeper = Keeper(
            store, self.slices, self.recall, clock, lambda scope: self.layers.settled(scope)
        )
        self.members = Members(store)
        self.calls = Calls(model, store, clock) if model is not None else None
        self.messages = MessageFacts(
            store,
            self.slices,
            clock,
            found=self._index,
            gone=self._unindex,
            learns=_remembers("messages", table, model),
        )
        self.extraction: Extraction | None = None
        if self.calls is not None and _remembers("extracted", table, model):
            self.extraction = Extraction(
                store,
                self.slices,
                self.calls,
                clock,
                found=self._index,
                threshold_tokens=table.extract_tokens,
            )
        self.episodes = Episodes(
            store,
            self.slices,
            self._model_of("episodes"),
            budget=budget,
            clock=clock,
            before_compaction=self._extract_all,
        )
        sources: list[Source] = [self.landmarks, self.episodes]
        if self.recall is not None:
            sources.append(self.recall)
        learners: list[Learner] = []
        if self.messages.learns:
            learners.append(self.messages)
        if self.extraction is not None:
            learners.append(self.extraction)
        if table.insights:
            insights = Insights(store, self._model_of("insights"), clock)
            sources.append(insights)
            learners.append(insights)
        self.consolidation = Consolidation(
            store, index=index, model=self._model_of("consolidation"), clock=clock
        )
        learners.append(self.episodes)
        if table.observations:
            observer = Observer(store, self._model_of("observations"), clock, own_workspaces)
            sources.append(observer)
            learners.append(observer)
        self.layers = Layers(sources, learners, self.slices, spawn, learned, after_s=learn_after_s)

    def _model_of(self, purpose: str) -> ModelOf | None:
        return partial(self.calls.of, purpose) if self.calls is not None else None

    async def _extract_all(self, scope: str) -> None:
        """What is about to be summarised is first read for facts."""
        if self.extraction is not None:
            await self.extraction.run(scope, force=True)

    def begin(self) -> None:
        """Take up, in the background, what an earlier process left undone."""
        if self.recall is not None:
            self._spawn(_guarded(self.recall.begin()), "recall begins")
        if self.extraction is not None:
            self._spawn(_guarded(self.extraction.begin()), "extraction begins")

    def heard(self, scope: str) -> None:
        """Something was said, whether or not an agent is asked: it is taken in a little later."""
        if scope not in self._heard:
            self._heard.add(scope)
            self._spawn(_guarded(self._take_in(scope)), f"memory hears {scope}")

    async def _take_in(self, scope: str) -> None:
        await asyncio.sleep(self._heard_s)
        self._heard.discard(scope)
        if self.messages.learns:
            await self.messages.run(scope)
        if self.extraction is not None:
            await self.extraction.run(scope)

    def changed(self, message: Stored) -> None:
        """A message was edited or deleted: what was remembered of it follows."""
        work = self.messages.follow(message.scope, message.seq)
        self._spawn(_guarded(work), f"memory follows message {message.seq}")

    async def _index(self) -> None:
        if self.recall is not None:
            await self.recall.index_pending()

    async def _unindex(self, ids: Sequence[str]) -> None:
        if self.recall is not None:
            await self.recall.forget(ids)


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as error:  # a memory layer's failure is nobody else's
        log.warning("memory.not_kept_up error=%s", type(error).__name__)
        log.debug("memory.not_kept_up", exc_info=True)


def _remembers(what: str, table: MemoryTable, model: Model | None) -> bool:
    """Whether recall is fed with people's "messages", or with what is "extracted" from them."""
    auto = "messages" if model is None else "extracted"
    return table.remember in (what, "both") or (table.remember == "auto" and what == auto)
