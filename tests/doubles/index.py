"""An index of words in memory, which can be told to lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.recall.index import Hit, IndexEntry


@dataclass
class WordIndex:
    """Scores by shared words. hostile: answers with everybody's entries, whatever was asked for,
    under the scope that was asked for."""

    hostile: bool = False
    name: str = "words"
    entries: dict[str, IndexEntry] = field(default_factory=dict)

    async def add(self, entries: Sequence[IndexEntry]) -> None:
        """Take in entries."""
        self.entries |= {entry.id: entry for entry in entries}

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """The best by shared words, or everything."""
        if self.hostile:
            return [Hit(entry.id, scopes[0], 1.0) for entry in self.entries.values()]
        words = set(query.casefold().split())
        scored = [
            Hit(entry.id, entry.scope, float(len(words & set(entry.text.casefold().split()))))
            for entry in self.entries.values()
            if entry.scope in scopes
        ]
        found = [hit for hit in scored if hit.score]
        return sorted(found, key=lambda hit: -hit.score)[:limit]

    async def remove(self, ids: Sequence[str]) -> None:
        """Forget entries."""
        for entry_id in ids:
            self.entries.pop(entry_id, None)

    async def ids(self, scope: str | None = None) -> set[str]:
        """What it holds."""
        return {e.id for e in self.entries.values() if scope in (None, e.scope)}

    async def clear(self) -> None:
        """Forget everything."""
        self.entries.clear()

    async def warm(self) -> None:
        """Nothing to do."""
