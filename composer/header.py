"""The attribution header: everything one prompt is made of, as text, and fit to be typed.

Pure and deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from composer.budget import Part, Record, fit, limit, shed_notes
from composer.labels import AT_NAME, MENTIONS, Labels
from composer.layers import landmarks, notes, observations, recall, summary
from composer.scene import invocation, session, zone
from composer.thread import thread
from composer.transcript import transcript, transcript_heading, window
from contract.briefing import Briefing, Fact, Header, Section, TranscriptLine

JOINER = "\u2060"
"""Word joiner: behind an `@` it makes it text, for Claude Code reads `@/any/file` without asking.
People's own never gets this far, and the one in replies is taken out again."""

# A name that could not lead out of the folder that the agent works in.
_NO_PATH = re.compile(r"\w[\w' -]*(?:\.[\w' -]+)*")
# Behind a name nothing goes on that could be a path's.
_END = r"(?=[^\w\s/\\~]*(?:\s|\Z))"
_TOKEN = re.compile("|".join(pattern.pattern for pattern in (*MENTIONS.values(), AT_NAME)))


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
    recalled: tuple[Part, ...] = ()
    hits: Sequence[Fact] = ()
    if briefing.recall:
        part, hits = recall(briefing, record)
        recalled = (part,)
    parts += recalled
    parts += about_people
    if briefing.landmarks:
        parts.append(landmarks(briefing, record))
    if briefing.summary:
        parts.append(summary(briefing, record))
    if briefing.observations:
        parts.append(observations(briefing, record))
    if briefing.thread or briefing.thread_context:
        parts.append(thread(briefing, labels, record))
    parts += (said, invocation(briefing, messages, asked, labels, where))
    fit(parts, limit(briefing.budget), record)
    if briefing.since_last_reply and said.gone:
        said.heading = transcript_heading(0, len(said.units) - len(said.gone))
        said.render()
    sections = tuple(Section(part.name, part.text, part.source) for part in parts if part.text)
    text = "\n\n".join(section.text for section in sections) + "\n"
    lines, facts = _stayed(messages, said), _stayed(hits, *recalled)
    return Header(text, sections, tuple(record.trims), lines, facts)


def _labels(briefing: Briefing, messages: Sequence[TranscriptLine]) -> Labels:
    """Of everybody whom the header names."""
    thread = (said.by for said in briefing.thread)
    present = (*briefing.participants, *briefing.spoke_since, *thread)
    speakers = (line.by for line in messages)
    return Labels((briefing.you, briefing.triggered_by, *present, *speakers), briefing.you)


def _stayed(items: Sequence[TranscriptLine | Fact], *shown: Part) -> Sequence[str]:
    """The ids of those whose units were not trimmed. shown: the part that they are in, if any."""
    gone = {index for part in shown for index in part.gone}
    return [item.id for index, item in enumerate(items) if index not in gone]


# ── Typed ───────────────────────────────────────────────────────────────────────────────


def typable(text: str, known_names: Iterable[str], mention_tokens: Iterable[str]) -> str:
    """The text as it is typed into a program's prompt: U+2060 behind each `@` that tags nobody.

    known_names: of personas, their aliases and participants, in any case, with or without
    their `@`; one that looks like a path counts as unknown. mention_tokens: as in the labels;
    one that fits no platform's pattern counts as unknown. Idempotent.
    """
    if "@" not in text:
        return text
    tags = [JOINER]
    for token in filter(_TOKEN.fullmatch, mention_tokens):
        sign, _, tagged = token.partition("@")
        tags.append(f"(?<=<@){re.escape(tagged)}" if sign else re.escape(tagged) + _END)
    for name in known_names:
        known = name.strip().lstrip("@")
        if _NO_PATH.fullmatch(known):
            tags.append(f"(?i:{re.escape(known)}){_END}")
    return re.sub(f"@(?!{'|'.join(tags)})", f"@{JOINER}", text)


def untyped(reply: str) -> str:
    """An agent's reply without U+2060."""
    return reply.replace(JOINER, "")
