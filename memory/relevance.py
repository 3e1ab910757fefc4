"""How much a note bears on a message: shared words, nothing else. Pure."""

from __future__ import annotations

from unicodedata import normalize

import regex

OPENING_WORDS = 3
OPENING_BONUS = 0.2

# UAX 29 word borders: "what's", "3.14" and "user_id" are one word each, and a script that puts no
# blanks between words still gives some.
_WORD = regex.compile(r"\b\w.*?\b", regex.V1 | regex.WORD | regex.DOTALL)
_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
_ADDRESS = regex.compile(r"\A(?:\s*+(?:<@[\w|]++>|@[\w.-]++)[,:]?)++\s*+")


def words(text: str) -> list[str]:
    """The lower-cased words of a text in their order; signs and emoji are none."""
    lowered = normalize("NFC", text).translate(_APOSTROPHES).lower()
    return _WORD.findall(lowered)


def unaddressed(text: str) -> str:
    """A message without the mentions it begins with: they say who is asked, not what."""
    return _ADDRESS.sub("", text, count=1)


def relevance(message: str, note: str, question: str = "") -> float:
    """From 0 to 1.2: the share of the message's words that the note or its question has.

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
