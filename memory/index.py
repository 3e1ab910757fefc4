"""What finds facts by their meaning. It only finds: what is shown is our own row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact as the index is given it.

    id: the fact's. order: the fact's seq. person: display name of whom it is about. source: e.g.
    a session or a thread: entries of one source with neighbouring orders are each other's context.
    """

    id: str
    scope: str
    text: str
    at: datetime
    order: int
    person: str = ""
    kind: str = "fact"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact that was found. scope: as the backend claims; it is looked up again before use.

    score: comparable within one search.
    """

    id: str
    scope: str
    score: float


class Index(Protocol):
    """Holds entries by scope."""

    name: str  # what made it; when it changes, everything is indexed anew

    async def add(self, entries: Sequence[Entry]) -> None:
        """Take in entries; one with a known id is replaced. On disk when it returns."""

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """The best hits of these scopes together, best first."""

    async def remove(self, ids: Sequence[str]) -> None:
        """Forget entries: no byte of them stays in any file."""

    async def ids(self, scope: str | None = None) -> set[str]:
        """What it holds."""

    async def clear(self) -> None:
        """Forget everything."""
