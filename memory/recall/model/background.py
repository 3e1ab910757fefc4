"""Gives the index's entries their vectors, in the background, once a model is installed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import structlog

from memory.recall.embedders import InstalledEmbedder
from memory.recall.index_file import IndexFile

log = structlog.stdlib.get_logger("moot.memory")

AT_ONCE = 32  # entries; some 0.2 s of one core, and then they are found by their meaning


class BackgroundEmbedding:
    """A thread that embeds what has no vector yet, the newest first, and then waits.

    An entry is found by its words meanwhile. What is left when Moot stops is done by the next.
    """

    def __init__(self, file: IndexFile, embedder: InstalledEmbedder) -> None:
        """file: closed by its owner, after this."""
        self._file, self._embedder = file, embedder
        self._thread = ThreadPoolExecutor(1, "recall-embed")
        self._closing = Event()

    def soon(self) -> None:
        """Look for a model and for entries without a vector. Returns at once."""
        if not self._closing.is_set():
            self._thread.submit(self._run)

    def close(self) -> None:
        """Stop after the entries at hand."""
        self._closing.set()
        self._thread.shutdown(cancel_futures=True)

    def _run(self) -> None:
        try:
            while not self._closing.is_set() and self._some():
                pass
        except Exception as error:  # a thread's border: the next entry begins it again
            log.warning("memory.not_embedded", error=type(error).__name__)
            log.debug("memory.not_embedded", exc_info=True)

    def _some(self) -> bool:
        """Embed some; False: there is nothing to do, or nothing to do it with."""
        model = self._embedder.refresh()
        if model is None or not (waiting := self._file.unembedded(AT_ONCE)):
            return False
        vectors = model.embed([text for _, text in waiting]).astype(np.float16)
        numbers = (number for number, _ in waiting)
        self._file.embed(dict(zip(numbers, map(np.ndarray.tobytes, vectors), strict=True)))
        return True
