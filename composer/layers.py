"""The sections from memory: recall, pins, recommendations, landmarks, summary, observations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from composer import headings
from composer.budget import Part, Record
from composer.cuts import cut_end
from composer.guard import clean, escape, flat, label, lines
from composer.labels import display
from contract.briefing import Briefing, Fact, Landmark, Note, Observation

KIND_CHARS = 32

_Scored = TypeVar("_Scored", Fact, Note)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def recall(briefing: Briefing, record: Record) -> tuple[Part, Sequence[Fact]]:
    """The best hits, best first: `- text (kind, YYYY-MM-DD, origin, replaced YYYY-MM-DD)`; one unit
    is one fact."""
    budget = briefing.budget
    best = _best(briefing.recall, budget.recall_shown, headings.RECALL, record)
    units = [
        f"- {_text(fact.text, budget.recall_text, headings.RECALL, record)}{_provenance(fact)}"
        for fact in best
    ]
    return _part(headings.RECALL, "mem0", units, range(len(units))[::-1]), best


def _provenance(fact: Fact) -> str:
    kind, gone = label(fact.kind, KIND_CHARS), _day(fact.replaced)
    replaced = f"replaced {gone}" if gone else ""
    if kind.casefold() == "project":
        return _in_parentheses("project memory", replaced)
    return _in_parentheses(kind, _day(fact.date), label(fact.origin or ""), replaced)


def notes(briefing: Briefing, record: Record) -> tuple[Part, Part]:
    """Pins and recommendations, best first: `- text`."""
    budget = briefing.budget
    return (
        _notes(headings.PINS, briefing.pins, budget.pins_shown, budget.note_text, record),
        _notes(
            headings.RECOMMENDATIONS,
            briefing.recommendations,
            budget.recommendations_shown,
            budget.note_text,
            record,
        ),
    )


def _notes(name: str, given: Sequence[Note], shown: int, cap: int, record: Record) -> Part:
    best = _best(given, shown, name, record)
    units = [f"- {_text(note.text, cap, name, record)}" for note in best]
    return _part(name, "insights", units, range(len(units))[::-1])


def landmarks(briefing: Briefing, record: Record) -> Part:
    """The newest ones, oldest first: `- [YYYY-MM-DD] text (by Name)`."""
    budget = briefing.budget
    by_date = sorted(
        (landmark for landmark in briefing.landmarks if clean(landmark.text).strip()),
        key=lambda landmark: landmark.date,
    )
    older = by_date[: max(len(by_date) - budget.landmarks_shown, 0)]
    record.note(
        headings.LANDMARKS,
        f"{len(older)} older than the newest {budget.landmarks_shown}",
        sum(len(landmark.text) for landmark in older),
    )
    units = [
        _landmark(landmark, _text(landmark.text, budget.landmark_text, headings.LANDMARKS, record))
        for landmark in by_date[len(older) :]
    ]
    return _part(headings.LANDMARKS, "landmarks", units, range(len(units)))


def _landmark(landmark: Landmark, text: str) -> str:
    day = _day(landmark.date)
    by = display(landmark.by)
    return f"- {f'[{day}] ' if day else ''}{text}{f' (by {by})' if by else ''}"


def summary(briefing: Briefing, record: Record) -> Part:
    """As it was written, line by line; its tail is cut. A blank line holds two spaces."""
    text = lines(briefing.summary)
    short = cut_end(escape(text), briefing.budget.summary)
    record.note(headings.SUMMARY, "its tail", len(text) - len(short))
    rows = [row if row.strip() else "  " for row in short.split("\n")]
    return _part(headings.SUMMARY, "episodes", ["\n".join(rows)] if short else [])


def observations(briefing: Briefing, record: Record) -> Part:
    """The first ones given: `- title (kind, YYYY-MM-DD)`."""
    budget, name = briefing.budget, headings.OBSERVATIONS
    given = [one for one in briefing.observations if clean(one.title).strip()]
    shown = given[: budget.observations_shown]
    over = given[len(shown) :]
    record.note(name, f"{len(over)} after the first {len(shown)}", sum(len(o.title) for o in over))
    titles = [_text(one.title, budget.observation_text, name, record) for one in shown]
    units = [f"- {title}{_observed(one)}" for title, one in zip(titles, shown, strict=True)]
    return _part(name, "observations", units, range(len(units))[::-1])


def _observed(observation: Observation) -> str:
    return _in_parentheses(label(observation.kind or "", KIND_CHARS), _day(observation.date))


def _best(hits: Sequence[_Scored], shown: int, name: str, record: Record) -> Sequence[_Scored]:
    """The highest scores first, in the order given among equals; NaN counts as lowest."""
    ranked = sorted(
        (hit for hit in hits if clean(hit.text).strip()),
        key=lambda hit: -hit.score if hit.score == hit.score else float("inf"),
    )
    over = ranked[shown:]
    record.note(name, f"{len(over)} beyond the best {shown}", sum(len(hit.text) for hit in over))
    return ranked[:shown]


def _text(text: str, cap: int, name: str, record: Record) -> str:
    full = flat(text)
    short = cut_end(full, cap)
    record.note(name, "of a text", len(full) - len(short))
    return short


def _day(date: str | None) -> str:
    """The YYYY-MM-DD at the beginning of a date or a time; nothing of anything else."""
    day = _DAY.match(date or "")
    return day[0] if day else ""


def _in_parentheses(*words: str) -> str:
    known = ", ".join(filter(None, words))
    return f" ({known})" if known else ""


def _part(name: str, source: str, units: Sequence[str], spare: Sequence[int] = ()) -> Part:
    return Part(name, source, headings.HEADINGS[name], units, spare)
