"""The raw transcript: which messages, and how one is written down."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import tzinfo
from operator import attrgetter

from composer import headings
from composer.budget import Part, Record, shed
from composer.cuts import cut_middle
from composer.guard import clean, indent, label, lines
from composer.labels import Labels
from composer.scene import local
from contract.briefing import Briefing, TranscriptLine
from contract.chat import Attachment

ATTACHMENTS_SHOWN = 20
FILE_NAME_CHARS = 128
MIME_CHARS = 64
PATH_CHARS = 1_024


def window(briefing: Briefing, record: Record) -> tuple[list[TranscriptLine], frozenset[str]]:
    """The messages shown, oldest first, and the ids of those that asked.

    The newest ones up to the window's size; the ones that asked are always among them.
    """
    messages = sorted(briefing.transcript, key=attrgetter("at"))
    asked = _asked(briefing, messages)
    room = briefing.budget.window_messages - sum(line.id in asked for line in messages)
    others = [index for index, line in enumerate(messages) if line.id not in asked]
    dropped = set(others[: max(len(others) - max(room, 0), 0)])
    if not dropped:
        return messages, asked
    chars = sum(len(messages[index].text) for index in dropped)
    what = f"{len(dropped)} older than the window of {briefing.budget.window_messages}"
    record.note(headings.TRANSCRIPT, what, chars)
    return [line for index, line in enumerate(messages) if index not in dropped], asked


def _asked(briefing: Briefing, messages: Sequence[TranscriptLine]) -> frozenset[str]:
    """The given ids, else the newest message of who triggered, else the newest one."""
    known = {line.id for line in messages}.intersection(briefing.trigger_ids)
    if known or not messages:
        return frozenset(known)
    own = [line.id for line in messages if line.by.id == briefing.triggered_by.id]
    return frozenset([(own or [messages[-1].id])[-1]])


def transcript(
    briefing: Briefing,
    messages: Sequence[TranscriptLine],
    asked: Collection[str],
    labels: Labels,
    where: tzinfo,
    record: Record,
) -> Part:
    """The section, within its own cap."""
    budget = briefing.budget
    part = Part(
        headings.TRANSCRIPT,
        "transcript",
        transcript_heading(
            budget.window_messages, len(messages) if briefing.since_last_reply else None
        ),
        [message(line, labels, where, budget.message, record) for line in messages],
        spare=[index for index, line in enumerate(messages) if line.id not in asked],
        when_empty="(no messages)",
    )
    if len(part.text) > budget.transcript:
        shed(part, budget.transcript, record)
    return part


def transcript_heading(window: int, new: int | None) -> str:
    """The transcript's heading: the configured window, or how many are new to a living session."""
    if new is None:
        return f"[RAW TRANSCRIPT — most recent {window} messages]"
    return f"[RAW TRANSCRIPT — {new} message{'' if new == 1 else 's'} since your last reply]"


def message(line: TranscriptLine, labels: Labels, where: tzinfo, cap: int, record: Record) -> str:
    """`[HH:MM | label] text`; further lines and attachments are indented."""
    written = f"{local(line.at, where):%H:%M}"
    who, text = labels.line[line.by], lines(line.text)
    if len(text) > cap:
        text, left_out = cut_middle(text, cap)
        record.note(headings.TRANSCRIPT, f"of a message by {who} at {written}", left_out)
    head = f"[{written} | {who}]"
    first = f"{head} {indent(text)}" if text else head
    return "\n  ".join((first, *attachments(line.attachments))) if line.attachments else first


def attachments(files: Sequence[Attachment]) -> list[str]:
    """One line for each file: `[attachment: name, mime, size] path`."""
    shown = [_attachment(file) for file in files[:ATTACHMENTS_SHOWN]]
    more = len(files) - len(shown)
    return [*shown, f"[attachment: +{more} more]"] if more else shown


def _attachment(file: Attachment) -> str:
    name = label(file.name, FILE_NAME_CHARS) or "unnamed"
    mime = label(file.mime, MIME_CHARS) or "application/octet-stream"
    line = f"[attachment: {name}, {mime}, {file.size_bytes} bytes]"
    path = file.path or ""
    openable = 0 < len(path) <= PATH_CHARS and clean(path) == path and "\n" not in path
    return f"{line} {path}" if openable else line
