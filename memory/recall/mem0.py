"""The index on Mem0's public API: `add` without its model, `search` in many scopes at once.

One scope is one `user_id`; no other filter is ever passed, and every hit's scope is looked at
again.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from threading import Lock
from typing import Any, TypeVar

from contract.errors import MootError
from memory.recall.index import (
    AGENT,
    MOST_CHANGES,
    Hit,
    Index,
    IndexEntry,
    IndexFailed,
    IndexSettings,
    checked_id,
)
from memory.recall.providers import OpenedMem0, check_settings, embedder_kind, open_mem0

T = TypeVar("T")

RANKING = 3  # raise it when what is stored changes its meaning: the terms, the hashing
BATCH = 256
READERS = 2


class Mem0Index:
    """An index. `name` tells embedder, model and store."""

    def __init__(self, settings: IndexSettings) -> None:
        """Raises ConfigError when a setting can't be right. Opens nothing yet."""
        check_settings(settings)
        self.name = _name(settings)
        self._settings = settings
        self._opening = Lock()
        self._opened: OpenedMem0 | None = None
        self._searching = ThreadPoolExecutor(READERS, "recall-search")
        self._writing = ThreadPoolExecutor(1, "recall-write")

    # ── What others call ────────────────────────────────────────────────────────────────

    async def warm(self) -> None:
        """Import Mem0, open the store and read the largest scopes, off the loop."""
        await self._in(self._searching, self._warm)

    async def add(self, entries: Sequence[IndexEntry]) -> None:
        """Take entries in, on disk when it returns; one with a known id replaces the old one."""
        for entry in entries:
            checked_id(entry.id)
            checked_id(entry.scope)
        await self._in(self._writing, lambda: self._add(entries))

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """The best hits of all these scopes together; none when nothing is relevant."""
        wanted = list(dict.fromkeys(map(checked_id, scopes)))
        if not query.strip() or limit < 1:
            return []
        return await self._in(self._searching, lambda: self._search(query, wanted, limit))

    async def remove(self, ids: Sequence[str]) -> None:
        """Forget: no byte of the text stays in any file. Unknown ids are no error."""
        wanted = [checked_id(one) for one in ids]
        await self._in(self._writing, lambda: self._open().store.forget(wanted))

    async def ids(self, scope: str | None = None) -> set[str]:
        """The ids that it holds, in one scope or in all."""
        if scope is not None:
            checked_id(scope)
        return await self._in(self._writing, lambda: self._open().store.ids(scope))

    async def clear(self) -> None:
        """Forget everything."""
        await self._in(self._writing, lambda: self._open().store.reset())

    async def close(self) -> None:
        """Finish what was begun, and let go of the files."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._close)

    # ── In threads of our own ───────────────────────────────────────────────────────────

    async def _in(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, _mapped, work)

    def _close(self) -> None:
        self._searching.shutdown()
        self._writing.shutdown()
        if self._opened is not None:
            self._opened.close()

    def _open(self) -> OpenedMem0:
        with self._opening:
            if self._opened is None:
                self._opened = open_mem0(self._settings)
            return self._opened

    def _warm(self) -> None:
        opened = self._open()
        opened.embed_soon()
        opened.store.preload()

    def _add(self, entries: Sequence[IndexEntry]) -> None:
        opened = self._open()
        for start in range(0, len(entries), BATCH):
            some = entries[start : start + BATCH]
            contents = [_content(entry) for entry in some]
            with opened.embedder.at_once(contents), opened.store.together():
                for entry, content in zip(some, contents, strict=True):
                    opened.memory.add(
                        [{"role": "user", "content": content}],
                        user_id=entry.scope,
                        agent_id=AGENT,
                        metadata=_metadata(entry),
                        infer=False,
                    )
        opened.embed_soon()

    def _search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        opened = self._open()
        with opened.embedder.asked_as(opened.store.meant(query, scopes)):
            found = opened.memory.search(
                query,
                filters={"agent_id": AGENT, "OR": [{"user_id": scope} for scope in scopes]},
                top_k=limit + MOST_CHANGES,
                threshold=0.0,
                show_expired=True,  # no entry expires
            )
        hits = [_hit(row, row["metadata"]) for row in found["results"]]
        return sorted(hits, key=lambda hit: hit.by_change)


# ── Entries as Mem0 keeps them ──────────────────────────────────────────────────────────


def _hit(row: Mapping[str, Any], found: Mapping[str, Any]) -> Hit:
    return Hit(row["id"], row["user_id"], row["score"], found["bearing"], found["by_change"])


def _content(entry: IndexEntry) -> str:
    """The text that is embedded, with its person in front when it doesn't name them."""
    return f"{_prefix(entry)}{entry.text}" or " "


def _prefix(entry: IndexEntry) -> str:
    known = not entry.person or entry.person.casefold() in entry.text.casefold()
    return "" if known else f"{entry.person}: "


def _metadata(entry: IndexEntry) -> dict[str, Any]:
    return {
        "entry": entry.id,
        "at": entry.at.isoformat(),
        "order": entry.order,
        "person": entry.person,
        "kind": entry.kind,
        "source": entry.source,
        "skip": len(_prefix(entry)),
    }


def _name(settings: IndexSettings) -> str:
    kind, model = embedder_kind(settings), settings.embedder_settings.get("model")
    if kind in ("none", "installed"):
        kind = "builtin"  # the words are the same; a vector that an entry lacks is made later
    embedder = f"{kind}:{model}" if model else kind
    return f"{embedder}-{RANKING}+{settings.store}"


def _mapped(work: Callable[[], T]) -> T:
    """Run, and raise what Mem0, a provider or SQLite raises as IndexFailed."""
    try:
        return work()
    except MootError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise IndexFailed(f"the index's file: {error}") from error
    except Exception as error:  # each provider's client has its own
        raise IndexFailed(f"the index: {type(error).__name__}") from error


@asynccontextmanager
async def open_index(settings: IndexSettings) -> AsyncIterator[Index]:
    """Open the index; returns at once, Mem0 is imported by the first call or by `warm`.

    Raises ConfigError when the settings can't be right; what only the first call can tell (a
    server that doesn't answer, a model that isn't there) that call raises.
    """
    index = Mem0Index(settings)
    try:
        yield index
    finally:
        await index.close()
