"""The memory of one room, for people who look at it on the page or through the API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeVar

import structlog
from sqlalchemy import Connection

from contract.chat import Room
from contract.values import dataclass
from gateway.core.views import View
from gateway.web.submission import DIRECT
from memory.browse import pages
from memory.browse.view_rows import (
    AgentSessionRow,
    EpisodeRow,
    FactRow,
    InsightRow,
    LandmarkRow,
    ObservationContext,
    ObservationFilter,
    Page,
    TitleRow,
)
from memory.recall.recall import Recall
from memory.scopes import Gate, home_scope
from store.database import Store
from store.transcript import Transcript

log = structlog.stdlib.get_logger("moot.gateway")

FOUND = 20  # of each kind that a search shows
PATIENCE_S = 10.0  # a person waits longer for a search than a turn does for recall

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Overview:
    """The first page of every section. scopes: what they were read from."""

    scopes: tuple[str, ...]
    landmarks: tuple[LandmarkRow, ...]
    episodes: tuple[EpisodeRow, ...]
    facts: Page[FactRow]
    observations: Page[TitleRow]
    insights: tuple[InsightRow, ...]
    sessions: tuple[AgentSessionRow, ...]


@dataclass(frozen=True, slots=True)
class MemorySearch(View):
    """The findings of a search, best first. by: the words alone where recall gives no answer."""

    facts: tuple[FactRow, ...]
    observations: tuple[TitleRow, ...]
    by: Literal["recall", "words"]


class RoomMemoryService:
    """Reads by room. Every method gives None when there is no such room. recall: if there is one.

    A room's memory is its own scope and that of its project; a direct message's is its own scope
    alone.
    """

    def __init__(self, store: Store, transcript: Transcript, recall: Recall | None) -> None:
        self._store = store
        self._transcript = transcript
        self._recall = recall

    async def overview(self, room_id: str) -> Overview | None:
        """The first page of every section."""
        return await self._read(room_id, _overview)

    async def facts(self, room_id: str, *, before: int, replaced: bool) -> Page[FactRow] | None:
        """Facts numbered below `before`. replaced: those that were replaced, too."""
        return await self._read(
            room_id,
            lambda connection, scopes: pages.fact_rows(
                connection, scopes, before=before, replaced=replaced
            ),
        )

    async def observations(
        self, room_id: str, sought: ObservationFilter | None, *, before: int
    ) -> Page[TitleRow] | None:
        """Observations older than `before`."""
        return await self._read(
            room_id,
            lambda connection, scopes: pages.title_rows(connection, scopes, sought, before=before),
        )

    async def observation(self, room_id: str, observation_id: str) -> ObservationContext | None:
        """One observation and its timeline; None also when the room holds none of this id."""
        return await self._read(
            room_id,
            lambda connection, scopes: pages.observation_context(
                connection, scopes, observation_id
            ),
        )

    async def search(self, room_id: str, query: str) -> MemorySearch | None:
        """Facts by their meaning, observations by their words."""
        scopes = await self._scopes(room_id)
        if scopes is None:
            return None
        recalled = await self._recalled(query, scopes)

        def work(connection: Connection) -> MemorySearch:
            titles = pages.title_rows(
                connection, scopes, ObservationFilter(query), limit=FOUND
            ).items
            if recalled is not None:
                return MemorySearch(recalled, titles, "recall")
            facts = pages.facts_with(connection, scopes, query, limit=FOUND)
            return MemorySearch(tuple(facts), titles, "words")

        return await self._store.read(work)

    async def _recalled(self, query: str, scopes: frozenset[str]) -> tuple[FactRow, ...] | None:
        if self._recall is None:
            return None
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self._recall.search(query, Gate(scopes), limit=FOUND)
        except Exception as error:  # a layer's border: the words still find something
            log.warning("memory.not_searched", error=type(error).__name__)
            log.debug("memory.not_searched", exc_info=True)
            return None
        return tuple(FactRow.of(fact) for fact, _score in found)

    async def _read(
        self, room_id: str, work: Callable[[Connection, frozenset[str]], Answer]
    ) -> Answer | None:
        scopes = await self._scopes(room_id)
        if scopes is None:
            return None
        return await self._store.read(lambda connection: work(connection, scopes))

    async def _scopes(self, room_id: str) -> frozenset[str] | None:
        """The scopes that somebody who looks at a room may read; None: no such room."""
        room = await self._transcript.room(room_id)
        if room is None:
            return None
        if not room.is_shared and not DIRECT.fullmatch(room.id):
            return await self._store.read(lambda c: pages.direct_scopes(c, room.id))
        return scopes_of(room)


def scopes_of(room: Room) -> frozenset[str]:
    """The scopes of a room that follow from its id: a room, a group DM, a DM on the page."""
    if direct := DIRECT.fullmatch(room.id):
        person, persona = f"web:{direct['person']}", direct["persona"]
        return frozenset({home_scope(replace(room, kind="dm"), person, persona)})
    scopes = {home_scope(room, "", "")}
    if room.kind == "room" and room.project:
        scopes.add(f"project:{room.project}")
    return frozenset(scopes)


def _overview(connection: Connection, scopes: frozenset[str]) -> Overview:
    return Overview(
        scopes=tuple(sorted(scopes)),
        landmarks=tuple(pages.landmark_rows(connection, scopes)),
        episodes=tuple(pages.episode_rows(connection, scopes)),
        facts=pages.fact_rows(connection, scopes),
        observations=pages.title_rows(connection, scopes),
        insights=tuple(pages.insight_rows(connection, scopes)),
        sessions=tuple(pages.agent_session_rows(connection, scopes)),
    )
