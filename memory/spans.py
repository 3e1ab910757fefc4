"""Finds many texts within one, in one pass over it (the automaton of Aho and Corasick)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_SIGN = re.compile(r"\s+|\S")
_ALIKE = {"İ": "i", "ı": "i", "\ufb05": "\ufb06", "\u1fd3": "\u0390", "\u1fe3": "\u03b0"}


class Spans:
    """Texts that are looked for, whatever their case and the blanks between their words."""

    def __init__(self, spans: Iterable[str]) -> None:
        self._next: list[dict[str, int]] = [{}]  # the states by the sign that leads to them
        self._back = [0]  # the state of the longest end of what was read that begins a span, too
        self._size = [0]  # of the longest span that ends here, in signs
        for span in spans:
            self._add([_folded(sign) for sign in _SIGN.findall(span.strip())])
        self._link()

    def _add(self, signs: list[str]) -> None:
        at = 0
        for sign in signs:
            at = self._next[at].setdefault(sign, len(self._next))
            if at == len(self._next):
                self._next.append({})
                self._back.append(0)
                self._size.append(0)
        self._size[at] = len(signs)

    def _link(self) -> None:
        reached = list(self._next[0].values())
        for state in reached:  # the shorter ones first
            for sign, longer in self._next[state].items():
                back = self._step(self._back[state], sign)
                self._back[longer] = back
                self._size[longer] = self._size[longer] or self._size[back]
                reached.append(longer)

    def _step(self, at: int, sign: str) -> int:
        while at and sign not in self._next[at]:
            at = self._back[at]
        return self._next[at].get(sign, 0)

    def within(self, text: str) -> Sequence[tuple[int, int]]:
        """Where the text has them, in its order; those that overlap are one."""
        signs = [(match.start(), _folded(match[0])) for match in _SIGN.finditer(text)]
        ends = [start for start, _ in signs[1:]] + [len(text)]
        at, found = 0, list[tuple[int, int]]()
        for i, (_, sign) in enumerate(signs):
            at = self._step(at, sign)
            if not self._size[at]:
                continue
            start = signs[i + 1 - self._size[at]][0]
            while found and start < found[-1][1]:
                start = min(start, found.pop()[0])
            found.append((start, ends[i]))
        return found


@lru_cache(maxsize=10_000)
def _folded(sign: str) -> str:
    """A sign, or some blanks, as it is compared."""
    if sign.isspace():
        return " "
    folded = _ALIKE.get(sign) or sign.casefold()
    return folded if len(folded) == 1 else sign.lower()
