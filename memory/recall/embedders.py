"""Embedders as Mem0 calls them: the built-in one, MiniLM, and one that remembers the question."""

from __future__ import annotations

import hashlib
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from contract.errors import ConfigError
from memory.recall.model.minilm import WEIGHTS, MiniLM
from memory.recall.words import terms

DIMENSIONS = 384
GRAM = 3  # letters; pieces of words make forms and slips of one word alike
GRAM_SHARE = 0.3
UNKNOWN = [1.0]
"""In the place of a vector: the text's meaning isn't known, or not yet."""
REMEMBERED = 8  # questions; one search of several scopes embeds once


class Embedder(Protocol):
    """Mem0's `EmbeddingBase`."""

    config: Any

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text's vector."""

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = "add"
    ) -> list[list[float]]:
        """Each text's vector."""


class NoneEmbedder:
    """For our own store, which ranks by words alone when no model makes vectors."""

    def __init__(self, config: Any) -> None:
        config.embedding_dims = 1
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Nothing said, in the shape of a vector."""
        return UNKNOWN

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = "add"
    ) -> list[list[float]]:
        """The same for each."""
        return [UNKNOWN] * len(texts)


class BuiltinEmbedder:
    """Terms and their pieces, hashed into 384 numbers. No model, and little meaning.

    In our own store the words rank by themselves; this is for the servers, which need a vector.
    """

    def __init__(self, config: Any) -> None:
        config.embedding_dims = DIMENSIONS
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """A vector of length 1; of a text without terms, nought but its first number."""
        vector = np.zeros(DIMENSIONS, np.float32)
        for term, times in Counter(terms(text)).items():
            weight = 1 + math.log(times)
            grams = [f"#{term[i : i + GRAM]}" for i in range(len(term) - GRAM + 1)]
            for feature, share in [(term, 1.0), *((gram, GRAM_SHARE) for gram in grams)]:
                place, sign = _hashed(feature)
                vector[place] += sign * weight * share
        length = float(np.linalg.norm(vector))
        if not length:
            vector[0] = length = 1.0
        made: list[float] = (vector / length).tolist()
        return made

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = "add"
    ) -> list[list[float]]:
        """Each text's vector."""
        return [self.embed(text) for text in texts]


@lru_cache(maxsize=100_000)
def _hashed(feature: str) -> tuple[int, int]:
    """A place and a sign, the same in every process."""
    digest = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
    number = int.from_bytes(digest, "little")
    return number % DIMENSIONS, 1 if number >> 63 else -1


class InstalledEmbedder:
    """MiniLM as long as it is installed in the folder that the configuration's `model` names.

    It may come and go while Moot runs. A question gets its vector at once, if there is a model; an
    entry is stored without, and given its vector afterwards: see BackgroundEmbedding.
    """

    def __init__(self, config: Any) -> None:
        config.embedding_dims = len(UNKNOWN)
        self.config = config
        self._folder = Path(config.model)
        self._seen: tuple[int, int] | None = None  # of the file that the model was loaded from
        self.model: MiniLM | None = None
        with suppress(ConfigError):  # whoever embeds the entries says so
            self.refresh()

    def refresh(self) -> MiniLM | None:
        """The model that is installed now. Raises ConfigError for one that can't be used."""
        try:
            found = (self._folder / WEIGHTS).stat()
        except OSError:
            self.model = self._seen = None
            return None
        if self._seen != (seen := (found.st_ino, found.st_mtime_ns)):
            self.model = self._seen = None
            self.model = MiniLM(self._folder)
            self._seen = seen
        return self.model

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """A question's vector."""
        if memory_action != "search" or (model := self.model) is None:
            return UNKNOWN
        made: list[float] = model.embed([text])[0].tolist()
        return made

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = "add"
    ) -> list[list[float]]:
        """None yet, for each."""
        return [UNKNOWN] * len(texts)


class MiniLMEmbedder:
    """MiniLM from the folder that the configuration's `model` names."""

    def __init__(self, config: Any) -> None:
        self._model = MiniLM(Path(config.model))
        config.embedding_dims = self._model.dimensions
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text's vector."""
        return self.embed_batch([text])[0]

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = "add"
    ) -> list[list[float]]:
        """Each text's vector."""
        made: list[list[float]] = self._model.embed(texts).tolist()
        return made


class RememberingEmbedder:
    """Another embedder that isn't asked twice for the vector of a question, and for those of many
    new texts once."""

    def __init__(self, inner: Embedder) -> None:
        self.config = inner.config
        self._inner = inner
        self._known: OrderedDict[str, list[float]] = OrderedDict()
        self._new: dict[str, list[float]] = {}
        self._question = threading.local()

    @contextmanager
    def asked_as(self, text: str) -> Iterator[None]:
        """Whatever question this thread embeds meanwhile, take the meaning of this text."""
        self._question.text = text
        try:
            yield
        finally:
            del self._question.text

    @contextmanager
    def at_once(self, texts: Sequence[str]) -> Iterator[None]:
        """Make the vectors of texts that are about to be added, one by one and by one thread."""
        self._new = dict(zip(texts, self._inner.embed_batch(texts, "add"), strict=True))
        try:
            yield
        finally:
            self._new = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text's vector."""
        if memory_action != "search":
            return self._new.get(text) or self._inner.embed(text, memory_action)
        text = getattr(self._question, "text", text)
        vector = self._known.get(text)
        if vector is None:
            vector = self._inner.embed(text, memory_action)
            if vector != UNKNOWN:
                self._known[text] = vector
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return vector

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = "add"
    ) -> list[list[float]]:
        """Each text's vector."""
        return self._inner.embed_batch(texts, memory_action)
