"""all-MiniLM-L6-v2 and its tokenizer: a text in, 384 numbers out; nothing is downloaded.

The model (Wang and others, 2020; sentence-transformers/all-MiniLM-L6-v2, Apache-2.0) is a BERT of
six layers; the mean of its last states is the vector.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from contract.errors import ConfigError
from contract.looks import normalized
from memory.recall.model.weights import Array, in_full, is_in_eight_bits, read, sha256_of

WEIGHTS = "model.safetensors"
VOCABULARY = "vocab.txt"
# Of the weights that sentence-transformers publishes: another file is another model.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HEADS = 12
EPSILON = 1e-12
PIECES = 256  # the model was trained on texts of at most so many word pieces
COLUMNS = 4  # a text is padded to a multiple: BLAS takes so many pieces at a time
BATCH = 32  # texts at a time: the states of 32 long texts are some 40 MB

_WORDS = "embeddings.word_embeddings.weight"
_POSITIONS = "embeddings.position_embeddings.weight"

# erf by Abramowitz and Stegun 7.1.26: off by 1.5e-7 at the most, and numpy has none of its own.
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_P = 0.3275911


class MiniLM:
    """The model, ready to embed.

    dimensions: of a vector, 384. The weights are 90 MB on disk as they are published and 23 in
    eight bits; some 45 of them are held in memory.
    """

    def __init__(self, folder: Path) -> None:
        """Load from the folder with `model.safetensors` and `vocab.txt`, or one below it.

        Raises ConfigError when they aren't there, or aren't the model's.
        """
        place = find_model(folder)
        try:
            arrays = read(place / WEIGHTS)
            published = not is_in_eight_bits(arrays)  # what is in eight bits Moot has written
            if published and sha256_of(place / WEIGHTS) != SHA256:
                raise _not_the_model(place / WEIGHTS, "its checksum differs")
            self._weights = in_full(arrays, _WORDS)
            self._pieces = WordPiece(place / VOCABULARY)
            self.dimensions: int = self._weights[_POSITIONS].shape[1]
        except (OSError, ValueError, KeyError) as error:
            raise _not_the_model(place / WEIGHTS, "it can't be read") from error
        self._layers = sum(name.endswith("self.query.weight") for name in self._weights)

    def embed(self, texts: Sequence[str]) -> Array:
        """One vector of length 1 for each text, in their order."""
        ids = [self._pieces.encode(text, PIECES) for text in texts]
        out = np.empty((len(ids), self.dimensions), np.float32)
        by_length = sorted(range(len(ids)), key=lambda i: len(ids[i]))  # little to pad
        for start in range(0, len(by_length), BATCH):
            batch = by_length[start : start + BATCH]
            out[batch] = self._forward([ids[i] for i in batch])
        return out

    def _forward(self, batch: Sequence[Sequence[int]]) -> Array:
        longest = -(-max(map(len, batch)) // COLUMNS) * COLUMNS
        ids = np.zeros((len(batch), longest), np.int64)
        mask = np.zeros((len(batch), longest), np.float32)
        for row, pieces in enumerate(batch):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        w = self._weights
        states = w[_WORDS][ids]
        states = states + w[_POSITIONS][:longest]
        states = states + w["embeddings.token_type_embeddings.weight"][0]
        states = self._norm("embeddings.LayerNorm", states)
        hidden = ((1 - mask) * np.float32(-1e9))[:, None, None, :]
        for layer in range(self._layers):
            states = self._layer(f"encoder.layer.{layer}", states, hidden)
        total = (states * mask[:, :, None]).sum(axis=1)
        mean = total / mask.sum(axis=1, keepdims=True)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), np.float32)

    def _layer(self, name: str, states: Array, hidden: Array) -> Array:
        count, length, _ = states.shape

        def heads(part: str) -> Array:
            made = self._linear(f"{name}.attention.self.{part}", states)
            return made.reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scale = np.float32(1 / math.sqrt(self.dimensions // HEADS))
        logits = query @ key.transpose(0, 1, 3, 2) * scale + hidden
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        seen = (weights @ value).transpose(0, 2, 1, 3).reshape(count, length, self.dimensions)
        seen = self._linear(f"{name}.attention.output.dense", seen)
        states = self._norm(f"{name}.attention.output.LayerNorm", states + seen)
        inner = gelu(self._linear(f"{name}.intermediate.dense", states))
        inner = self._linear(f"{name}.output.dense", inner)
        return self._norm(f"{name}.output.LayerNorm", states + inner)

    def _linear(self, name: str, states: Array) -> Array:
        weight = self._weights[f"{name}.weight"]
        # one product for the whole batch; in this order it takes a third less for a sentence
        flat = (weight @ states.reshape(-1, weight.shape[1]).T).T
        flat += self._weights[f"{name}.bias"]
        made: Array = flat.reshape(*states.shape[:-1], -1)
        return made

    def _norm(self, name: str, states: Array) -> Array:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        made: Array = centred / spread * weight + bias
        return made


def gelu(x: Array) -> Array:
    """The layers' activation, exact to 1e-6."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(_ERF_P) * z)
    series = np.zeros_like(t)
    for factor in reversed(_ERF):
        series = (series + np.float32(factor)) * t
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    made: Array = np.float32(0.5) * x * (1 + erf)
    return made


