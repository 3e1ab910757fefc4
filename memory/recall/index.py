"""The index that finds facts by their meaning. It only finds: what is shown is our own row.

One scope is one Mem0 `user_id`. An index may be lost at any time: whoever owns the entries compares
`ids()` with their own, and adds what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from contract.errors import MootError
from contract.values import dataclass

AGENT = "moot"
"""The `agent_id` of every row: Mem0 wants an id beside the alternatives of an `OR`."""

_ID = re.compile(r"[^\s*\x00-\x1f\x7f]{1,600}")


FILE = "index.db"


class IndexFailed(MootError):
    """The index, or a server behind it, failed; nothing is lost with it."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One memory as the index is given it.

    id: of the fact in our own database. at: aware, when it was said. order: rises with time
    within a scope. person: display name of who said it or whom it is about. source: e.g. a
    session's or a thread's id; entries of one source with neighbouring orders are each other's
    context, and without a source those within an hour are.
    """

    id: str
    scope: str
    text: str
    at: datetime
    order: int
    person: str = ""
    kind: str = "fact"
    source: str = ""


MOST_CHANGES = 15  # hits by change of one search, beside the others


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that was found. scope: as the backend claims. score: 0 to 1, best first,
    comparable across the scopes of one search. bearing: 0 to 1, how much of the question the entry
    itself is about; only its score may come of its neighbours. by_change: it bears on the question
    only as what may say that another hit is not so any more, and has that one's bearing."""

    id: str
    scope: str
    score: float
    bearing: float = 1.0
    by_change: bool = False


class Index(Protocol):
    """Finds entries. `name` says what made it: when it changes, everything is indexed again."""

    name: str

    async def add(self, entries: Sequence[IndexEntry]) -> None:
        """Take entries in, on disk when it returns; one with a known id replaces the old one."""

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """The best hits of all these scopes together; none when nothing is relevant. Those by
        change come after them, and aren't counted."""

    async def remove(self, ids: Sequence[str]) -> None:
        """Forget: no byte of the text stays in any file. Unknown ids are no error."""

    async def ids(self, scope: str | None = None) -> set[str]:
        """The ids that it holds, in one scope or in all."""

    async def clear(self) -> None:
        """Forget everything."""

    async def warm(self) -> None:
        """Do now, off the loop, what the first calls would have to wait for: 1 to 3 s."""


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The place and manner of indexing.

    folder: the index's own. embedder: "auto" (MiniLM once it is installed), "builtin", "minilm",
    or a provider of Mem0's, e.g. "openai", "ollama". store: "sqlite", or beside it a server for the
    vectors: "qdrant", "pgvector", or another of Mem0's. embedder_settings, store_settings: that
    provider's, as Mem0 names them.
    model: the folder with MiniLM's weights. now: the clock, for questions like "yesterday".
    """

    folder: Path
    embedder: str = "auto"
    store: str = "sqlite"
    embedder_settings: Mapping[str, Any] = field(default_factory=dict)
    store_settings: Mapping[str, Any] = field(default_factory=dict)
    model: Path | None = None
    now: Callable[[], datetime] = utc_now

    @property
    def file(self) -> Path:
        """This machine's part of it, whatever the store."""
        return self.folder / FILE


def checked_id(value: str) -> str:
    """The id itself. Raises IndexFailed for one that could match others."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise IndexFailed(f"not an id: {value!r}")
    return value
