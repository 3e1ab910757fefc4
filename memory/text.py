"""Texts made short for a model or a row. Pure; the composer has cuts of its own."""

from __future__ import annotations

import re

import regex

from contract.looks import normalized

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def one_line(text: str, most: int) -> str:
    """White space collapsed, `most` characters at most; any database can hold it."""
    begun = whole(text[: most * 8])  # enough of it, however much white space there is
    line = " ".join(_CONTROL.sub(" ", begun).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def ends(text: str, most: int) -> str:
    """Two thirds from its beginning and a third from its end; a mark is added where it was cut."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} […] {text[head - most :]}"


def whole(text: str) -> str:
    """The text with `?` for halves of surrogate pairs, which UTF-8 can't hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


OPENING_WORDS = 3
OPENING_BONUS = 0.2

# UAX 29 word borders: "what's", "3.14" and "user_id" are one word each, and a script that puts no
# blanks between words still gives some.
_WORD = regex.compile(r"\b\w.*?\b", regex.V1 | regex.WORD | regex.DOTALL)
_APOSTROPHES = str.maketrans("’ʼ＇", "'''")


def words(text: str) -> list[str]:
    """The lower-cased words of a text in their order; signs and emoji are none."""
    lowered = normalized("NFC", text).translate(_APOSTROPHES).lower()
    return _WORD.findall(lowered)


def relevance(message: str, note: str, question: str = "") -> float:
    """The share of the message's words that the note or its question has, from 0 to 1.2.

    question: the message that the note was learned from. One of the message's first three words
    in the note itself adds 0.2: half of all questions open with the same words, so the question
    doesn't count for that. A message without words scores 0.
    """
    asked = words(message)
    if not asked:
        return 0.0
    noted = set(words(note))
    known = noted.union(words(question))
    score = len(known.intersection(asked)) / len(set(asked))
    return score + (OPENING_BONUS if noted.intersection(asked[:OPENING_WORDS]) else 0.0)