def find_model(folder: Path) -> Path:
    """The folder of the weights: the folder itself, or a place below it. Raises ConfigError."""
    found = sorted(folder.rglob(WEIGHTS)) if folder.is_dir() else []
    for path in found:
        if (path.parent / VOCABULARY).is_file():
            return path.parent
    raise ConfigError(
        f"[memory] model: no {WEIGHTS} with {VOCABULARY} in {str(folder)!r}; "
        "install it: moot memory embedder install"
    )


def _not_the_model(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"[memory] model: {str(path)!r} is not all-MiniLM-L6-v2 ({why}); "
        "install it again: moot memory embedder install"
    )


LONGEST_WORD = 100  # characters; BERT takes a longer word for unknown

# What BERT parts into single characters, as (first, last) code points.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A vocabulary, one piece a line; a piece's id is its line's number from 0."""

    def __init__(self, vocabulary: Path) -> None:
        lines = vocabulary.read_text(encoding="utf-8").splitlines()
        self._ids = {piece: number for number, piece in enumerate(lines)}
        self._unknown = self._ids["[UNK]"]
        self._first, self._last = self._ids["[CLS]"], self._ids["[SEP]"]
        self._pieces = lru_cache(maxsize=20_000)(self._split)

    def encode(self, text: str, limit: int) -> list[int]:
        """Ids of the text's pieces between [CLS] and [SEP]; at most `limit` with both."""
        ids = [self._first]
        for word in _words(text):
            ids.extend(self._pieces(word))
            if len(ids) >= limit:
                break
        return [*ids[: limit - 1], self._last]

    def _split(self, word: str) -> tuple[int, ...]:
        """The longest known piece first; a word with an unknown rest is unknown as a whole."""
        if len(word) > LONGEST_WORD:
            return (self._unknown,)
        found = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else f"##{word[start:end]}"
                if piece in self._ids:
                    found.append(self._ids[piece])
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(found)


def _words(text: str) -> Iterator[str]:
    """Words and single punctuation marks, lower-cased and without accents."""
    word: list[str] = []
    for char in normalized("NFD", text.lower()):
        kind = unicodedata.category(char)
        if kind == "Mn" or char in "\x00\ufffd" or (kind[0] == "C" and char not in "\t\n\r"):
            continue
        if char.isspace():
            alone = False
        elif _is_mark(char, kind) or _is_ideograph(char):
            alone = True
        else:
            word.append(char)
            continue
        if word:
            yield "".join(word)
            word.clear()
        if alone:
            yield char
    if word:
        yield "".join(word)


def _is_mark(char: str, kind: str) -> bool:
    return kind[0] == "P" or (char.isascii() and not char.isalnum())


def _is_ideograph(char: str) -> bool:
    code = ord(char)
    return any(first <= code <= last for first, last in _IDEOGRAPHS)
