"""The look of a text to whoever reads it, whatever characters it is written in.

The table beside this file has each character that may be taken for ASCII (see
tests/composer/looks_table.py); looks.LICENSE is the licence of Unicode's data in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from unicodedata import normalize

import regex


def _read_table() -> dict[str, str]:
    """Each look, and the characters that have it."""
    rows = {}
    text = Path(__file__).with_name("looks.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        look, _, numbers = line.partition(" ")
        if look != "#":
            ends = ([int(end, 16) for end in part.split("-")] for part in numbers.split())
            rows[look] = "".join(
                chr(code) for a, *b in ends for code in range(a, (b or [a])[0] + 1)
            )
    return rows


_TABLE = _read_table()
_LOOKS = str.maketrans({sign: look for look, signs in _TABLE.items() for sign in signs})
_LOOKS |= {  # Georgian capitals, which have the form of their small letters
    code: _LOOKS[ord(chr(code).lower())]
    for code in range(0x1C90, 0x1CC0)
    if ord(chr(code).lower()) in _LOOKS
}
_LOOKS[0x2800] = " "  # a Braille pattern without dots
_LOOKS[0x345] = ""  # a mark that would be a letter in the other case
_MARKS = regex.compile(r"[\p{M}\p{Cf}]+")
_HEAPED = regex.compile(r"([\p{M}\uff9e\uff9f]{30})(?=[\p{M}\uff9e\uff9f])")
_ONE = str.maketrans("i1|0", "lllo")

OPENING, CLOSING, BARS = _TABLE["["], _TABLE["]"], _TABLE["|"]
"""Brackets and bars as they stand in a text, their look-alikes among them."""

SIGNS = "".join(signs for look, signs in _TABLE.items() if not any(map(str.isalnum, look)))
"""All that looks like a sign of ASCII, some letters among them."""


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The text in one of Unicode's normal forms, first made stream-safe (UAX 15): marks heaped upon
    a letter are sorted, which takes the square of their number."""
    if text.isascii():
        return text
    return normalize(form, _HEAPED.sub("\\1\u034f", text))


def look(text: str) -> str:
    """Compatible forms, case and look-alikes are one: letters, digits and signs are ASCII's.

    Accents stay, as marks behind their letters.
    """
    if text.isascii():
        return text.casefold()
    return normalized("NFKD", text.translate(_LOOKS)).translate(_LOOKS).casefold()


def without_marks(looked: str) -> str:
    """The same without accents and other marks, and in one line."""
    if not looked.isascii():
        looked = _MARKS.sub("", looked)
    return " ".join(looked.split())


def one_look(looked: str) -> str:
    """The same where signs of ASCII that look alike are one, too: `l` and `1`, `m` and `rn`."""
    return looked.translate(_ONE).replace("rn", "m").replace("vv", "w")


def skeleton(text: str) -> str:
    """The same for texts that a reader could confuse; white space is one blank."""
    return " ".join(one_look(look(text)).split())
