"""The number of programs that may live at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

GIB = 1024**3
LEAST, MOST = 2, 64
SHARE = 0.8  # of the machine's memory, for all programs; the rest is Moot's and the machine's
FALL = 0.002  # of the way to a lower mean, at each look: half of it in six minutes or more
UNKNOWN_BYTES = int(GIB * SHARE)  # a little more than the heaviest that was measured: opencode


class Capacity(Protocol):
    """Tells how many programs may live at a time. Programs are counted by their names."""

    def fits(self, programs: Counter[str]) -> bool:
        """Whether these may live at the same time."""

    def exceeded(self, programs: Counter[str]) -> bool:
        """Whether these have come to be too many."""

    def most(self, programs: Counter[str]) -> int:
        """The number that may live at a time, where these live already."""

    def knows(self, program: str) -> bool:
        """Whether it needs not be told what one of this name takes."""

    def measured(self, taken: Mapping[str, Sequence[int]]) -> None:
        """Learn what each living program of a name that ended a turn took of memory at its height,
        in bytes."""


class FixedCapacity:
    """So many, whatever they are."""

    def __init__(self, most: int) -> None:
        self.number = most

    def fits(self, programs: Counter[str]) -> bool:
        """Whether these are no more than that."""
        return programs.total() <= self.number

    def exceeded(self, programs: Counter[str]) -> bool:
        """Never: where there are fewer places than before, those that live stay."""
        return False

    def most(self, programs: Counter[str]) -> int:
        """Always the same."""
        return self.number

    def knows(self, program: str) -> bool:
        """Always: they are only counted."""
        return True

    def measured(self, taken: Mapping[str, Sequence[int]]) -> None:
        """They may take what they like."""


class MemoryCapacity:
    """As many as the machine's memory holds, from 2 to 64.

    A program counts with the mean of what those of its name took, and with a GiB until one of them
    has ended a turn: those that start take little yet.
    """

    def __init__(self, machine_bytes: int) -> None:
        self._bytes = int(machine_bytes * SHARE)
        self._each: dict[str, float] = {}  # what one of a name counts with
        self._now: dict[str, float] = {}  # the mean of those that live

    def knows(self, program: str) -> bool:
        """Whether one of this name was measured."""
        return program in self._each

    def measured(self, taken: Mapping[str, Sequence[int]]) -> None:
        """Count each of a name with their mean from now on; with a lower one by and by."""
        self._now = {name: sum(each) / len(each) for name, each in taken.items()}
        for name, mean in self._now.items():
            before = self._each.get(name, mean)
            self._each[name] = max(mean, before + (mean - before) * FALL)

    def fits(self, programs: Counter[str]) -> bool:
        """Whether memory holds these, as far as it is known."""
        number = programs.total()
        return number <= LEAST or (number <= MOST and self._left(programs) >= 0)

    def exceeded(self, programs: Counter[str]) -> bool:
        """Whether they have grown beyond what memory holds."""
        take = sum(self._now.get(name, 0.0) * number for name, number in programs.items())
        return programs.total() > LEAST and take > self._bytes

    def most(self, programs: Counter[str]) -> int:
        """These, and as many more as the heaviest of them as there is memory for."""
        heaviest = max((self._of(name) for name in programs if programs[name]), default=None)
        more = self._left(programs) // max(heaviest or UNKNOWN_BYTES, 1)
        return min(max(programs.total() + max(int(more), 0), LEAST), MOST)

    def _of(self, name: str) -> float:
        return self._each.get(name, UNKNOWN_BYTES)

    def _left(self, programs: Counter[str]) -> float:
        return self._bytes - sum(self._of(name) * number for name, number in programs.items())
