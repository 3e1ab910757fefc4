"""The attribution header: everything one prompt is made of, as text. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Sequence

from composer import headings
from composer.budget import Part, Record, fit, limit, shed_notes
from composer.labels import Labels
from composer.layers import landmarks, notes, observations, recall, summary
from composer.scene import invocation, session
from composer.thread import thread
from composer.transcript import transcript, window
from composer.zone import zone
from contract.briefing import Briefing, Header, Section, TranscriptLine


def compose(briefing: Briefing) -> Header:
    """The header of one turn. Raises ConfigError for an unknown time zone or a naive time.

    The sections' texts, joined by a blank line, are the header; `trims` tells in order what
    was left out, and whether the parts that are never trimmed exceed the total.
    """
    record = Record()
    where = zone(briefing.timezone)
    messages, asked = window(briefing, record)
    labels = _labels(briefing, messages)
    pins, recommendations = notes(briefing, record)
    shed_notes(recommendations, pins, briefing.budget.notes, record)
    said = transcript(briefing, messages, asked, labels, where, record)
    parts = [
        session(briefing, messages, labels, where, record),
        recall(briefing, record),
        pins,
        recommendations,
        landmarks(briefing, record),
        summary(briefing, record),
        observations(briefing, record),
        thread(briefing, labels, record),
        said,
        invocation(briefing, messages, labels),
    ]
    fit(parts, limit(briefing.budget), record)
    if briefing.since_last_reply:
        said.heading = headings.transcript_heading(0, len(said.shown()))
    return _header(parts, record)


def _labels(briefing: Briefing, messages: Sequence[TranscriptLine]) -> Labels:
    return Labels(
        (
            briefing.you,
            briefing.triggered_by,
            *briefing.participants,
            *briefing.spoke_since,
            *(said.by for said in briefing.thread),
            *(line.by for line in messages),
        )
    )


def _header(parts: Sequence[Part], record: Record) -> Header:
    sections = tuple(
        Section(part.name, text, part.source) for part in parts if (text := part.text())
    )
    text = "\n\n".join(section.text for section in sections) + "\n"
    return Header(text, sections, tuple(record.trims))
