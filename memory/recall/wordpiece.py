"""BERT's tokenizer: lower-cased words, then the longest pieces that the vocabulary knows.

Follows the uncased English BERT (github.com/google-research/bert, tokenization.py, read 2026-11).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

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
    for char in unicodedata.normalize("NFD", text.lower()):
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
