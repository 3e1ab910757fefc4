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
    about_people: tuple[Part, ...] = ()
    if briefing.pins or briefing.recommendations:
        pins, recommendations = about_people = notes(briefing, record)
        shed_notes(recommendations, pins, briefing.budget.notes, record)
    said = transcript(briefing, messages, asked, labels, where, record)
    parts = [session(briefing, messages, labels, where, record)]
    if briefing.recall:
        parts.append(recall(briefing, record))
    parts += about_people
    if briefing.landmarks:
        parts.append(landmarks(briefing, record))
    if briefing.summary:
        parts.append(summary(briefing, record))
    if briefing.observations:
        parts.append(observations(briefing, record))
    if briefing.thread or briefing.thread_context:
        parts.append(thread(briefing, labels, record))
    parts += (said, invocation(briefing, messages, labels))
    fit(parts, limit(briefing.budget), record)
    if briefing.since_last_reply:
        said.rename(headings.transcript_heading(0, len(said.shown())))
    sections = tuple(Section(part.name, part.text, part.source) for part in parts if part.text)
    text = "\n\n".join(section.text for section in sections) + "\n"
    return Header(text, sections, tuple(record.trims))


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
