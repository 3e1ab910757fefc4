"""The choice of what is shown of all that was found: a line bears on the question by itself."""

from __future__ import annotations

from collections.abc import Sequence

from contract.values import dataclass
from memory.recall.facts import StoredFact

LEAST = 0.28  # of what a question is about: less is a word or two in common
LEAST_FOR_A_BID = 0.6  # who asks nothing wants only what is plainly about the matter
GAP = 0.75  # of the best one's: what has less, of bearing and of strength, is about something else


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact with its score, which orders, and its bearing on the question; see `Hit`."""

    fact: StoredFact
    score: float
    bearing: float
    by_change: bool = False


def chosen(found: Sequence[FoundFact], asks: bool) -> list[FoundFact]:
    """Those that are worth a line, in their order; none is an answer, too."""
    least = LEAST if asks else LEAST_FOR_A_BID
    bears = [one for one in found if one.bearing >= least and not one.by_change]
    most = max((one.bearing for one in bears), default=0.0)
    strongest = max(map(_strength, bears), default=0.0)
    return [one for one in bears if one.bearing >= GAP * most or _strength(one) >= GAP * strongest]


def _strength(found: FoundFact) -> float:
    """What the score was made of: it grows without an end, so that gaps can be seen."""
    return found.score / max(1 - found.score, 1e-6)
