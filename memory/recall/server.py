"""Vectors on a server, in a vector store of Mem0's: searched under a deadline, written behind.

What the server is to hold waits in the index's own file until the server has it, so nobody waits
for a server that is away, and it is told everything when it is back. Its rows are written and
deleted one id at a time, and the ids are made of ours: a row that isn't ours is never touched.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Protocol

import structlog

from contract.errors import ConfigError
from memory.recall.index_file import IndexFile
from memory.server_calls import CircuitBreaker, ServerCalls

log = structlog.stdlib.get_logger("moot.memory")

SEARCH_S = 0.15  # a turn waits for it; with the ranking that stays below 0.2
WRITE_S = 2.0
HITS = 200  # more make a server slow, and the words find what lies behind
BATCH = 256
LOOKED_AT = 1_000  # rows of a collection, to see whose it is
_POINTS = uuid.UUID("6f2dd7a5-6a0c-5b0e-9d5b-0f6f3f1d7c11")  # names an entry's vector on a server


class Remote(Protocol):
    """The methods that are used of a vector store of Mem0's."""

    def insert(self, vectors: Any, payloads: Any = None, ids: Any = None) -> Any:
        """Put vectors in."""

    def search(self, query: str, vectors: Any, top_k: int = 5, filters: Any = None) -> Any:
        """The nearest, with `score` and `payload`."""

    def delete(self, vector_id: str) -> Any:
        """Take one out."""

    def list(self, filters: Any = None, top_k: int = 100) -> Any:
        """Some rows, with `id` and `payload`, in a sequence or as the first part of one."""


class VectorServer:
    """The server's collection. Any thread may call its methods."""

    def __init__(
        self,
        connect: Callable[[], Remote],
        file: IndexFile,
        collection: str = "moot",
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """connect: opens the store; called at first use, and again until it succeeds."""
        self._connect = connect
        self._file = file
        self._collection = collection
        self._breaker = breaker or CircuitBreaker()
        self._opening = threading.Lock()
        self._store: Remote | None = None
        self._calls = ServerCalls("recall-server")
        self._sending = threading.Lock()
        self._steps = 0  # how far the sending has come, for those who wait while it advances
        self._behind = True  # what is not known to be sent may wait

    def open(self) -> None:
        """Connect, if the server answers. Raises ConfigError when it can't be used as it is set."""
        try:
            self._calls.within(WRITE_S, self._opened)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - any client's own
            self._report(error)

    def near(
        self, query: str, vector: Sequence[float], scopes: Sequence[str]
    ) -> dict[str, dict[str, float]]:
        """The nearest of all these scopes together, by scope and entry, with their cosines.

        Nothing of a server that fails or is late.
        """
        if not scopes or not self._breaker.admits():
            return {}
        wanted = scopes[0] if len(scopes) == 1 else list(scopes)

        def ask() -> Any:
            return self._opened().search(
                query=query, vectors=list(vector), top_k=HITS, filters={"user_id": wanted}
            )

        try:
            hits = self._calls.within(SEARCH_S, ask)
        except Exception as error:  # noqa: BLE001 - a memory layer's border, any client's own
            self._report(error)
            return {}
        self._breaker.succeeded()
        if self._behind and not self._sending.locked():
            with suppress(TimeoutError):
                self._calls.start(self._send)
        found: dict[str, dict[str, float]] = {scope: {} for scope in scopes}
        for hit in hits:
            if hit.payload and (scope := hit.payload.get("user_id")) in found:
                found[scope][str(hit.payload.get("entry"))] = float(hit.score)
        return found

    def send(self, patiently: bool = False) -> None:
        """Send what waits. Returns when it is there, or the server is away or takes too long.

        patiently: waits for as long as the sending advances.
        """
        self._behind = True
        if not self._breaker.admits():
            return
        try:
            sending, steps = self._calls.start(self._send), -1
            while patiently and not sending.done() and steps != self._steps:
                steps = self._steps
                _settled(sending, WRITE_S)
            sending.result(0 if patiently else WRITE_S)
        except Exception as error:  # noqa: BLE001 - it waits in the file for the next time
            self._report(error)

    def _send(self) -> None:
        with self._sending:
            store = self._opened()
            while waiting := self._file.unsent(BATCH):
                for row in waiting:  # PostgreSQL refuses a second row with the same id
                    store.delete(point_id(row.entry))
                    self._steps += 1
                if kept := [row for row in waiting if row.vector is not None]:
                    store.insert(
                        vectors=[row.vector for row in kept],
                        payloads=[{"user_id": row.scope, "entry": row.entry} for row in kept],
                        ids=[point_id(row.entry) for row in kept],
                    )
                self._file.sent([row.seq for row in waiting])
                self._steps += 1
                self._breaker.succeeded()
            self._behind = False

    def _opened(self) -> Remote:
        """The store, once it is known to hold nothing but ours. Raises ConfigError."""
        with self._opening:
            if self._store is None:
                store = self._connect()
                if any(not _is_ours(row) for row in _rows(store.list(top_k=LOOKED_AT))):
                    raise ConfigError(
                        f"[memory.store_settings] collection_name: {self._collection!r} holds "
                        "memories that are not Moot's; nothing was changed there, "
                        "name a collection that Moot may have to itself"
                    )
                if index_scopes := getattr(store, "index_scopes", None):  # a PostgreSQL's
                    index_scopes()
                self._store = store
            return self._store

    def _report(self, error: Exception) -> None:
        self._breaker.failed()
        reason = error.say if isinstance(error, ConfigError) else type(error).__name__
        log.warning("index.server_failed", reason=reason)


def point_id(entry: str) -> str:
    """The id of an entry's row on a server."""
    return str(uuid.uuid5(_POINTS, entry))


def _is_ours(row: Any) -> bool:
    payload: Mapping[str, Any] = row.payload or {}
    entry = payload.get("entry")
    return isinstance(entry, str) and str(row.id) == point_id(entry)


def _rows(listed: Any) -> Sequence[Any]:
    """The rows in what a store's `list` returns: [rows], (rows, next page), or rows."""
    first = next(iter(listed), ())
    return first if isinstance(first, list | tuple) else listed


def _settled(future: Future[Any], seconds: float) -> None:
    """Wait for it to end, whichever way, for no longer than this."""
    with suppress(TimeoutError):
        future.exception(seconds)
