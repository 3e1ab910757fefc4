"""The keys that rows name for the answers of a question, e.g. `(y) yes  (n) no`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adapters.reading.question import MEANING, REFUSAL
from contract.agent import Option

_WORD = r"\w+(?:['’ -]\w+)*"
_SLASHED = re.compile(r"[\[(<]((?:\w/)+\w)[\])>]")
_BRACKETED = re.compile(rf"[(\[<](\w)[)\]>]([ :=]{{0,3}}{_WORD}|)")
_NUMBERED = re.compile(rf"(?:^|\s\s|[|│┃❯›>●▶])\s*(\d)[.)]\s+({_WORD})")
_EQUAL = re.compile(rf"(?:^|[\s,;|])['\"`]?(\w)['\"`]?\s?[=:)]\s?({_WORD})")
_TO = re.compile(r"(?:^|[\s,;|])['\"`]?(\w)['\"`]? to (\w+)")
_SPACED = re.compile(rf"(?:^|\s\s|[|│┃·,])\s*(\w) ({_WORD})(?=$|\s\s|\s*[|│┃·,])")


def keys_on(rows: Sequence[str]) -> list[tuple[Option, bytes]]:
    """The choices that the rows name and the key of each; none where they name none."""
    for read in (_bracketed, _slashed, _numbered, _named):
        found = read(rows)
        if 2 <= len(found) == len({key.lower() for key, _ in found}):
            return [
                (Option(label, bool(REFUSAL.match(label))), key.lower().encode())
                for key, label in found
            ]
    return []


def _bracketed(rows: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for key, rest in (match.groups() for row in rows for match in _BRACKETED.finditer(row)):
        label = f"{key}{rest}" if rest[:1].isalnum() else rest.lstrip(" :=")
        found.append((key, label or MEANING.get(key.lower(), key)))
    return found


def _slashed(rows: Sequence[str]) -> list[tuple[str, str]]:
    match = next((match for row in rows if (match := _SLASHED.search(row))), None)
    each = match[1].split("/") if match else []
    return [(letter, MEANING.get(letter.lower(), letter)) for letter in each]


def _numbered(rows: Sequence[str]) -> list[tuple[str, str]]:
    found = [(match[1], match[2]) for row in rows for match in _NUMBERED.finditer(row)]
    return found if [key for key, _ in found] == [str(n + 1) for n in range(len(found))] else []


def _named(rows: Sequence[str]) -> list[tuple[str, str]]:
    for pattern in (_EQUAL, _TO, _SPACED):
        found = [(match[1], match[2]) for row in rows for match in pattern.finditer(row)]
        if any(REFUSAL.match(label) for _, label in found):
            return found
    return []
