"""MiniLM's tokenizer, and what it says when the model isn't there. The weights are 90 MB."""

import math
from pathlib import Path

import numpy as np
import pytest

from contract.errors import ConfigError
from memory.recall.model.minilm import MiniLM, WordPiece, gelu

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "token",
    "##s",
    "##ize",
    "the",
    "'",
    "cafe",
    "東",
    "-",
]


@pytest.fixture
def pieces(tmp_path: Path) -> WordPiece:
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    return WordPiece(tmp_path / "vocab.txt")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tokens", ["the", "token", "##s"]),
        ("tokenize's", ["token", "##ize", "'", "[UNK]"]),
        ("Café", ["cafe"]),
        ("token東東-", ["token", "東", "東", "-"]),
        ("\x00\u200btoken\ufffd", ["token"]),
        ("tokenx the", ["[UNK]", "the"]),
        ("t" * 200, ["[UNK]"]),
        ("", []),
    ],
)
def test_words_are_cut_into_the_longest_known_pieces(
    pieces: WordPiece, text: str, expected: list[str]
) -> None:
    ids = pieces.encode(text, 256)
    assert [PIECES[number] for number in ids] == ["[CLS]", *expected, "[SEP]"]


def test_a_long_text_is_cut_at_the_limit(pieces: WordPiece) -> None:
    ids = pieces.encode("tokens " * 1000, 16)
    assert len(ids) == 16
    assert ids[-1] == PIECES.index("[SEP]")


def test_the_activation_is_the_error_functions() -> None:
    x = np.linspace(-6, 6, 500, dtype=np.float32)
    exact = [value / 2 * (1 + math.erf(value / math.sqrt(2))) for value in x.tolist()]
    assert np.abs(gelu(x) - np.array(exact)).max() < 1e-6


def test_a_folder_without_the_model_is_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[memory\] model: no model\.safetensors"):
        MiniLM(tmp_path)


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    (tmp_path / "deep" / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(ConfigError, match="checksum"):
        MiniLM(tmp_path)
