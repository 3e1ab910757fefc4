"""The part of a conversation, and of what is known, that a living session was given already."""

from __future__ import annotations

from collections.abc import Collection

from contract.values import dataclass

LAST = 2**62  # after every message

Range = tuple[int, int]  # the seqs of its first and its last message


@dataclass(frozen=True, slots=True)
class GivenText:
    """All that an agent still holds of what its prompts brought it.

    lines: ranges of seqs, rising and apart, within which it was given every message of its scope.
    facts: ids of those that were recalled.
    """

    lines: tuple[Range, ...] = ()
    facts: frozenset[str] = frozenset()

    def __or__(self, other: GivenText) -> GivenText:
        return GivenText(_joined((*self.lines, *other.lines)), self.facts | other.facts)

    def holds_lines(self, first: int, last: int) -> bool:
        """True if every message from one seq to another was given."""
        return any(start <= first and last <= end for start, end in self.lines)


NOTHING = GivenText()


def ranges(first: int, last: int, without: Collection[int] = ()) -> tuple[Range, ...]:
    """The ranges from one seq to another that are left without some."""
    found: list[Range] = []
    for seq in sorted(seq for seq in without if first <= seq <= last):
        if first < seq:
            found.append((first, seq - 1))
        first = seq + 1
    return (*found, (first, last)) if first <= last else tuple(found)


def _joined(given: Collection[Range]) -> tuple[Range, ...]:
    found: list[Range] = []
    for first, last in sorted(given):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)
