"""Scopes of the index in memory, by their lexicons: large ones alone, small ones together.

A lexicon is made at the first search, and every search begins by reading what was written since,
by whatever process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy as np

from memory.recall.index_file import IndexEnd, IndexFile
from memory.recall.inverted_index import CosineIndex, InvertedIndex

HELD = 400_000  # entries that the lexicons in memory may have together, some 0.6 GB
LARGE = 1_000  # entries of a scope that is held by itself; smaller ones of a question together
GROUPED = 1_000  # questions' scopes of which it is known how they are held
PRELOADED = 64  # scopes; a small one takes less than a search

Group = tuple[str, ...]
"""A large scope, or the small ones of a question, which are ranked in one go."""


class HeldGroup:
    """A group of scopes in memory, and up to where it has read."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.lock = threading.Lock()
        self.lexicon = InvertedIndex()
        self.likeness: CosineIndex | None = None
        self.read_to = 0
        self.gone_to = 0
        self.seen: IndexEnd | None = None

    def catch_up(self, file: IndexFile, end: IndexEnd) -> None:
        """Read what was written, removed and embedded since the last search. end: of the whole
        file, read before."""
        if end == self.seen:
            return
        if not self.read_to:
            self.gone_to = end.gone  # what is gone by now is not read at all
        for seq, number in file.gone(self.gone_to):
            self.lexicon.remove(number)
            self.gone_to = seq
        if self.lexicon.worn:
            self.lexicon, self.likeness, self.read_to = InvertedIndex(), None, 0
        for rows, blobs in file.newer(self.group, self.read_to):
            self.lexicon.extend(rows)
            self.read_to = rows[-1].number
            self._compare_by(
                (row.number, blob) for row, blob in zip(rows, blobs, strict=True) if blob
            )
        if self.seen is not None and end.embedded > self.seen.embedded:
            self._compare_by(file.embedded(self.group, self.seen.embedded))
        self.seen = end

    def _compare_by(self, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Take rows' vectors in, by the rows' numbers."""
        found = ((self.lexicon.place(number), blob) for number, blob in vectors)
        blobs = {place: blob for place, blob in found if place is not None}
        if blobs:
            flat = np.frombuffer(b"".join(blobs.values()), np.float16).reshape(len(blobs), -1)
            self.likeness = self.likeness or CosineIndex(flat.shape[1])
            self.likeness.grow(self.lexicon.size)
            self.likeness.put(list(blobs), flat)
        elif self.likeness is not None:
            self.likeness.grow(self.lexicon.size)


class HeldGroups:
    """What is in memory. Any thread may call its methods."""

    def __init__(self, file: IndexFile, most: int = HELD) -> None:
        """most: entries that are held together, unless one search needs more."""
        self._file = file
        self._most = most
        self._groups: OrderedDict[Group, HeldGroup] = OrderedDict()
        self._groups_of: OrderedDict[Group, list[Group]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, scopes: Sequence[str]) -> list[HeldGroup]:
        """The groups of a question's scopes; in the same order for everybody who locks them."""
        return sorted(self._held(self._grouped(scopes)), key=lambda held: held.group)

    def names(self) -> set[Group]:
        """The groups that are in memory."""
        return set(self._groups)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._groups.clear()
            self._groups_of.clear()

    def preload(self) -> None:
        """Read the largest scopes, so that nobody waits for them."""
        room = self._most // 2
        for scope, count in self._file.largest(PRELOADED):
            if (room := room - count) < 0:
                return
            [held] = self._held([(scope,)])
            with held.lock:
                held.catch_up(self._file, self._file.end())

    def _grouped(self, scopes: Sequence[str]) -> list[Group]:
        """The groups of a question's scopes: each large one, and all small ones together.

        It stays so while it is known, also when a small one grows: to read them anew takes longer.
        """
        view = tuple(sorted(scopes))
        with self._lock:
            if (known := self._groups_of.get(view)) is not None:
                self._groups_of.move_to_end(view)
                return known
        large = self._file.larger(view, LARGE)
        small = tuple(scope for scope in view if scope not in large)
        groups = [*((scope,) for scope in large), *([small] if small else ())]
        with self._lock:
            self._groups_of[view] = groups
            while len(self._groups_of) > GROUPED:
                self._groups_of.popitem(last=False)
        return groups

    def _held(self, groups: Sequence[Group]) -> list[HeldGroup]:
        """The groups in memory; others, those unused longest, are let go when all grow too large.

        None of these is, however large they are together: each search would read them again.
        """
        with self._lock:
            wanted = [self._groups.get(group) or HeldGroup(group) for group in groups]
            for held in wanted:
                self._groups[held.group] = held
                self._groups.move_to_end(held.group)
            total = sum(held.lexicon.size for held in self._groups.values())
            while total > self._most and len(self._groups) > len(wanted):
                _, other = self._groups.popitem(last=False)
                total -= other.lexicon.size
            return wanted
