"""The budget: a header's parts, which of their units may go, in which order, and the record."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import field

from composer import headings
from composer.cuts import cut_end
from contract.briefing import Budget, Trim
from contract.values import dataclass

CHARS_PER_TOKEN = 4
CONTEXT_PERCENT = 70

_TRIMMED = {
    headings.OBSERVATIONS: "last",
    headings.RECALL: "lowest-scored",
    headings.RECOMMENDATIONS: "lowest-scored",
    headings.PINS: "lowest-scored",
    headings.THREAD: "oldest",
    headings.TRANSCRIPT: "oldest",
    headings.SUMMARY: "tail",
    headings.LANDMARKS: "oldest",
}
"""The sections that are trimmed over the total, in this order, and which units go first."""


@dataclass(slots=True)
class Record:
    """Collects what was trimmed, in the order in which it happened."""

    trims: list[Trim] = field(default_factory=list)

    def note(self, section: str, what: str, chars: int) -> None:
        """Add it, unless nothing was taken away."""
        if chars > 0:
            self.trims.append(Trim(section, what, chars))


@dataclass(slots=True)
class Part:
    """A section in the making. Without units it vanishes, unless it has a text for that.

    spare: indices of the units that may go, the first to go first.
    """

    name: str
    source: str
    heading: str
    units: Sequence[str]
    spare: Iterable[int] = ()
    when_empty: str = ""
    text: str = field(init=False)
    """The section with its heading, or nothing."""
    gone: set[int] = field(default_factory=set)
    """Indices of the units that went."""

    def __post_init__(self) -> None:
        self.render()

    def render(self) -> None:
        """Make the text again; to be called after any change."""
        shown = self.units
        if self.gone:
            shown = [unit for index, unit in enumerate(shown) if index not in self.gone]
        if not shown and self.when_empty:
            shown = [self.when_empty]
        self.text = "\n".join((self.heading, *shown)) if shown else ""

    def shed(self, excess: int) -> tuple[int, int]:
        """Drop spare units until `excess` characters are gone: how many units, and characters."""
        if excess <= 0:
            return 0, 0
        before = length(self)
        self.spare = deque(self.spare)
        units = freed = 0
        while self.spare and freed < excess:
            index = self.spare.popleft()
            self.gone.add(index)
            units += 1
            freed += len(self.units[index]) + 1
        self.render()
        return units, before - length(self)

    def shorten(self, excess: int) -> int:
        """Cut the last unit's tail by `excess` characters or a little more; how many went."""
        before = length(self)
        *others, last = self.units
        kept = cut_end(last, max(len(last) - excess, 0))
        self.units = [*others, kept] if kept else others
        self.render()
        return before - length(self)


def length(*parts: Part) -> int:
    """Their characters in the header: each text, and the two line feeds after it."""
    return sum(len(part.text) + 2 for part in parts if part.text)


def limit(budget: Budget) -> int:
    """The header's greatest length in characters."""
    if budget.agent_context_tokens is None:
        return budget.total
    context = budget.agent_context_tokens * CHARS_PER_TOKEN
    return min(budget.total, context * CONTEXT_PERCENT // 100)


def shed(part: Part, cap: int, record: Record) -> None:
    """Keep one part within its own cap, heading included."""
    units, chars = part.shed(length(part) - 2 - cap)
    record.note(part.name, f"{units} {_TRIMMED[part.name]}, over {cap} characters", chars)


def shed_notes(recommendations: Part, pins: Part, cap: int, record: Record) -> None:
    """Keep both within the cap that they share, headings included."""
    for part in (recommendations, pins):
        both = len(recommendations.text) + len(pins.text)
        units, chars = part.shed(both - cap)
        record.note(part.name, f"{units} lowest-scored, over {cap} characters", chars)


def fit(parts: Sequence[Part], cap: int, record: Record) -> None:
    """Trim in the lawful order until the header is within `cap` characters.

    The session context, the messages that triggered and the invocation stay, each message
    within its own cap: if they alone are longer, so is the header, and the record says it.
    """
    by_name = {part.name: part for part in parts}
    for name, which in _TRIMMED.items():
        excess = length(*parts) - 1 - cap  # one line feed at the end, not two
        if excess <= 0:
            return
        part = by_name.get(name)
        if part is None or not part.units:
            continue
        if which == "tail":
            record.note(name, f"its tail, over {cap} characters in all", part.shorten(excess))
        else:
            units, chars = part.shed(excess)
            record.note(name, f"{units} {which}, over {cap} characters in all", chars)
    over = length(*parts) - 1 - cap
    record.note("TOTAL", f"still over {cap} characters: what is left is never trimmed", over)
