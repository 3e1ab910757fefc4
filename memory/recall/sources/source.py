"""What other Mem0s know: read for the scopes that the configuration maps, and shown beside our own.

Every row is looked at again: it is shown only if it bears the very ids that the scope reads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any, TypeVar

import structlog
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from contract.briefing import Fact
from contract.errors import MootError
from contract.values import dataclass
from memory.layers import BriefRequest, LayerAnswers
from memory.private import public
from memory.recall.sources.reader import Ids, Search, SourceSettings, open_search
from memory.scopes import Gate
from memory.server_calls import CircuitBreaker, ServerCalls
from store.timestamps import day

log = structlog.stdlib.get_logger("moot.memory")

SEARCH_S = 0.15  # a turn waits for it
OPENING_S = 10.0  # nobody waits for it
MOST = 3  # of the five lines that are shown: our own keep a place
TEXT_CHARS = 4_000

T = TypeVar("T")
_Id = Annotated[str, BeforeValidator(str), Field(max_length=200)]


class _Row(BaseModel):
    """A memory in the answer of a search, the same in every kind of Mem0."""

    id: _Id
    memory: Annotated[str, Field(min_length=1)]
    score: Annotated[float, Field(ge=0, le=1)] = 0.0
    created_at: datetime | None = None
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None

    def bears(self, ids: Ids) -> bool:
        """True if it belongs to these ids."""
        return all(getattr(self, key) == value for key, value in ids.items())


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """A memory that was found. scope: of ours, for which it was read."""

    scope: str
    source: str
    row: _Row

    def shown(self, zone: tzinfo) -> Fact:
        """The memory as recall shows it: `(mem0 NAME, YYYY-MM-DD)`."""
        row, at = self.row, self.row.created_at
        if at is not None:
            at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return Fact(
            id=f"mem0:{self.source}:{row.id}",
            text=public(row.memory[:TEXT_CHARS]),
            kind=f"mem0 {self.source}",
            date=day(at, zone) if at else None,
            score=row.score,
        )


class MemorySource:
    """One other Mem0. It is opened at its first use, and again until that succeeds."""

    def __init__(self, settings: SourceSettings, folder: Path) -> None:
        """folder: see `open_search`."""
        self.name = settings.name
        self._settings = settings
        self._folder = folder
        self._calls = ServerCalls(f"source {settings.name}")
        self._breaker = CircuitBreaker()
        self._opening = threading.Lock()
        self._search: Search | None = None
        self._closing = ExitStack()

    async def find(self, query: str, gate: Gate, limit: int = MOST) -> list[ForeignMemory]:
        """What it knows for these scopes; nothing, if it fails or is late."""
        wanted = [(scope, ids) for scope, ids in self._settings.reads if scope in gate.scopes]
        if not wanted or not self._breaker.admits():
            return []
        try:
            found = await self._within(SEARCH_S, lambda: self._find(query, wanted, limit))
        except Exception as error:  # noqa: BLE001 - a memory layer's border, any client's own
            self._breaker.failed()
            reason = error.say if isinstance(error, MootError) else type(error).__name__
            log.warning("memory.source_failed", source=self.name, reason=reason)
            return []
        self._breaker.succeeded()
        return found

    async def answer(self) -> int:
        """Open it, and ask for what is read first, patiently; return how many rows came.

        Raises whatever its client raises.
        """
        wanted = self._settings.reads[:1]
        return len(await self._within(OPENING_S, lambda: self._find("moot", wanted, MOST)))

    def close(self) -> None:
        """Let go of its connections."""
        self._closing.close()

    async def _within(self, seconds: float, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(self._calls.within, seconds, work)

    def _find(
        self, query: str, wanted: Iterable[tuple[str, Ids]], limit: int
    ) -> list[ForeignMemory]:
        search = self._opened()
        return [
            ForeignMemory(scope, self.name, row)
            for scope, ids in wanted
            for row in _rows(search(query, ids, limit))
            if row.bears(ids)
        ]

    def _opened(self) -> Search:
        with self._opening:
            if self._search is None:
                self._search = open_search(self._settings, self._folder, self._closing)
            return self._search


class MemorySources:
    """The layer that other Mem0s are."""

    name = "sources"
    deadline_s = 0.2
    held = None

    def __init__(
        self,
        sources: Sequence[MemorySource],
        zone: tzinfo = UTC,
        clean: Callable[[str], str] = lambda text: text,
    ) -> None:
        """clean: takes known secrets out of a question before it leaves."""
        self._sources = sources
        self._zone = zone
        self._clean = clean

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """The best of what they know for the message, but for what the agent was given."""
        query = self._clean(public(ask.text)).strip()
        if not ask.recalls or not query:
            return LayerAnswers()
        gate = ask.invocation.gate
        found = await asyncio.gather(*(source.find(query, gate) for source in self._sources))
        admitted = gate.admit(self.name, [memory for some in found for memory in some])
        shown = {fact.id: fact for fact in (one.shown(self._zone) for one in admitted)}
        new = [fact for fact in shown.values() if fact.id not in ask.given.facts and fact.text]
        return LayerAnswers(recall=tuple(sorted(new, key=lambda fact: -fact.score)[:MOST]))

    async def begin(self) -> None:
        """Open them, so that the first question needn't wait for it."""
        await asyncio.gather(*(source.answer() for source in self._sources), return_exceptions=True)


def _rows(answer: Any) -> list[_Row]:
    """The rows of a search's answer; those that are no memories are left out."""
    given = answer.get("results", ()) if isinstance(answer, dict) else answer
    found = []
    for one in given if isinstance(given, list) else ():
        try:
            found.append(_Row.model_validate(one))
        except ValidationError as error:
            log.debug("memory.source_row_refused", errors=error.error_count())
    return found
