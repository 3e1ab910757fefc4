"""A house's memory by room, told by the caller; records what it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.web.memory.room_memory import MemorySearch, Overview
from memory.browse.view_rows import FactRow, ObservationContext, ObservationFilter, Page, TitleRow

EMPTY = Overview(
    scopes=(), landmarks=(), episodes=(), facts=Page(()), observations=Page(()),
    insights=(), sessions=(),
)  # fmt: skip


@dataclass
class FakeMemories:
    """Stands for RoomMemoryService. A room that is not in `rooms` is not there."""

    rooms: dict[str, Overview] = field(default_factory=dict)
    records: dict[str, ObservationContext] = field(default_factory=dict)  # by observation id
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def overview(self, room_id: str) -> Overview | None:
        self.asked.append(("overview", room_id))
        return self.rooms.get(room_id)

    async def facts(self, room_id: str, *, before: int, replaced: bool) -> Page[FactRow] | None:
        self.asked.append(("facts", room_id, before, replaced))
        held = self.rooms.get(room_id)
        if held is None:
            return None
        wanted = [f for f in held.facts.items if f.seq < before]
        return Page(tuple(f for f in wanted if replaced or f.replaced_by is None))

    async def observations(
        self, room_id: str, sought: ObservationFilter | None, *, before: int
    ) -> Page[TitleRow] | None:
        self.asked.append(("observations", room_id, sought, before))
        held = self.rooms.get(room_id)
        return None if held is None else held.observations

    async def observation(self, room_id: str, observation_id: str) -> ObservationContext | None:
        self.asked.append(("observation", room_id, observation_id))
        return self.records.get(observation_id)

    async def search(self, room_id: str, query: str) -> MemorySearch | None:
        self.asked.append(("search", room_id, query))
        held = self.rooms.get(room_id)
        if held is None:
            return None
        return MemorySearch(held.facts.items, held.observations.items, "recall")
